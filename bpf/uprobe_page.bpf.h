/*
 * Where uprobes have led a thread away from its program, and where it would be without them. The
 * kernel maps a page of its own into each process that has hit one ("[uprobes]"): there the
 * processor steps over a copy of the instruction that the breakpoint replaced, and there functions
 * return to whose returns are probed. The thread's own list says where they were called from.
 *
 * Probes may be ours, or those of any other tool. Places that have a five-byte nop are called out
 * of by Linux 6.18 instead, to another page, "[uprobes-trampoline]": that is code of no file here.
 * Sources: kernel/events/uprobes.c,
 * arch/x86/kernel/uprobes.c, arch/arm64/kernel/probes/uprobes.c of Linux 5.10 and 6.18.
 */
#ifndef EBPROF_UPROBE_PAGE_BPF_H
#define EBPROF_UPROBE_PAGE_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/registers.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/walked_task.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	/* That are skipped at once, or copied: the verifier of Linux 5.10 has room for so many. */
	MAX_RETURN_INSTANCES = 16,
	COPIED_INSTRUCTION_BYTES = 16,
};

/* Where no program is. */
#define UPROBE_PAGE_NOWHERE (1ULL << 63)

/* Without CONFIG_UPROBES the kernel has no such types, and nothing may read them. */
static __always_inline bool has_uprobes(const struct task_struct *task)
{
	(void)task; /* its type says it */
	return bpf_core_field_exists(task->utask);
}

static __always_inline struct uprobe_task *uprobe_task_of(struct task_struct *task)
{
	return has_uprobes(task) ? BPF_CORE_READ(task, utask) : 0;
}

/* Before a walk. */
static __always_inline void find_uprobe_page(
	struct walk *walk, struct task_struct *task, struct mm_struct *mm)
{
	struct uprobe_task *probed = uprobe_task_of(task);
	__u64 page = probed ? BPF_CORE_READ(mm, uprobes_state.xol_area, vaddr) : 0;
	walk->uprobe_page = page ? page : UPROBE_PAGE_NOWHERE;
	walk->first_return = probed ? (__u64)BPF_CORE_READ(probed, return_instances) : 0;
	walk->return_instance = walk->first_return;
}

static __always_inline bool is_in_uprobe_page(const struct walk *walk)
{
	return (walk->regs.ip - walk->uprobe_page) >> (config.page_shift & 31) == 0;
}

/* False: no instruction is stepped over there. */
static __always_inline bool leave_copied_instruction(struct walk *walk, struct uprobe_task *probed)
{
	__u64 inside = walk->regs.ip - BPF_CORE_READ(probed, xol_vaddr);
	if (!walk->is_exact || inside >= COPIED_INSTRUCTION_BYTES)
		return false;
	walk->regs.ip = BPF_CORE_READ(probed, vaddr) + inside;
	return true;
}

static __always_inline void leave_to_caller(struct walk *walk, __u64 ra, __u64 sp)
{
	walk->regs.ip = without_signature(ra);
	walk->regs.reg[UNWIND_SP] = sp;
	walk->is_exact = false;
}

#if defined(__TARGET_ARCH_x86)
/*
 * What functions return to: push %rax, %rcx and %r11, a system call, pop %r11 and %rcx, ret. The
 * call forgets the function, and puts where that returns to over %rax. Since Linux 6.11; before,
 * all of it is a breakpoint.
 */
enum {
	TRAMPOLINE_PUSHED_BYTES = 24,
	TRAMPOLINE_CALLED = 0xd, /* two bytes pop %r11, one %rcx, */
	TRAMPOLINE_RETURNS = 0x10,
};

static __always_inline void finish_trampoline(struct walk *walk)
{
	__u64 left = walk->uprobe_page + TRAMPOLINE_RETURNS - walk->regs.ip, ra = 0;
	/* ... so that of three bytes two words are left, of one byte one. */
	__u64 at = walk->regs.reg[UNWIND_SP] + (left + 1) / 2 * 8;
	if (walk->is_exact && left <= TRAMPOLINE_RETURNS - TRAMPOLINE_CALLED &&
		!bpf_probe_read_user(&ra, sizeof(ra), (const void *)at))
		leave_to_caller(walk, ra, at + sizeof(ra));
}
#else
enum {
	TRAMPOLINE_PUSHED_BYTES = 0,
	TRAMPOLINE_CALLED = 0,
};

