/* Numbers of events, with the sums of their values. */
#ifndef EBPROF_EVENT_TALLY_H
#define EBPROF_EVENT_TALLY_H

#include <stdint.h>

#include "bpf/event.h"

static inline void event_tally_count(struct event_tally *tally, uint64_t value)
{
	tally->count++;
	tally->sum += value;
}

static inline void event_tally_add(struct event_tally *tally, struct event_tally other)
{
	tally->count += other.count;
	tally->sum += other.sum;
}

static inline struct event_tally event_tally_minus(struct event_tally a, struct event_tally b)
{
	return (struct event_tally){a.count - b.count, a.sum - b.sum};
}

#endif
