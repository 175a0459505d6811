/* Ticks of timers: of the CPUs, or of the targets' tasks. */
#ifndef EBPROF_SOURCE_TIMER_BPF_H
#define EBPROF_SOURCE_TIMER_BPF_H

#include "bpf/take_sample.bpf.h"

/* What tells the recorder which timers suit the targets. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_task_ticks);
} task_ticks SEC(".maps");

enum {
	MAX_SWITCH_RATE = 10000000,
};

/* On average since the task began. What a timer of its own costs it grows with this. */
static __always_inline __u64 switch_rate(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 runtime_us = BPF_CORE_READ(task, se.sum_exec_runtime) / 1000;
	__u64 switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	__u64 rate = runtime_us ? switches * 1000000 / runtime_us : 0;
	return rate < MAX_SWITCH_RATE ? rate : MAX_SWITCH_RATE;
}

static __always_inline bool is_wanted_tick(void)
{
	__u32 zero = 0;
	if (!targets_have_timers)
		return is_target();
	struct event_task_ticks *ticks = bpf_map_lookup_elem(&task_ticks, &zero);
	if (!ticks)
		return false;
	ticks->ticks++;
	ticks->switch_rates += switch_rate();
	return !is_before_exec(identify_current());
}

/* Accounts for a tick. NULL: it makes no sample. */
static __noinline struct scratch *admit_tick(void)
{
	struct event_counters *counted = count_event(EVENT_SOURCE_TIMER, 1);
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_INTERRUPT);
	if (!counted || !scratch)
		return 0;
	if (!(__u32)bpf_get_current_pid_tgid())
		count_as(counted, EVENT_COUNTER_IDLE, 1);
	else if (!is_wanted_tick())
		count_as(counted, EVENT_COUNTER_FILTERED, 1);
	else
		return scratch;
	return 0;
}

/* With the sample begun: takes the stacks of what the tick interrupted as far as it can at once.
 * Returns the program that goes on. */
static __noinline int begin_tick_walk(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	take_kernel_stack(ctx, &scratch->kernel);
	bool has_user_stack = begin_user_stack(task, scratch);
	if (has_user_stack && read_user_registers(ctx, task, &scratch->walk.regs) &&
		begin_frames(scratch))
		return NEXT_WALKS;
	if (has_user_stack)
		return NEXT_ENDS;
	end_sample(scratch, false);
	return NEXT_NONE;
}

static __always_inline int begin_tick(struct bpf_perf_event_data *ctx, bool has_loop)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct scratch *scratch = admit_tick();
	if (!scratch)
		return NEXT_NONE;
	take_lane(scratch, EVENT_LANE_INTERRUPT);
	begin_sample(task, scratch, EVENT_SOURCE_TIMER, 0, 1);
	scratch->is_compared = config.call_graph == EVENT_CALL_GRAPH_BOTH;
	return begin_tick_walk(ctx, scratch);
}

SAMPLING_PROGRAMS("perf_event", tick, struct bpf_perf_event_data, begin_tick)

#endif
