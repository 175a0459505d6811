/* Hits of probes in user code. */
#ifndef EBPROF_SOURCE_PROBE_BPF_H
#define EBPROF_SOURCE_PROBE_BPF_H

#include "bpf/take_sample.bpf.h"

/* False until the recorder lets hits count, and again when it has done with them. */
volatile bool takes_hits;

static __noinline struct event_counters *admit_hit(void)
{
	struct event_counters *counted = takes_hits ? count_event(EVENT_SOURCE_PROBE, 1) : 0;
	if (!counted || is_target())
		return counted;
	count_as(counted, EVENT_COUNTER_FILTERED, 1);
	return 0;
}

/* Which probe: the recorder attached it with its number, and before Linux 5.15 there is but one. */
static __always_inline __u64 probe_of(struct pt_regs *ctx)
{
	return KERNEL_HAS_HELPER(get_attach_cookie) ? bpf_get_attach_cookie(ctx) : 0;
}

/* As begin_tick_walk(). */
static __noinline int begin_hit_walk(struct pt_regs *ctx, struct scratch *scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 probe = probe_of(ctx);
	begin_sample(task, scratch, EVENT_SOURCE_PROBE, probe & (EVENT_PROBE_IS_RETURN - 1), 1);
	bool has_user_stack = begin_user_stack(task, scratch);
	if (probe & EVENT_PROBE_IS_RETURN) /* the registers are those of the caller by now */
		scratch->walk.is_exact = false;
	read_hit_registers(ctx, &scratch->walk.regs);
	if (has_user_stack && begin_frames(scratch))
		return NEXT_WALKS;
	if (has_user_stack)
		return NEXT_ENDS;
	end_sample(scratch, false);
	return NEXT_NONE;
}

/*
 * Kernels without bpf_loop do not preempt the program, and do not run another one of ours on the
 * CPU meanwhile (trace_call_bpf() of kernel/trace/bpf_trace.c, 5.10 and 5.15), ticks included: the
 * lane is always free, and taking it needs no atomic exchange, which Linux 5.10 does not load.
 */
static __always_inline int begin_hit(struct pt_regs *ctx, bool has_loop)
{
	struct event_counters *counted = admit_hit();
	struct scratch *scratch = scratch_of_lane(task_lane());
	if (!counted || !scratch)
		return NEXT_NONE;
	if (has_loop ? !try_lane(scratch) : scratch->is_busy) {
		count_as(counted, EVENT_COUNTER_LOST_BUSY, 1);
		return NEXT_NONE;
	}
	take_lane(scratch, task_lane());
	return begin_hit_walk(ctx, scratch);
}

SAMPLING_PROGRAMS("uprobe/hit", hit, struct pt_regs, begin_hit)

#endif
