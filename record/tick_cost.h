/*
 * What a tick takes of the CPU's time: the interrupt, and the BPF program that walks a stack. It
 * depends on the machine, on virtual ones most, so it is tried out.
 */
#ifndef EBPROF_TICK_COST_H
#define EBPROF_TICK_COST_H

#include <stdint.h>

#include "format/base/err.h"
#include "record/session_options.h"

/* Of the CPU's time, the most that sampling is to take. */
enum {
	TICK_COST_MAX_PERCENT = 25,
};

/*
 * Samples a loop of our own, on a stack of 50 frames, for about 50 ms; 0 ns: there is no figure.
 * Loads the BPF programs once more, so it is only worth it where ticks are many. Of the options
 * the clock counts.
 */
struct err *tick_cost_try(const struct session_options *options, uint64_t *ret_ns) ERR_MUST_CHECK;

/* How many ticks a second take TICK_COST_MAX_PERCENT of the time. */
uint32_t tick_cost_frequency(uint64_t tick_ns);

#endif
