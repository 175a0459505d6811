/*
 * Where a recording goes: a new file of our own that never follows a link and
 * never overwrites, or a pipe. Whatever fails, what was written stays readable.
 */
#ifndef EBPROF_OUTPUT_H
#define EBPROF_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/file/writer.h"

struct output;

/*
 * Creates the file with mode 0600 and the name at once; an older file of that
 * name becomes NAME.old. Refuses a symbolic link, anything that is no regular
 * file, and a file of another user. "-" is standard output, which must not be a
 * terminal.
 *
 * A pipe's reader is waited for without limit until `stop_fd` (-1: none) is
 * readable, and for 2 s from then on.
 */
struct err *output_create(const char *path, int stop_fd, struct output **ret);
/* Closes. Reports what closing reports: a full NFS server speaks up here. */
struct err *output_close(struct output *output);
void output_destroy(struct output *output);

/* Borrowed; the sink of a writer. A write that fails leaves the file as it was before it. */
struct writer_sink output_sink(struct output *output);

#endif
