/*
 * Writes to a file descriptor from a thread of its own, while the caller makes what comes next:
 * into the page cache or a pipe, large exports take as long to write as to make.
 */
#ifndef EBPROF_WRITE_BEHIND_H
#define EBPROF_WRITE_BEHIND_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"

struct write_behind;

/* `fd` is borrowed until write_behind_destroy(). */
struct write_behind *write_behind_create(int fd);
/* Copies the bytes. Errors are those of earlier writes; nothing can be written after one. */
struct err *write_behind_put(
	struct write_behind *behind, const void *bytes, size_t len) ERR_MUST_CHECK;
/* All is written from then on; `bytes`: how much that was. */
struct err *write_behind_finish(struct write_behind *behind, uint64_t *bytes) ERR_MUST_CHECK;
/* What was not written yet is dropped. */
void write_behind_destroy(struct write_behind *behind);

#endif
