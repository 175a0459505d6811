/*
 * System calls of the targets, from their entry to their return. Both tracepoints run in all
 * processes; those of others are no events. A call that does not return (exit) is none, either.
 */
#ifndef EBPROF_SOURCE_SYSCALL_BPF_H
#define EBPROF_SOURCE_SYSCALL_BPF_H

#include "bpf/source/duration.bpf.h"
#include "bpf/source/wait.bpf.h"

struct open_syscall {
	__u64 start_ns; /* 0: it has returned */
	__u32 number;
	__u32 zero;
};

/* By the kernel's own thread ids. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct open_syscall);
} open_syscalls SEC(".maps");

/* Bits of the numbers that are wanted; those of none: all are. */
volatile __u64 wanted_syscalls[EVENT_MAX_SYSCALLS / 64];
volatile bool wants_some_syscalls;

static __always_inline bool is_wanted_syscall(__u32 number)
{
	if (!wants_some_syscalls)
		return true;
	return number < EVENT_MAX_SYSCALLS && wanted_syscalls[number / 64] >> (number & 63) & 1;
}

SEC("raw_tp/sys_enter")
int on_syscall_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid(), number = ctx->args[1];
	if (!takes_duration(EVENT_SOURCE_SYSCALL) || !is_wanted_syscall(number) || !is_target())
		return 0;
	struct open_syscall *found = bpf_map_lookup_elem(&open_syscalls, &tid);
	struct open_syscall call = {bpf_ktime_get_ns(), number, 0};
	if (found)
		*found = call;
	else if (bpf_map_update_elem(&open_syscalls, &tid, &call, BPF_ANY))
		count_unfollowed(EVENT_SOURCE_SYSCALL);
	return 0;
}

/* Only threads that live have a place, so that there is room for all of their calls. */
SEC("raw_tp/sched_process_exit")
int on_syscall_thread_end(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&open_syscalls, &tid);
	return 0;
}

/* A program of 32 bits has numbers of its own. */
static __always_inline __u32 number_of_syscall(const struct pt_regs *regs, __u32 number)
{
#if defined(__TARGET_ARCH_x86)
	enum {
		USER32_CS = 0x23, /* arch/x86/include/asm/segment.h */
	};
	unsigned long cs = 0;
	bpf_probe_read_kernel(&cs, sizeof(cs), &regs->cs);
	if (cs == USER32_CS)
		return EVENT_SYSCALL_OF_32_BITS;
#elif defined(__TARGET_ARCH_arm64)
	enum {
		MODE32_BIT = 0x10, /* PSR_MODE32_BIT: arch/arm64/include/uapi/asm/ptrace.h */
	};
	__u64 pstate = 0;
	bpf_probe_read_kernel(&pstate, sizeof(pstate), &regs->pstate);
	if (pstate & MODE32_BIT)
		return EVENT_SYSCALL_OF_32_BITS;
#endif
	return number < EVENT_MAX_SYSCALLS ? number : EVENT_MAX_SYSCALLS;
}

/* The kernel's stack would be the same of all: it is not taken, the number stands for it. */
static __noinline int begin_syscall_walk(struct scratch *scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	return begin_walk_from_kernel(task, scratch);
}

static __always_inline int begin_syscall(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	__u32 tid = bpf_get_current_pid_tgid();
	if (!takes_duration(EVENT_SOURCE_SYSCALL))
		return NEXT_NONE;
	struct open_syscall *call = bpf_map_lookup_elem(&open_syscalls, &tid);
	if (!call || !call->start_ns)
		return NEXT_NONE;
	__u64 ns = bpf_ktime_get_ns() - call->start_ns;
	__u32 number = call->number;
	call->start_ns = 0;
	__u64 value = select_duration(EVENT_SOURCE_SYSCALL, ns);
	struct scratch *scratch =
		value ? take_lane_of_duration(EVENT_SOURCE_SYSCALL, ns, has_loop) : 0;
	if (!scratch)
		return NEXT_NONE;
	begin_sample((struct task_struct *)bpf_get_current_task(), scratch, EVENT_SOURCE_SYSCALL, 0,
		value);
	scratch->sample.measured = ns;
	scratch->sample.syscall = number_of_syscall((const void *)ctx->args[0], number) + 1;
	return begin_syscall_walk(scratch);
}

/* What walks is that of waits. */
SEC("raw_tp/sys_exit")
int on_syscall(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_syscall(ctx, true);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_syscall_without_loop(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_syscall(ctx, false);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

WHOLE_PROGRAM("raw_tp", syscall, struct bpf_raw_tracepoint_args, begin_syscall, __noinline)

#endif
