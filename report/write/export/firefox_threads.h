/* The threads of a Firefox profile: samples, each with its time, and markers: of what the thread
 * is, and of each wait whose length is known. */
#ifndef EBPROF_FIREFOX_THREADS_H
#define EBPROF_FIREFOX_THREADS_H

#include <stdint.h>

#include "report/model/text/json.h"
#include "report/write/export/lanes.h"

enum {
	FIREFOX_NS_DIGITS = 6, /* of a millisecond */
};

struct firefox_markers {
	uint32_t thread, wait; /* indices of their names */
	uint32_t wait_category;
};

/* The member "threads". `stacks`: nodes of the stacks, from 1 on. */
void firefox_put_threads(struct json *json, const struct profile *profile,
	const struct lanes *lanes, const uint32_t *stacks, struct firefox_markers markers);
/* The member "markerSchema". */
void firefox_put_marker_schema(struct json *json);
/* Of the event with the most samples, as far as that has one. */
uint64_t firefox_interval_ns(const struct profile *profile);

#endif
