/*
 * Samples thread by thread, in the order of their times, for formats that keep
 * each of them: a lane is what one thread has of one event.
 */
#ifndef EBPROF_LANES_H
#define EBPROF_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/model/profile.h"

enum {
	/*
	 * Viewers keep tables for each. The threads that come behind, of the fewest samples, share
	 * a lane, one for each event.
	 */
	LANES_MAX = 512,
};

struct lane {
	uint32_t thread; /* 0: of many */
	uint32_t nr_threads;
	uint32_t event;
	size_t first, count; /* in `order` */
	uint64_t value;      /* in the event's unit (ns); at most 2^64 - 1 */
};

struct lanes {
	VEC(struct lane) all; /* most samples first, those of many threads behind */
	uint32_t *order;      /* indices of samples, those of a lane beside each other */
};

void lanes_init(struct lanes *lanes, const struct profile *profile);
void lanes_deinit(struct lanes *lanes);

/* "comm 10/11", process and thread, or "9 other threads"; and the event where there are several. */
void lane_put_name(const struct profile *profile, const struct lane *lane, struct str *out);
/* Whether the event counts nanoseconds. */
bool lane_is_time(const struct profile *profile, const struct lane *lane);
uint64_t lane_add(uint64_t sum, uint64_t value);

#endif
