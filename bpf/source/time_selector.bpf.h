/*
 * Which of the things that take time are samples: by their time, not by chance. One of a period and
 * more is, and stands for itself. Of the shorter ones, each CPU has a random point in every period
 * of their summed time: the one that passes the point stands for the period. So the sum is right on
 * average, and no periodic work can stay between the points.
 */
#ifndef EBPROF_TIME_SELECTOR_BPF_H
#define EBPROF_TIME_SELECTOR_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_helpers.h>

/* What this one stands for, of so many ns (or of another unit); 0: others stand for it. The period
 * is that of the periods that begin from now on. */
static __always_inline __u64 select_by_time(
	struct event_time_selector *selector, __u64 ns, __u64 next_period)
{
	__u64 value = 0;
	if (!selector->period) {
		selector->period = next_period;
		selector->point = bpf_get_prandom_u32() % next_period;
	}
	__u64 period = selector->period, until = selector->passed + ns;
	if (ns >= period)
		return ns;
	if (selector->passed <= selector->point && selector->point < until)
		value = period;
	if (until >= period) {
		until -= period;
		selector->period = period = next_period;
		selector->point = bpf_get_prandom_u32() % period;
		if (selector->point < until)
			value += period;
	}
	selector->passed = until;
	return value;
}

#endif
