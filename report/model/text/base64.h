/* Base64 (RFC 4648, section 4), without line breaks. */
#ifndef EBPROF_BASE64_H
#define EBPROF_BASE64_H

#include "report/model/text/byte_sink.h"

/* Appends the text of `len` bytes, with its padding. */
void base64_put(struct str *out, const void *bytes, size_t len);

/* A sink that encodes what comes piece by piece, and passes it on to another. */
struct base64_sink {
	struct byte_sink sink; /* borrowed; the rest is 0 at first */
	uint8_t waiting[3];
	size_t nr_waiting;
};

struct byte_sink base64_sink_open(struct base64_sink *base64);
/* Writes what waits, with its padding. */
struct err *base64_sink_finish(struct base64_sink *base64) ERR_MUST_CHECK;

#endif
