/*
 * Events that the kernel or the processor counts: page faults, switches, instructions. A program
 * runs each time that so many of them have come as are a period. The one at hand makes a sample,
 * which stands for the period; how many there were in all the recorder reads from the counter.
 */
#ifndef EBPROF_SOURCE_COUNTER_BPF_H
#define EBPROF_SOURCE_COUNTER_BPF_H

#include "bpf/source/group.bpf.h"
#include "bpf/source/timer.bpf.h"

/* Bits: events of these numbers are counted of the targets' tasks alone. */
volatile __u32 counters_of_tasks;

/* Accounts for the event. NULL: it makes no sample. */
static __noinline struct scratch *admit_counted(__u32 number)
{
	struct event_counters *counted = count_event(EVENT_SOURCE_COUNTER + number, 1);
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_INTERRUPT);
	bool is_of_task = counters_of_tasks >> (number & 31) & 1;
	if (!counted || !scratch)
		return 0;
	if (!(__u32)bpf_get_current_pid_tgid())
		count_as(counted, EVENT_COUNTER_IDLE, 1);
	else if (is_of_task ? is_before_exec(identify_current()) : !is_target())
		count_as(counted, EVENT_COUNTER_FILTERED, 1);
	else
		return scratch;
	return 0;
}

/* No other program of a perf event runs on the CPU meanwhile, whatever interrupts this one:
 * bpf_overflow_handler() of kernel/events/core.c. So all of them have one lane. */
static __always_inline int begin_counted(struct bpf_perf_event_data *ctx, __u32 number)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct scratch *scratch = admit_counted(number);
	if (!scratch)
		return NEXT_NONE;
	take_lane(scratch, EVENT_LANE_INTERRUPT);
	begin_sample(task, scratch, EVENT_SOURCE_COUNTER + number, 0, ctx->sample_period);
	scratch->sample.measured = 1;
	if (config.members_of[number])
		take_members(scratch, config.members_of[number]);
	return begin_tick_walk(ctx, scratch);
}

/* A program an event, since perf events tell programs nothing that tasks which inherit them have as
 * well. What walks is the timer's. */
#define COUNTER_PROGRAM(number) \
	SEC("perf_event") int on_counter_##number(struct bpf_perf_event_data *ctx) \
	{ \
		int next = begin_counted(ctx, number); \
		if (next >= 0) \
			bpf_tail_call(ctx, &tick_walkers, next); \
		return 0; \
	} \
\
	static __always_inline int begin_counter_##number( \
		struct bpf_perf_event_data *ctx, bool has_loop) \
	{ \
		return begin_counted(ctx, number); \
	} \
\
	WHOLE_PROGRAM("perf_event", counter_##number, struct bpf_perf_event_data, \
		begin_counter_##number, __noinline)

COUNTER_PROGRAM(0)
COUNTER_PROGRAM(1)
COUNTER_PROGRAM(2)
COUNTER_PROGRAM(3)
COUNTER_PROGRAM(4)
COUNTER_PROGRAM(5)
COUNTER_PROGRAM(6)
COUNTER_PROGRAM(7)

_Static_assert(EVENT_MAX_COUNTERS == 8, "each event has a program");

#endif
