/*
 * Opening paths without a request to a file system that may not answer, such as FUSE: neither to
 * look a name up nor any other.
 *
 * The kernel looks up a path one name after the other, and enters what is mounted on the way. So
 * where a path leads is known beforehand only by a table of the mounts. What was mounted since it
 * was read does no harm: within each mount names are looked up by openat2(2) with RESOLVE_NO_XDEV,
 * which does not go on into another one, and a mount that is entered is known by its number
 * before anything is looked up in it. Links are followed here, one by one, for the same reason.
 * Without openat2(2), before Linux 5.6, each name is looked up by itself.
 */
#ifndef EBPROF_MOUNT_VIEW_H
#define EBPROF_MOUNT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/mount_table.h"

/* Whether names may be looked up in a mount; `mount` is NULL when the table lacks it. */
typedef bool mount_view_fn(void *context, uint64_t id, const struct mount *mount);

/* What a process sees from its root directory. Everything is borrowed. */
struct mount_view {
	int root_fd; /* that folder */
	const struct mount_table *mounts;
	mount_view_fn *may_enter;
	void *context;
};

/* What is known of a file without a request to its file system. */
struct mount_file {
	uint64_t mount_id; /* 0: unknown */
	uint64_t device, inode;
	uint32_t mode;
};

/* False: errno says why. The file may have been opened with O_PATH. */
bool mount_file_of(int fd, struct mount_file *ret);

/*
 * Opens a path as the kernel writes one (absolute, without links, "." and "..") with O_PATH. The
 * descriptor is the caller's; it may be of a link. -1: errno says why; EREMOTE: the path leads into
 * a mount that must not be entered, or into one that the table does not have; ELOOP: it has links.
 */
int mount_view_open_canonical(const struct mount_view *view, const char *path);
/* The same of any absolute path; links are followed, none leads out of the root folder. */
int mount_view_open(const struct mount_view *view, const char *path);

/*
 * What an O_PATH descriptor of a regular file stands for, opened for reading: not by its name,
 * which may be another file's by now. -1: errno says why; EINVAL: it is no regular file.
 */
int mount_file_reopen(int path_fd);

#endif
