/* A sink that turns bytes into base64 (RFC 4648, section 4, without line breaks). */
#ifndef EBPROF_BASE64_SINK_H
#define EBPROF_BASE64_SINK_H

#include "report/export/export.h"

struct base64_sink {
	struct export_sink sink; /* borrowed; the rest is 0 at first */
	uint8_t waiting[3];
	size_t nr_waiting;
};

struct export_sink base64_sink_open(struct base64_sink *base64);
/* Writes what waits, with its padding. */
struct err *base64_sink_finish(struct base64_sink *base64);

#endif
