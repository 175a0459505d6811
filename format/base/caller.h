/* On whose behalf root works: sudo's caller. */
#ifndef EBPROF_CALLER_H
#define EBPROF_CALLER_H

#include <stdbool.h>
#include <stdint.h>

struct caller {
	bool is_set; /* else nobody but the user that the process runs as */
	uint32_t uid, gid;
};

/* By SUDO_UID and SUDO_GID, which only root believes. Not set without both. */
struct caller caller_find(void);

/* Whether a file of this user is the process's own, or its caller's. */
bool caller_owns(const struct caller *caller, uint32_t uid);

#endif
