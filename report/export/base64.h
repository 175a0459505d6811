/* A sink that turns bytes into base64 (RFC 4648, section 4, without line breaks). */
#ifndef EBPROF_BASE64_H
#define EBPROF_BASE64_H

#include "report/export/export.h"

struct base64 {
	struct export_sink sink; /* borrowed; the rest is 0 at first */
	uint8_t waiting[3];
	size_t nr_waiting;
};

struct export_sink base64_sink(struct base64 *base64);
/* Writes what waits, with its padding. */
struct err *base64_finish(struct base64 *base64);

#endif
