/*
 * Where a recording goes: a new file of our own that never follows a link and
 * never overwrites, or a pipe. Whatever fails, what was written stays readable.
 */
#ifndef EBPROF_OUTPUT_H
#define EBPROF_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/caller.h"
#include "format/base/err.h"
#include "format/file/writer.h"

struct output;

/*
 * Creates a file with mode 0600, see output_file.h; "-" is standard output, which must be open and
 * no terminal.
 *
 * A pipe's reader is waited for without limit until `stop_fd` (-1: none) is
 * readable, and for 2 s from then on.
 */
struct err *output_create(const char *path, const struct caller *owner, int stop_fd,
	struct output **ret) ERR_MUST_CHECK;
/* Gives the file its name; an older one of that name becomes NAME.old. Until then nothing changed.
 */
struct err *output_publish(struct output *output) ERR_MUST_CHECK;
/*
 * Renames the published file to a path in the same folder; see output_file_set_aside(). Not for
 * standard output.
 */
struct err *output_set_aside(
	struct output *output, const char *name, bool *is_moved) ERR_MUST_CHECK;
/* Removes what was set aside under this path. */
void output_remove_aside(const struct output *output, const char *name);
/* Closes. Reports what closing reports: a full NFS server speaks up here. */
struct err *output_close(struct output *output) ERR_MUST_CHECK;
/* A file that was not published is removed. */
void output_destroy(struct output *output);

/* Borrowed; the sink of a writer. A write that fails leaves the file as it was before it. */
struct writer_sink output_sink(struct output *output);

#endif
