/*
 * What takes time between two places where programs run: calls of functions, system calls. The
 * program at the first place notes when that was; the one at the second measures, and samples some
 * of them by their time, see time_selector.bpf.h, with the stack as it is then. All are counted.
 */
#ifndef EBPROF_SOURCE_DURATION_BPF_H
#define EBPROF_SOURCE_DURATION_BPF_H

#include "bpf/source/time_selector.bpf.h"
#include "bpf/take_sample.bpf.h"

#ifndef E2BIG
#define E2BIG 7 /* a map is full: include/uapi/asm-generic/errno-base.h */
#endif

/* Bits by EVENT_SOURCE_DURATION + bit: the recorder lets these count. */
volatile __u32 takes_durations;

volatile __u64 duration_period_ns[EVENT_DURATIONS];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_DURATIONS);
	__type(key, __u32);
	__type(value, struct event_time_selector);
} duration_selectors SEC(".maps");

static __always_inline bool takes_duration(__u32 source)
{
	return takes_durations >> ((source - EVENT_SOURCE_DURATION) & 31) & 1;
}

/* What the sample stands for; 0: there is none, and the event is accounted for. */
static __noinline __u64 select_duration(__u32 source, __u64 ns)
{
	__u32 number = source - EVENT_SOURCE_DURATION;
	struct event_time_selector *selector = bpf_map_lookup_elem(&duration_selectors, &number);
	struct event_counters *counted = count_event(source, ns);
	if (!counted || !selector || number >= EVENT_DURATIONS)
		return 0;
	__u64 value = select_by_time(selector, ns, duration_period_ns[number]);
	if (!value)
		count_as(counted, EVENT_COUNTER_BELOW, ns);
	return value;
}

/*
 * An event that there is no room for to follow it to its end, which adds nothing to the sums: clang
 * would make of that an atomic instruction that came with Linux 5.12.
 */
static __always_inline void count_unfollowed(__u32 source)
{
	struct event_counters *counted = counters_of(source);
	if (!counted || is_over())
		return;
	COUNT(counted->of[EVENT_COUNTER_EVENTS].count);
	COUNT(counted->of[EVENT_COUNTER_LOST_BUSY].count);
}

/*
 * The lane of tasks, or NULL: another task was preempted in the midst of its sample there, and this
 * one is lost. See begin_hit() of kernels without bpf_loop.
 */
static __always_inline struct scratch *take_lane_of_duration(__u32 source, __u64 ns, bool has_loop)
{
	struct event_counters *counted = counters_of(source);
	struct scratch *scratch = scratch_of_lane(task_lane());
	if (!counted || !scratch)
		return 0;
	if (has_loop ? !try_lane(scratch) : scratch->is_busy) {
		count_as(counted, EVENT_COUNTER_LOST_BUSY, ns);
		return 0;
	}
	take_lane(scratch, task_lane());
	return scratch;
}

#endif
