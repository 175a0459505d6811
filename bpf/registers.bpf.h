/* The registers with which a task left user space. */
#ifndef EBPROF_REGISTERS_BPF_H
#define EBPROF_REGISTERS_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	/* THREAD_SIZE of x86-64 and of arm64 with 4 KiB pages, without KASAN. */
	KERNEL_STACK_BYTES = 16 << 10,
};

/* X(DWARF number, member of pt_regs) */
#if defined(__TARGET_ARCH_x86)
#define REGS_IP(regs) ((regs)->ip)
#define REGS_SP(regs) ((regs)->sp)
#define EACH_REGISTER(X) \
	X(0, ax) \
	X(1, dx) \
	X(2, cx) \
	X(3, bx) \
	X(4, si) \
	X(5, di) \
	X(6, bp) \
	X(7, sp) \
	X(8, r8) \
	X(9, r9) \
	X(10, r10) \
	X(11, r11) \
	X(12, r12) \
	X(13, r13) \
	X(14, r14) \
	X(15, r15)
enum {
	ALL_REGISTERS_KNOWN = 0xffff,
	RETURN_ADDRESS_BYTES = 8, /* on the stack, when a function is entered */
};
#elif defined(__TARGET_ARCH_arm64)
#define REGS_IP(regs) ((regs)->pc)
#define REGS_SP(regs) ((regs)->sp)
#define EACH_REGISTER(X) \
	X(0, regs[0]) \
	X(1, regs[1]) \
	X(12, regs[12]) \
	X(13, regs[13]) \
	X(19, regs[19]) \
	X(20, regs[20]) \
	X(21, regs[21]) \
	X(22, regs[22]) \
	X(23, regs[23]) \
	X(24, regs[24]) \
	X(25, regs[25]) \
	X(26, regs[26]) \
	X(27, regs[27]) \
	X(28, regs[28]) \
	X(29, regs[29]) \
	X(30, regs[30]) \
	X(31, sp)
#define ALL_REGISTERS_KNOWN 0xfff83003ULL
enum {
	RETURN_ADDRESS_BYTES = 0,
};
#endif

/* 6.18 refuses reads of ctx through a pointer that the compiler adjusted for several fields. */
#define READ_CONTEXT(field) \
	({ \
		__u64 value_ = (field); \
		asm volatile("" : "+r"(value_)); \
		value_; \
	})

static __always_inline bool is_kernel_address(__u64 address)
{
	return (__s64)address < 0;
}

/* False: they are those of a thread that never was in user space. */
static __always_inline bool are_of_user(const struct unwind_registers *registers)
{
	/* ip is 0 after a call through NULL; all are in a thread of the kernel. */
	return (registers->ip || registers->reg[UNWIND_SP]) && !is_kernel_address(registers->ip);
}

/* Likewise. */
static __always_inline bool read_registers_at(
	const struct pt_regs *at, struct unwind_registers *ret)
{
	struct pt_regs saved;
	ret->known = ALL_REGISTERS_KNOWN;
	if (bpf_probe_read_kernel(&saved, sizeof(saved), at))
		return false;
	ret->ip = REGS_IP(&saved);
#define COPY(number, member) ret->reg[number] = saved.member;
	EACH_REGISTER(COPY)
#undef COPY
	return are_of_user(ret);
}

/*
 * At the top of a task's kernel stack, before Linux 5.15. What the kernel pushes there is more than
 * what is here of it: on arm64 it goes on behind the registers.
 */
static __always_inline const struct pt_regs *registers_on_stack(struct task_struct *task)
{
	const char *end = (const char *)BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES;
	return (const struct pt_regs *)(end - bpf_core_type_size(struct pt_regs));
}

/*
 * Where those stand with which the current task entered the kernel: at the top of its kernel stack,
 * where the entry code pushed them.
 */