static __always_inline void finish_trampoline(struct walk *walk)
{
	(void)walk; /* it is a breakpoint */
}
#endif

/*
 * In the list of what the thread has yet to return from, innermost first: past one that was entered
 * below `sp`. 1: there is none. Global functions, this and the next, which the verifier looks at
 * once.
 */
__noinline int skip_return_instance(__u64 sp);
__noinline int skip_return_instance(__u64 sp)
{
	struct scratch *scratch = get_scratch();
	if (!scratch || !has_uprobes(walked_task()))
		return 1;
	struct return_instance *instance = (void *)scratch->walk.return_instance;
	if (!instance || BPF_CORE_READ(instance, stack) + RETURN_ADDRESS_BYTES >= sp)
		return 1;
	scratch->walk.return_instance = (__u64)BPF_CORE_READ(instance, next);
	return 0;
}

__noinline int skip_return_instances(__u64 sp);
__noinline int skip_return_instances(__u64 sp)
{
	bool is_done = false;
	for (int i = 0; i < MAX_RETURN_INSTANCES && !is_done; i++)
		is_done = skip_return_instance(sp);
	return 0;
}

/*
 * To the caller of the function that has returned, or will, to the uprobes' page. Functions that
 * were left by longjmp() lie below it. Between the probe's writing of the return address and the
 * kernel's noting of the old one, the caller is not to be had.
 */
static __always_inline void leave_trampoline(struct walk *walk)
{
	__u64 sp = walk->regs.reg[UNWIND_SP], inside = walk->regs.ip - walk->uprobe_page;
	/* Behind the system call the list begins with the caller's own return. */
	__u64 pushed = (walk->is_exact & (inside <= TRAMPOLINE_CALLED)) * TRAMPOLINE_PUSHED_BYTES;
	skip_return_instances(sp);
	struct return_instance *instance = (void *)walk->return_instance;
	__u64 returned_sp = instance ? BPF_CORE_READ(instance, stack) + RETURN_ADDRESS_BYTES : 0;
	if (instance && returned_sp - sp <= pushed)
		leave_to_caller(walk, BPF_CORE_READ(instance, orig_ret_vaddr), returned_sp);
	else
		finish_trampoline(walk);
}

#if defined(__TARGET_ARCH_x86)
/*
 * In a piece of the stack that was copied from an address: its readers have no list. The innermost
 * ones only; a copied stack is cut at others.
 */
static __always_inline void restore_return_addresses(
	const struct walk *walk, __u64 address, __u8 *bytes)
{
	struct return_instance *instance = (void *)walk->return_instance;
	if (!has_uprobes(walked_task()))
		return;
	for (int i = 0; i < MAX_RETURN_INSTANCES && instance; i++) {
		__u64 at = BPF_CORE_READ(instance, stack) - address;
		__u64 *word = (__u64 *)(bytes + (at & (EVENT_SNAPSHOT_CHUNK_BYTES - 8)));
		if (at < EVENT_SNAPSHOT_CHUNK_BYTES && *word == walk->uprobe_page)
			*word = BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
}
#else
/* A return address is kept by the function, where its rules say. */
static __always_inline void restore_return_addresses(
	const struct walk *walk, __u64 address, __u8 *bytes)
{
	(void)walk, (void)address, (void)bytes;
}
#endif

/*
 * Puts a frame that is in the uprobes' page where the program would be. A global function, which
 * the verifier looks at once.
 */
__noinline int leave_uprobe_page(void);
__noinline int leave_uprobe_page(void)
{
	struct scratch *scratch = get_scratch();
	struct uprobe_task *probed = uprobe_task_of(walked_task());
	if (!scratch || !probed)
		return 0;
	if (!leave_copied_instruction(&scratch->walk, probed))
		leave_trampoline(&scratch->walk);
	return 0;
}

#endif
