/*
 * Locks of the kernel that tasks sleep for: mutexes, rw semaphores and the like, from the time that
 * a task finds one taken until it has it, or gives up (Linux 5.19). What spins is left out: there a
 * lock of ours may be the one, and a sample taken in its midst would wait for it for ever.
 */
#ifndef EBPROF_SOURCE_LOCK_BPF_H
#define EBPROF_SOURCE_LOCK_BPF_H

#include "bpf/source/duration.bpf.h"
#include "bpf/source/wait.bpf.h"

enum { /* include/trace/events/lock.h */
	LCB_F_SPIN = 1 << 0,
	LCB_F_MUTEX = 1 << 5, /* with LCB_F_SPIN: it spins for a while, and sleeps then */
};

struct contention_key {
	__u64 lock;
	__u32 tid; /* the kernel's own */
	__u32 zero;
};

/* Since when the task wants the lock. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, struct contention_key);
	__type(value, __u64);
} contentions SEC(".maps");

static __always_inline struct contention_key key_of_contention(__u64 lock)
{
	return (struct contention_key){.lock = lock, .tid = bpf_get_current_pid_tgid()};
}

SEC("raw_tp/contention_begin")
int on_lock_wanted(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 flags = ctx->args[1];
	if (!takes_duration(EVENT_SOURCE_LOCK) ||
		(flags & (LCB_F_SPIN | LCB_F_MUTEX)) == LCB_F_SPIN)
		return 0;
	if (!(__u32)bpf_get_current_pid_tgid() || !is_target())
		return 0;
	struct contention_key key = key_of_contention(ctx->args[0]);
	__u64 now_ns = bpf_ktime_get_ns();
	/* A mutex says so twice. */
	if (bpf_map_update_elem(&contentions, &key, &now_ns, BPF_NOEXIST) == -E2BIG)
		count_unfollowed(EVENT_SOURCE_LOCK);
	return 0;
}

static __u32 own_frames_of_lock; /* as own_frames of waits */

static __always_inline void take_kernel_stack_of_lock(void *ctx, struct kernel_stack *stack)
{
	const __u32 room = sizeof(stack->address);
	__u32 own = own_frames_of_lock;
	long bytes = bpf_get_stack(ctx, stack->address, room, own & 0x1f);
	if (bytes > 0 && !own && config.runs_two.start) {
		struct event_function runs = config.runs_two;
		own_frames_of_lock = own = count_own_frames(stack, &runs);
		bytes = bpf_get_stack(ctx, stack->address, room, own & 0x1f);
	}
	finish_kernel_stack(stack, bytes);
}

static __noinline int begin_lock_walk(struct bpf_raw_tracepoint_args *ctx, struct scratch *scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	take_kernel_stack_of_lock(ctx, &scratch->kernel);
	return begin_walk_from_kernel(task, scratch);
}

static __always_inline int begin_lock(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	struct contention_key key = key_of_contention(ctx->args[0]);
	if (!takes_duration(EVENT_SOURCE_LOCK))
		return NEXT_NONE;
	__u64 *start_ns = bpf_map_lookup_elem(&contentions, &key);
	if (!start_ns)
		return NEXT_NONE;
	__u64 ns = bpf_ktime_get_ns() - *start_ns;
	bpf_map_delete_elem(&contentions, &key);
	__u64 value = select_duration(EVENT_SOURCE_LOCK, ns);
	struct scratch *scratch =
		value ? take_lane_of_duration(EVENT_SOURCE_LOCK, ns, has_loop) : 0;
	if (!scratch)
		return NEXT_NONE;
	begin_sample(
		(struct task_struct *)bpf_get_current_task(), scratch, EVENT_SOURCE_LOCK, 0, value);
	scratch->sample.measured = ns;
	return begin_lock_walk(ctx, scratch);
}

/* What walks is that of waits. */
SEC("raw_tp/contention_end")
int on_lock(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_lock(ctx, true);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

SEC("raw_tp/contention_end")
int on_lock_without_loop(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_lock(ctx, false);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

WHOLE_PROGRAM("raw_tp", lock, struct bpf_raw_tracepoint_args, begin_lock, __noinline)

#endif
