/*
 * Samples of waits that still go on when a file ends, by what runtimes their processes have: which
 * of them lack their scripts' functions is known only behind them.
 */
#ifndef EBPROF_SLEEPER_COUNTS_H
#define EBPROF_SLEEPER_COUNTS_H

#include "format/base/vec.h"
#include "record/task/process.h"
#include "record/unwind/rule_source.h"

struct sleeper_counts {
	VEC(struct sleeper_count {
		uint32_t runtimes; /* bits: files of them are mapped */
		uint64_t samples;
	}) list;
	/* The process of the sample that came last; all of an end have the same time. */
	struct sleeping_process {
		uint64_t time_ns;
		uint32_t image, runtimes;
	} last;
};

/* One of a process, at the time of the sample. `rules` may be NULL: it has no runtimes then. */
void sleeper_counts_add(struct sleeper_counts *counts, const struct rule_source *rules,
	const struct process *process, uint64_t time_ns);
/* How many are of processes that have one of these runtimes; UINT32_MAX: or none that is known.
 * There are none any more then. */
uint64_t sleeper_counts_take(struct sleeper_counts *counts, uint32_t runtimes);
void sleeper_counts_deinit(struct sleeper_counts *counts);

#endif
