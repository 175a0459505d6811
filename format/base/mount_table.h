/*
 * Mounts, as /proc/PID/mountinfo lists them: those of a mount namespace that can be reached from a
 * process's root directory, by paths from there. Reading that file asks no file system.
 *
 * Source: proc_pid_mountinfo(5); fs/proc_namespace.c of the kernel.
 */
#ifndef EBPROF_MOUNT_TABLE_H
#define EBPROF_MOUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct mount {
	uint64_t id, parent_id;      /* the same numbers in all namespaces */
	uint32_t major_no, minor_no; /* of the file system; all its mounts have the same */
	const char *point, *type;    /* the former unescaped; both belong to the table */
	const char *root;            /* what of the file system is mounted there, unescaped */
	const char *options;         /* of the file system: "rw,memory"; NULL: there are none */
	bool has_owner;              /* a FUSE file system: the user who mounted it, */
	uint32_t owner_uid;          /* ... whose server it is */
};

struct mount_table {
	char *text;
	VEC(struct mount) mounts; /* in the file's order */
};

/*
 * Reads the whole table anew from a descriptor of a mountinfo file, but at most `max_bytes` of it:
 * the whole lines in there are the table then. Returns how many bytes were read; 0: it is empty, or
 * cannot be read.
 */
size_t mount_table_read(struct mount_table *table, int fd, size_t max_bytes);
void mount_table_deinit(struct mount_table *table);

/* NULL: there is none of that number. */
const struct mount *mount_table_find(const struct mount_table *table, uint64_t id);
/*
 * The mount that the lookup of `path` (absolute, without links, "." and "..") enters next. It is in
 * the mount `id`, and has done with the first `begun` bytes: 0, or the length of that one's point.
 * NULL: it enters no other.
 */
const struct mount *mount_table_next(
	const struct mount_table *table, uint64_t id, const char *path, size_t begun);

/*
 * Whether something other than this machine's kernel answers for the files of such a file system: a
 * server, or a process, as with FUSE and autofs. Then each use of a name there may wait for ever.
 * A network block device counts as local, and so does overlayfs with any layers.
 */
bool mount_is_remote(const struct mount *mount);

#endif
