/*
 * A ring of recordings: a folder in which one recorder writes one file after the other and removes
 * the oldest. What a file is, and which time it covers, stands in its name:
 *
 *   ebprof-20261126T140500.123Z.data           begun then (UTC), being written or cut short
 *   ebprof-20261126T140500.123Z+60.001.data    ... and ended in order, 60.001 s later
 *
 * Anything else in the folder is none of its files. The time of day may be set back while a file is
 * written: the times of two files may overlap, and none depends on the name of another.
 */
#ifndef EBPROF_RING_FOLDER_H
#define EBPROF_RING_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"

struct ring_name {
	uint64_t begun_ms; /* since 1970 */
	uint64_t lasted_ms;
	bool is_ended;
};

struct ring_file {
	char *name; /* in the folder; ours */
	struct ring_name is;
	uint64_t bytes;
	uint64_t written_ms; /* to the file, the last time */
};

/* In order of their beginnings. */
struct ring_files {
	struct ring_file *data;
	size_t len, cap;
};

void ring_name_put(const struct ring_name *name, struct str *out);
/* False for a name that ring_name_put() does not make. */
bool ring_name_parse(const char *text, struct ring_name *ret);

/* The files of a ring, regular ones only. `folder` is borrowed; `path` is what errors name. */
struct err *ring_folder_list(int folder, const char *path, struct ring_files *ret) ERR_MUST_CHECK;
/*
 * When the samples of a file end at the latest, in ms since 1970: by its name or, where that does
 * not tell, by the time of the last write.
 */
uint64_t ring_file_end_ms(const struct ring_file *file);
void ring_file_deinit(struct ring_file *file);
void ring_files_deinit(struct ring_files *files);

#endif
