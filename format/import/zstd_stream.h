/* What zstd packed as one stream, a piece at a time. */
#ifndef EBPROF_ZSTD_STREAM_H
#define EBPROF_ZSTD_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/err.h"

struct zstd_stream;

/* Appends what the next piece holds; not more than `max_bytes` shall stand in `out` then. *stream
 * begins as NULL. ERR_UNSUPPORTED: this program was built without zstd. */
struct err *zstd_stream_unpack(struct zstd_stream **stream, const uint8_t *packed, size_t len,
	size_t max_bytes, struct bytes_buf *out) ERR_MUST_CHECK;
void zstd_stream_destroy(struct zstd_stream *stream);

#endif
