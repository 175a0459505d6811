/*
 * The text of a source file that debug information names: below the folders of --source-dir, or
 * where it was compiled. The names come from the recording: see regular_file.h.
 */
#ifndef EBPROF_SOURCE_FILE_H
#define EBPROF_SOURCE_FILE_H

#include <stdint.h>

#include "format/base/str.h"
#include "report/name/symbol/symbol_file_options.h"

struct source_file {
	char *name; /* as recorded */
	char *path; /* of what was read; NULL: nothing, and `problem` says why */
	uint64_t mtime_ns;
	struct str problem; /* a sentence */
	/* private: */
	struct str text;   /* its lines, each with a NUL behind it */
	VEC(size_t) lines; /* where each begins */
};

/*
 * `dirs`, may be NULL: for each of them the recorded path is tried below it, then the same with one
 * folder less in front, down to the file's name alone. Tabs become spaces. What sudo's caller may
 * not read is not read; `rules` may be NULL, see regular_file.h.
 */
void source_file_read(const char *name, const struct debug_dirs *dirs,
	const struct regular_file_rules *rules, struct source_file *ret);
void source_file_deinit(struct source_file *file);

/* Appends a path without ".", "..", and double slashes: what is below a folder is not to lead out
 * of it. It begins with a slash. */
void source_file_put_plain_path(struct str *out, const char *path);

uint32_t source_file_count(const struct source_file *file);
/* Numbers begin with 1; NULL: there is no such line. May hold anything but NULs. */
const char *source_file_line(const struct source_file *file, uint32_t number);

#endif
