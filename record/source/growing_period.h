/*
 * The period by which a source samples what takes time: it grows while there are too many samples,
 * and, where recording goes on without an end, shrinks again when there are few.
 */
#ifndef EBPROF_GROWING_PERIOD_H
#define EBPROF_GROWING_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#include "record/source/event_source.h"

struct growing_period {
	/* Set by the user before it begins. */
	uint32_t
		max_samples; /* of a CPU and second; 0: what a recording of some minutes can have */
	bool shrinks;
	/* Its own. */
	volatile unsigned long long *ns; /* in the programs' memory */
	uint64_t asked_ns, longest_ns;   /* the longest so far */
	uint64_t since_ns;               /* the samples below are as of then */
	uint64_t *samples;               /* of each possible CPU; NULL: it has not begun */
};

void growing_period_begin(
	struct growing_period *period, volatile unsigned long long *ns, uint64_t now_ns);
/* To be called now and then. */
struct err *growing_period_update(struct growing_period *period, const struct source *source,
	const struct sample_bpf *bpf, uint64_t now_ns) ERR_MUST_CHECK;
/* The longest that there was; 0: it always was as it was asked for. */
uint64_t growing_period_raised(const struct growing_period *period);
void growing_period_deinit(struct growing_period *period);

#endif
