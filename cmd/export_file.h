/* Where `convert` writes: a file that appears whole under its name or not at all, or stdout. */
#ifndef EBPROF_EXPORT_FILE_H
#define EBPROF_EXPORT_FILE_H

#include <stdint.h>

#include "format/base/err.h"
#include "report/write/export/export.h"

struct export_file {
	const char *path;         /* borrowed; "-": standard output */
	struct output_file *file; /* NULL: standard output */
	struct write_behind *behind;
	uint64_t bytes; /* once it was committed */
};

/* Refuses what output_file_create() does; the inputs are the recordings that are read. */
struct err *export_file_open(const char *path, const char *const *inputs, size_t nr_inputs,
	struct export_file *ret) ERR_MUST_CHECK;
/* A new file that only its owner can read. */
struct err *export_file_open_private(const char *path, struct export_file *ret) ERR_MUST_CHECK;
/*
 * Writes what waits and gives the file its name, unless there is an error, which is returned: then
 * nothing is left of it. That a reader of standard output has
 * seen enough (`| head`) is none.
 */
struct err *export_file_end(struct export_file *file, struct err *err) ERR_MUST_CHECK;
/* Behind what is there, which is nothing if no such file is. See output_file_open_append(). */
struct err *export_file_append(const char *path, const char *const *inputs, size_t nr_inputs,
	const void *bytes, size_t len) ERR_MUST_CHECK;
/* Borrowed. */
struct byte_sink export_file_sink(struct export_file *file);

#endif