static __always_inline const struct pt_regs *registers_of_entry(struct task_struct *task)
{
	if (!KERNEL_HAS_HELPER(task_pt_regs))
		return registers_on_stack(task);
	return (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/* False: it never was in user space. */
static __always_inline bool read_saved_registers(
	struct task_struct *task, struct unwind_registers *ret)
{
	return read_registers_at(registers_of_entry(task), ret);
}

/* ... another task that is in the kernel; its type is that of the kernel's own description. */
static __always_inline bool read_saved_registers_of(
	struct task_struct *task, struct unwind_registers *ret)
{
	if (!KERNEL_HAS_HELPER(task_pt_regs))
		return read_registers_at(registers_on_stack(task), ret);
	return read_registers_at((const struct pt_regs *)bpf_task_pt_regs(task), ret);
}

#if defined(__TARGET_ARCH_x86)
/* arch/x86/include/asm/{segment,pgtable_64_types}.h */
enum {
	USER_CODE_SEGMENT = 0x33,
	ENTRY_STACK_BYTES = 4096,
};
#define CPU_ENTRY_AREA_BEGIN 0xfffffe0000000000ULL
#define CPU_ENTRY_AREA_END   0xfffffe8000000000ULL

/*
 * Exceptions and interrupts of user code push them on a stack of the CPU's that each begins anew,
 * from where they are moved to the task's. Those of the way back are copies of the task's.
 */
static __always_inline const struct pt_regs *registers_on_entry_stack(__u64 sp)
{
	__u64 top = ((sp - 1) | (ENTRY_STACK_BYTES - 1)) + 1;
	const struct pt_regs *at = (const struct pt_regs *)(top - sizeof(struct pt_regs));
	__u64 cs = 0;
	bool is_entry_stack = sp > CPU_ENTRY_AREA_BEGIN && sp < CPU_ENTRY_AREA_END;
	if (!is_entry_stack || sp > (__u64)&at->ip ||
		bpf_probe_read_kernel(&cs, sizeof(cs), &at->cs) || cs != USER_CODE_SEGMENT)
		return 0;
	return at;
}

/*
 * The counters of the processor interrupt what no other interrupt does: the entry code (Linux 6.18,
 * arch/x86/entry/entry_64.S). It pushes registers from the end of the structure down and clears
 * them behind that, and pops them on the way back: one that stands below the tick's sp is in the
 * processor still, or again. `ret` has the tick's own; false: they are not known, or there are
 * none.
 */
static __always_inline bool complete_user_registers(
	struct task_struct *task, struct unwind_registers *ret)
{
	enum {
		SYSCALL_IP = 2, /* rcx */
	};
	__u64 sp = ret->reg[UNWIND_SP];
	const struct pt_regs *at = registers_of_entry(task),
			     *on_entry = registers_on_entry_stack(sp);
	struct pt_regs saved;
	__u64 end = (__u64)(at + 1);
	asm volatile("" : "+r"(end)); /* no subtraction of pointers, which the verifier refuses */
	if (on_entry) {
		at = on_entry;
	} else if (!is_kernel_address(sp) && (sp < (__u64)at || sp > end)) {
		/* The first instructions of a system call, or the last ones. */
		ret->ip = ret->reg[SYSCALL_IP];
		return are_of_user(ret);
	} else if (sp > end) {
		sp = (__u64)at; /* on another stack of the kernel: all of them are there */
	}
	if (sp > (__u64)&at->sp || bpf_probe_read_kernel(&saved, sizeof(saved), at))
		return false;
	ret->ip = sp <= (__u64)&at->ip ? saved.ip : ret->reg[SYSCALL_IP];
#define TAKE(number, member) \
	if (sp <= (__u64)&at->member) \
		ret->reg[number] = saved.member;
	EACH_REGISTER(TAKE)
#undef TAKE
	return are_of_user(ret);
}
#else
/* Nothing interrupts the entry code of arm64 before all are saved. */
static __always_inline bool complete_user_registers(
	struct task_struct *task, struct unwind_registers *ret)
{
	return read_saved_registers(task, ret);
}
#endif

/* When the tick hit user code they are the tick's own. */
static __always_inline bool read_user_registers(
	struct bpf_perf_event_data *ctx, struct task_struct *task, struct unwind_registers *ret)
{
	ret->known = ALL_REGISTERS_KNOWN;
	ret->ip = READ_CONTEXT(REGS_IP(&ctx->regs));
#define COPY(number, member) ret->reg[number] = READ_CONTEXT(ctx->regs.member);
	EACH_REGISTER(COPY)
#undef COPY
	return is_kernel_address(ret->ip) ? complete_user_registers(task, ret) : true;
}

/* Those with which a task came upon a probe. */
static __always_inline void read_hit_registers(struct pt_regs *ctx, struct unwind_registers *ret)
{
	ret->known = ALL_REGISTERS_KNOWN;
	ret->ip = READ_CONTEXT(REGS_IP(ctx));
#define COPY(number, member) ret->reg[number] = READ_CONTEXT(ctx->member);
	EACH_REGISTER(COPY)
#undef COPY
}

#endif
