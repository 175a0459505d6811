/*
 * Unwinding by frame pointer: each frame begins with the caller's frame pointer
 * and the return address. The ABI marks the outermost frame with a frame
 * pointer of zero; a chain that ends in any other way is truncated, and says why.
 */
#ifndef EBPROF_UNWIND_FP_BPF_H
#define EBPROF_UNWIND_FP_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct user_registers {
	__u64 ip, sp, fp;
};

#if defined(__TARGET_ARCH_x86)
#define REGS_IP(regs) ((regs)->ip)
#define REGS_SP(regs) ((regs)->sp)
#define REGS_FP(regs) ((regs)->bp)
#elif defined(__TARGET_ARCH_arm64)
#define REGS_IP(regs) ((regs)->pc)
#define REGS_SP(regs) ((regs)->sp)
#define REGS_FP(regs) ((regs)->regs[29])
#endif

enum {
	/* THREAD_SIZE of x86-64 and of arm64 with 4 KiB pages, without KASAN. */
	KERNEL_STACK_BYTES = 16 << 10,
};

static __always_inline bool is_kernel_address(__u64 address)
{
	return (__s64)address < 0;
}

/*
 * The registers with which the task left user space. When the tick hit user
 * code they are the tick's own; in the kernel they stand at the top of the
 * task's kernel stack, where the entry code pushed them.
 */
static __always_inline bool read_user_registers(
	struct bpf_perf_event_data *ctx, struct task_struct *task, struct user_registers *ret)
{
	struct user_registers now = {
		.ip = REGS_IP(&ctx->regs),
		.sp = REGS_SP(&ctx->regs),
		.fp = REGS_FP(&ctx->regs),
	};
	/* 6.18 refuses reads of ctx through a pointer that the compiler adjusted for several
	 * fields. */
	asm volatile("" : "+r"(now.ip), "+r"(now.sp), "+r"(now.fp));
	if (!is_kernel_address(now.ip)) {
		*ret = now;
		return true;
	}
	struct pt_regs saved;
	const void *at;
	if (KERNEL_HAS_HELPER(task_pt_regs)) /* Linux 5.15 */
		at = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		at = (const char *)BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES - sizeof(saved);
	if (bpf_probe_read_kernel(&saved, sizeof(saved), at))
		return false;
	ret->ip = REGS_IP(&saved);
	ret->sp = REGS_SP(&saved);
	ret->fp = REGS_FP(&saved);
	return ret->ip && !is_kernel_address(ret->ip);
}

/* Fills address[] leaf first; the number of frames is the result, *end how it ended. */
static __always_inline __u32 unwind_fp(
	const struct user_registers *regs, __u64 *address, enum event_stack_end *end)
{
	address[0] = regs->ip;
	__u64 fp = regs->fp, floor = regs->sp;
	__u32 n = 1;
	*end = EVENT_END_DEPTH;
	for (; n < EVENT_MAX_USER_FRAMES; n++) {
		struct {
			__u64 fp, return_address;
		} frame;
		if (!fp) {
			*end = EVENT_END_COMPLETE;
			break;
		}
		/* A caller's frame lies above its callee's, aligned, and not absurdly far. */
		if (fp < floor || fp & 7) {
			*end = EVENT_END_BROKEN_FRAME_POINTER;
			break;
		}
		if (bpf_probe_read_user(&frame, sizeof(frame), (const void *)fp)) {
			*end = EVENT_END_UNREADABLE;
			break;
		}
		if (frame.return_address < 4096 || is_kernel_address(frame.return_address)) {
			*end = frame.fp ? EVENT_END_BROKEN_FRAME_POINTER : EVENT_END_COMPLETE;
			break;
		}
		address[n] = frame.return_address;
		floor = fp + sizeof(frame);
		fp = frame.fp;
	}
	return n;
}

#endif
