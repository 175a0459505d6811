/*
 * The chunks of a stream, of which the next ones are read, checked and unpacked on another thread
 * while one is decoded; samples, of which there are most, are decoded there, too, if wanted. Where
 * there can be no thread they are read when they are asked for.
 */
#ifndef EBPROF_CHUNK_AHEAD_H
#define EBPROF_CHUNK_AHEAD_H

#include "format/base/err.h"
#include "format/file/chunk.h"
#include "format/file/sample_decoder.h"

struct chunk_ahead;

/* Fails as chunk_stream_init() does. */
struct err *chunk_ahead_create(
	int fd, bool decodes_samples, struct chunk_ahead **ret) ERR_MUST_CHECK;
/* As chunk_stream_next(); *offset is of the file's first byte behind the chunk. */
struct err *chunk_ahead_next(
	struct chunk_ahead *ahead, struct chunk *ret, uint64_t *offset, bool *more) ERR_MUST_CHECK;
/* What is decoded of the chunk that was taken last; valid until the next one is. */
const struct decoded_samples *chunk_ahead_samples(const struct chunk_ahead *ahead);
/* Once there are no more, or after an error: how much there was, and what was wrong with it. */
void chunk_ahead_end(struct chunk_ahead *ahead, uint64_t *file_bytes, struct chunk_damage *damage);
/* NULL is safe. Waits for the thread, which ends with the chunk that it is reading. */
void chunk_ahead_destroy(struct chunk_ahead *ahead);

#endif
