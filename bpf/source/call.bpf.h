/*
 * Calls of functions in user code: the time from their entry to their return.
 *
 * A call is known by its process and by where its return address stands, which no other call has
 * before this one is over. So those of a recursion are told apart, and those of coroutines that go
 * on in another thread are found again. One that is left without returning (longjmp, an exception,
 * the end of its thread) has its place taken by the next call there: it is never taken for another
 * one. Until then it takes room; where there is none for a call, that is lost, and counted when it
 * returns.
 */
#ifndef EBPROF_SOURCE_CALL_BPF_H
#define EBPROF_SOURCE_CALL_BPF_H

#include "bpf/source/duration.bpf.h"
#include "bpf/source/probe.bpf.h"

struct open_call {
	__u64 start_ns;
	__u64 address; /* of the function */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, struct event_call_key);
	__type(value, struct open_call);
} open_calls SEC(".maps");

__u64 open_calls_full; /* calls that there was no room for */

static __always_inline struct event_call_key key_of_call(
	struct pt_regs *ctx, __u64 probe, __u64 above_sp)
{
	return (struct event_call_key){
		.pid = bpf_get_current_pid_tgid() >> 32,
		.number = probe,
		.sp = READ_CONTEXT(REGS_SP(ctx)) + above_sp,
	};
}

SEC("uprobe/entry")
int on_entry(struct pt_regs *ctx)
{
	__u64 probe = probe_of(ctx) & (EVENT_PROBE_IS_RETURN - 1);
	if (!takes_duration(EVENT_SOURCE_CALL + probe) || !is_target())
		return 0;
	struct event_call_key key = key_of_call(ctx, probe, RETURN_ADDRESS_BYTES);
	struct open_call call = {.address = READ_CONTEXT(REGS_IP(ctx))};
	call.start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&open_calls, &key, &call, BPF_ANY) == -E2BIG)
		COUNT(open_calls_full);
	return 0;
}

/* The call that returns here; false: its entry was not seen. */
static __noinline bool end_call(const struct event_call_key *key, struct open_call *ret)
{
	struct open_call *call = bpf_map_lookup_elem(&open_calls, key);
	if (!call)
		return false;
	*ret = *call;
	bpf_map_delete_elem(&open_calls, key);
	return true;
}

/*
 * What a sample of the call stands for; 0: there is none. Those of other processes are filtered,
 * and those whose beginning is not known: where some had no room, they may be these, and are lost.
 */
static __always_inline __u64 admit_duration_of_call(
	const struct event_call_key *key, __u32 source, struct open_call *call, __u64 *ns)
{
	__u64 now_ns = bpf_ktime_get_ns();
	bool is_known = end_call(key, call), is_wanted = is_target();
	*ns = is_known ? now_ns - call->start_ns : 0;
	if (is_known && is_wanted)
		return select_duration(source, *ns);
	bool is_lost = is_wanted && open_calls_full;
	struct event_counters *counted = count_event(source, *ns);
	if (counted)
		count_as(counted, is_lost ? EVENT_COUNTER_LOST_BUSY : EVENT_COUNTER_FILTERED, *ns);
	return 0;
}

/* The registers are those of the caller by now: the function itself is the leaf. */
static __noinline int begin_call_walk(struct pt_regs *ctx, struct scratch *scratch, __u64 address)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	bool has_user_stack = begin_user_stack(task, scratch);
	if (has_user_stack)
		push_word(scratch, address & ((1ULL << EVENT_FRAME_FOUND_SHIFT) - 1));
	scratch->walk.is_exact = false;
	read_hit_registers(ctx, &scratch->walk.regs);
	if (has_user_stack && begin_frames(scratch))
		return NEXT_WALKS;
	if (has_user_stack)
		return NEXT_ENDS;
	end_sample(scratch, false);
	return NEXT_NONE;
}

static __always_inline int begin_return(struct pt_regs *ctx, bool has_loop)
{
	__u64 probe = probe_of(ctx) & (EVENT_PROBE_IS_RETURN - 1), ns;
	__u32 source = EVENT_SOURCE_CALL + probe;
	struct open_call call;
	if (probe >= EVENT_MAX_CALLS || !takes_duration(source))
		return NEXT_NONE;
	struct event_call_key key = key_of_call(ctx, probe, 0);
	__u64 value = admit_duration_of_call(&key, source, &call, &ns);
	struct scratch *scratch = value ? take_lane_of_duration(source, ns, has_loop) : 0;
	if (!scratch)
		return NEXT_NONE;
	begin_sample((struct task_struct *)bpf_get_current_task(), scratch, source, 0, value);
	scratch->sample.measured = ns;
	return begin_call_walk(ctx, scratch, call.address);
}

/* What walks is that of hits. */
SEC("uprobe/return")
int on_return(struct pt_regs *ctx)
{
	int next = begin_return(ctx, true);
	if (next >= 0)
		bpf_tail_call(ctx, &hit_walkers, next);
	return 0;
}

SEC("uprobe/return")
int on_return_without_loop(struct pt_regs *ctx)
{
	int next = begin_return(ctx, false);
	if (next >= 0)
		bpf_tail_call(ctx, &hit_walkers, next);
	return 0;
}

WHOLE_PROGRAM("uprobe/return", return, struct pt_regs, begin_return, __noinline)

#endif
