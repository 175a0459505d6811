/*
 * The files that samples are in, kept open: when names are looked for at the recording's end, a
 * program may have been deleted or built anew, and one of a container is at its path only in
 * there. So is its debug information, for which the root directory of the container is kept.
 */
#ifndef EBPROF_KEPT_FILES_H
#define EBPROF_KEPT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/file/layout.h"
#include "record/task/object.h"
#include "record/task/object_ids.h"

struct kept_file {
	uint32_t object;  /* its serial within the session */
	uint32_t file_id; /* its number in the newest file of the recording; 0: it is not there */
	char *path;       /* as it was recorded */
	uint8_t build_id[LAYOUT_BUILD_ID_MAX_BYTES];
	uint32_t build_id_len; /* 0: there is none */
	uint64_t size_bytes, mtime_ns;
	int fd;
	bool is_here; /* it is at its path, but no package has put it there: it may be built anew */
	int root_fd;  /* of another root directory than our own, borrowed; -1: none, or not kept */
};

struct kept_files;

struct kept_files *kept_files_create(void);
void kept_files_destroy(struct kept_files *files);

/* One of `objects`, once its `where` is known, and as soon as it is: processes may end soon. */
void kept_files_add(
	struct kept_files *files, struct object *object, const struct object_table *objects);
/*
 * The recording is over: marks what is_here, tries once more what could not be opened, or was given
 * up to stay within the limits, and gives up what will be found at its path: in a file system that
 * is on no disk nothing lasts, unless all the machine has is there.
 */
void kept_files_finish(
	struct kept_files *files, const struct object_table *objects, const struct object_ids *ids);

/* Borrowed. NULL has none. */
const struct kept_file *kept_files_list(const struct kept_files *files, size_t *count);
/* After kept_files_finish(): those that are gone already, and that could not be kept. */
uint32_t kept_files_nr_missed(const struct kept_files *files);

#endif
