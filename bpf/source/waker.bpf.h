/*
 * Who ends a wait: the stack of the task that wakes another, or in which an interrupt does. It goes
 * out ahead of the sample of the wait, which names it by a number.
 *
 * Whether a wait is a sample is decided here, since its length is known by now: stacks of other
 * wakers are not taken. This runs behind on_waking() at the same tracepoint, with interrupts off,
 * so that it has the lane of switches: where that, or an earlier one, is under way, as it may be in
 * an interrupt, the waker is not known.
 */
#ifndef EBPROF_SOURCE_WAKER_BPF_H
#define EBPROF_SOURCE_WAKER_BPF_H

#include "bpf/source/wait.bpf.h"

static __u32 own_frames_of_waker; /* as own_frames of waits */

static __always_inline void take_kernel_stack_of_waker(void *ctx, struct kernel_stack *stack)
{
	const __u32 room = sizeof(stack->address);
	__u32 own = own_frames_of_waker;
	long bytes = bpf_get_stack(ctx, stack->address, room, own & 0x1f);
	if (bytes > 0 && !own && config.runs_one.start) {
		struct event_function runs = config.runs_one;
		own_frames_of_waker = own = count_own_frames(stack, &runs);
		bytes = bpf_get_stack(ctx, stack->address, room, own & 0x1f);
	}
	finish_kernel_stack(stack, bytes);
}

static __noinline int begin_waker_walk(
	struct bpf_raw_tracepoint_args *ctx, struct scratch *scratch, __u64 number)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	take_lane(scratch, EVENT_LANE_SWITCH);
	begin_sample(task, scratch, EVENT_SOURCE_WAIT, EVENT_WAIT_OFF_CPU, 0);
	scratch->sample.type = EVENT_WAKER;
	scratch->sample.waker = number;
	scratch->second_value = 0;
	take_kernel_stack_of_waker(ctx, &scratch->kernel);
	return begin_walk_from_kernel(task, scratch);
}

/* Decides whether the wait will be a sample. */
static __always_inline bool decide_wait(struct waiting *wait)
{
	__u32 zero = 0;
	struct event_wait_lane *lane = bpf_map_lookup_elem(&wait_lanes, &zero);
	if (!lane || !wait->off_ns || !wait->ready_ns || wait->is_decided)
		return false;
	__u64 from_ns = start_of_wait(wait), ready_ns = wait->ready_ns;
	__u64 blocked_ns = ready_ns > from_ns ? ready_ns - from_ns : 0;
	wait->waker = EVENT_WAKER_UNKNOWN;
	wait->value_ns = select_wait(lane, EVENT_WAIT_OFF_CPU, blocked_ns, !wait->is_new);
	wait->is_decided = true;
	return wait->value_ns;
}

static __always_inline int begin_waker(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);
	struct waiting *wait = takes_waits ? bpf_map_lookup_elem(&waiting, &tid) : 0;
	if (!wait || !decide_wait(wait))
		return NEXT_NONE;
	if (!(__u32)bpf_get_current_pid_tgid()) {
		wait->waker = EVENT_WAKER_INTERRUPT;
		return NEXT_NONE;
	}
	struct scratch *earlier = scratch_of_lane(EVENT_LANE_INTERRUPT),
		       *scratch = scratch_of_lane(EVENT_LANE_SWITCH);
	if (!earlier || !scratch || earlier->is_busy || scratch->is_busy)
		return NEXT_NONE;
	/* One at a time on a CPU: no other has this number. */
	wait->waker = wait->ready_ns * EVENT_MAX_WAKER_CPUS +
		      (bpf_get_smp_processor_id() & (EVENT_MAX_WAKER_CPUS - 1));
	return begin_waker_walk(ctx, scratch, wait->waker);
}

/* What walks is that of waits. */
SEC("raw_tp/sched_waking")
int on_waker(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_waker(ctx, true);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

SEC("raw_tp/sched_waking")
int on_waker_without_loop(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_waker(ctx, false);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

WHOLE_PROGRAM("raw_tp", waker, struct bpf_raw_tracepoint_args, begin_waker, __noinline)

#endif
