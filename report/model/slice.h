/* The samples that are looked at, summed by their stacks. */
#ifndef EBPROF_SLICE_H
#define EBPROF_SLICE_H

#include <stddef.h>
#include <stdint.h>

#include "report/model/profile.h"

struct slice_sum {
	uint64_t value; /* in the event's unit (ns) */
	uint64_t samples;
};

struct slice {
	struct slice_sum *stacks; /* one for each of the profile's */
	size_t nr_stacks;
	struct slice_sum whole; /* of all of them */
};

/* Nothing is in it yet. */
void slice_init(struct slice *slice, const struct profile *profile);
/* All samples of the profile. */
void slice_init_all(struct slice *slice, const struct profile *profile);
/* Those of one event. */
void slice_init_event(struct slice *slice, const struct profile *profile, uint32_t event);
void slice_add(struct slice *slice, uint32_t stack, uint64_t value);
void slice_deinit(struct slice *slice);

/* How many samples each stack of the profile has; to be freed with mem_free(). */
uint64_t *slice_count_stacks(const struct profile *profile);

#endif
