/*
 * libdebuginfod, loaded when it is needed: a machine without it must still run a report, and
 * a static binary cannot have it, since it loads half a system's libraries behind it.
 *
 * Source: debuginfod_find_debuginfo(3); elfutils 0.188, debuginfod.h.
 */
#ifndef EBPROF_DEBUGINFOD_LIBRARY_H
#define EBPROF_DEBUGINFOD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuginfod_client; /* theirs; elfutils calls it debuginfod_client */

typedef int debuginfod_progressfn(struct debuginfod_client *client, long done, long whole);

/*
 * Its functions, by their names there. A find function returns a descriptor and sets *path, which
 * is to be given to free(), or returns a negative errno.
 */
struct debuginfod_library {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *build_id,
		int len, char **path);
	/* NULL before 0.188. */
	int (*find_section)(struct debuginfod_client *client, const unsigned char *build_id,
		int len, const char *section, char **path);
	void (*set_progressfn)(struct debuginfod_client *client, debuginfod_progressfn *fn);
	const char *(*get_url)(struct debuginfod_client *client);
	/* Where it tells what servers answered; NULL before 0.180. */
	void (*set_verbose_fd)(struct debuginfod_client *client, int fd);
};

/* False when there is none, or one from before 0.179. It stays loaded. */
bool debuginfod_library_load(struct debuginfod_library *ret);

/* Whether this program can load a library at all. */
bool debuginfod_library_is_possible(void);

/*
 * The library takes a transfer that was cut off or broke off for a "no such build ID", and will not
 * ask again for ten minutes (0.188, debuginfod_query_server): an empty file in its cache says so.
 * Removes that. `section` is NULL for a whole debug file.
 */
void debuginfod_library_forget_miss(const uint8_t *build_id, size_t len, const char *section);

/* Bytes that there is room for on the disk that has its cache; UINT64_MAX: not known. */
uint64_t debuginfod_library_room(void);

#endif
