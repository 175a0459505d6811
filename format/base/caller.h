/* On whose behalf root works: sudo's caller. */
#ifndef EBPROF_CALLER_H
#define EBPROF_CALLER_H

#include <stdbool.h>
#include <stdint.h>

struct caller {
	bool is_set; /* else only the user that the process runs as */
	uint32_t uid, gid;
};

/* By SUDO_UID and SUDO_GID, which only root believes. Not set without both. */
struct caller caller_find(void);

/* Whether a file of this user is the process's own, or its caller's. */
bool caller_owns(const struct caller *caller, uint32_t uid);

/*
 * Reads files of others for a process that runs as root on behalf of its caller: between the two
 * calls this thread may open what the caller may, by its user and its first group, and no more.
 * False: that cannot be had; then nothing has changed, and nothing is to be left. Without a caller
 * nothing changes, and it is true.
 */
struct caller_rights {
	bool is_changed;
	int nr_groups; /* root's own */
	uint32_t *groups;
};

bool caller_rights_take(const struct caller *caller, struct caller_rights *ret);
void caller_rights_leave(struct caller_rights *rights);

#endif
