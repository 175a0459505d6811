/*
 * Where bytes go that are written piece by piece: a file, a compressor, memory. Writers of
 * all formats take one, so that none of them knows what becomes of its bytes.
 */
#ifndef EBPROF_BYTE_SINK_H
#define EBPROF_BYTE_SINK_H

#include <stddef.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/str.h"

enum {
	BYTE_SINK_PIECE_BYTES = 64 << 10 /* what writers collect before they write */
};

/* `write` takes all of the bytes or fails. */
struct byte_sink {
	struct err *(*write)(void *context, const void *bytes, size_t len)ERR_MUST_CHECK;
	void *context;
};

/* Sinks that append to memory and never fail. `out` is borrowed as long as the sink is in use. */
struct byte_sink byte_sink_to_text(struct str *out);
struct byte_sink byte_sink_to_bytes(struct bytes_buf *out);

#endif
