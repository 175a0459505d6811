/*
 * The container: framing, compression and checksums of chunks, and the search for the
 * next whole chunk behind damage. What a payload means is writer.c's and
 * reader.c's business.
 */
#ifndef EBPROF_CHUNK_H
#define EBPROF_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/file/layout.h"

struct chunk {
	uint16_t type; /* an enum layout_chunk_type, or one this version does not know */
	uint32_t sequence;
	uint64_t offset;        /* of its header in the file */
	const uint8_t *payload; /* raw; valid until the next chunk is read */
	uint32_t payload_bytes;
};

/* Appends the file header. */
void chunk_put_file_header(struct bytes_buf *out);
/* Appends one chunk; payloads of less than 64 bytes, and those that do not shrink, stay raw. */
void chunk_put(struct bytes_buf *out, uint16_t type, uint32_t sequence, const void *payload,
	size_t payload_bytes);

/* What was found wrong with a recording so far. */
struct chunk_damage {
	uint64_t regions; /* places where bytes had to be skipped */
	uint64_t bytes;   /* skipped in them */
	uint64_t first_offset;
	const char *what; /* the first fault, static text: "bad checksum", ... */
	bool truncated;   /* the file ends inside a chunk, at cut_offset */
	uint64_t cut_offset;
};

struct chunk_stream {
	int fd;
	struct bytes_buf window; /* file bytes from window_offset on */
	size_t pos;              /* of the next unread byte in the window */
	uint64_t window_offset;
	bool at_end;
	struct bytes_buf raw; /* the decompressed payload */
	uint64_t raw_total;
	uint64_t wasted_bytes; /* checksummed in vain */
	struct chunk_damage damage;
};

/* Reads and checks the file header. `fd` is borrowed and read sequentially; a pipe will do. */
struct err *chunk_stream_init(struct chunk_stream *stream, int fd) ERR_MUST_CHECK;
/* The next whole chunk; *more is false at the end. Damage is skipped and noted, never an error. */
struct err *chunk_stream_next(
	struct chunk_stream *stream, struct chunk *ret, bool *more) ERR_MUST_CHECK;
void chunk_stream_deinit(struct chunk_stream *stream);

#endif
