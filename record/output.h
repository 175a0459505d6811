/*
 * Where a recording goes: a new file of our own that never follows a link and
 * never overwrites, or a pipe. When writing fails, what was written before stays readable.
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
/* Writes into a file that is open, and has no name to be given. `fd` is borrowed. */
struct err *output_create_in(int fd, struct output **ret) ERR_MUST_CHECK;
/*
 * Creates a file beside others, which replaces none; else as output_create().
 */
struct err *output_create_new(
	const char *path, const struct caller *owner, struct output **ret) ERR_MUST_CHECK;
/*
 * Creates the file that takes the name of `output` when that is set aside. Not for standard output.
 */
struct err *output_create_next(const struct output *output, struct output **ret) ERR_MUST_CHECK;
/* As it was given; borrowed. */
const char *output_path(const struct output *output);
/* Of the whole chunks that were written. */
uint64_t output_bytes(const struct output *output);
/*
 * What is called where a write finds the disk full, before it is given up: frees some of it. False:
 * there is nothing that may be freed.
 */
struct output_room {
	bool (*make)(void *context);
	void *context;
};
void output_on_full(struct output *output, struct output_room room);
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
/*
 * From now on each write allocates the blocks that it needs and those of `end_bytes` behind it, by
 * fallocate(): one for which there is no room fails before it begins, and the end of a recording
 * still fits a disk, a quota or a limit of file sizes that is full. `first_bytes` more are
 * allocated now, for the first write. ERR_IO: there is no such room.
 *
 * The blocks stay behind the end of the file, whose size they do not change; closing gives them
 * back, the kill of a recorder leaves them allocated. Pipes and standard output reserve nothing,
 * nor do file systems that cannot (NFS, most of FUSE): there the end is written if it happens to
 * fit.
 */
struct err *output_reserve(
	struct output *output, uint64_t first_bytes, uint64_t end_bytes) ERR_MUST_CHECK;
/* What is written from now on is the end: it may use the room that was reserved for it. */
void output_begin_end(struct output *output);
/* Closes. Reports what closing reports: a full NFS server speaks up here. */
struct err *output_close(struct output *output) ERR_MUST_CHECK;
/* A file that was not published is removed. */
void output_destroy(struct output *output);

/* Borrowed; the sink of a writer. A write that fails leaves the file as it was before it. */
struct writer_sink output_sink(struct output *output);

#endif
