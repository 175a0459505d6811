/*
 * The instructions of HotSpot's generated code on arm64: how far a frame is made or gone at the
 * leaf. java_x86_64.bpf.h has the same functions.
 *
 * A call leaves its return address in x30. Frames of all kinds have the frame pointer and x30 as
 * their last two words, as those of x86-64 have them, but code that has no frame, or not yet, or no
 * longer, has its caller in x30 alone.
 *
 * Sources: src/hotspot/cpu/aarch64/{macroAssembler_aarch64,templateInterpreterGenerator_aarch64,
 * interp_masm_aarch64,stubGenerator_aarch64,sharedRuntime_aarch64}.cpp, aarch64.ad of JDK 17, 21,
 * 25; what they come to was seen in Debian's builds of these (-XX:+PrintInterpreter). Encodings:
 * Arm Architecture Reference Manual, C4.1.
 */
#ifndef EBPROF_JAVA_ARM64_BPF_H
#define EBPROF_JAVA_ARM64_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_blob.bpf.h"
#include "bpf/runtime/java/java_code.bpf.h"
#include "bpf/runtime/java/java_stack.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	JAVA_METHOD_REGISTER = 12, /* of the interpreter, while it enters a method */
	JAVA_R13 = 13,             /* its caller's stack pointer, until JDK 19 */
	JAVA_R19 = 19,             /* ... from 20 on */
	JAVA_STACK_REGISTER = 20,  /* where the interpreter has its stack */
	JAVA_BYTECODE_REGISTER = 22,
	JAVA_LR = UNWIND_RA,

	JAVA_CALL_STUB_EXTRA = 0, /* no rule needs more */
	JAVA_INSN_BYTES = 4,
};

/* Instructions, and which of their bits are fixed. */
enum {
	JAVA_RET = 0xd65f03c0,
	JAVA_BR = 0xd61f0000, /* and other jumps to registers, without which one it is */
	JAVA_BR_MASK = 0xfffffc1f,
	JAVA_BLR = 0xd63f0000,
	JAVA_BL = 0x94000000,
	JAVA_BL_MASK = 0xfc000000,
	JAVA_POP_FRAME = 0xa8c17bfd,  /* ldp x29, x30, [sp], #16 */
	JAVA_PUSH_FRAME = 0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	JAVA_LOAD_FRAME = 0xa9407bfd, /* ldp x29, x30, [sp, #n] */
	JAVA_SAVE_FRAME = 0xa9007bfd, /* stp x29, x30, [sp, #n] */
	JAVA_FRAME_MASK = 0xffc07fff,
	JAVA_ADD_SP = 0x910003ff, /* add sp, sp, #n */
	JAVA_SUB_SP = 0xd10003ff,
	JAVA_SP_MASK = 0xff8003ff,
	JAVA_SUB_SP_X8 = 0xcb2863ff, /* sub sp, sp, x8 */
	JAVA_LOAD_POLL = 0xf9400388, /* ldr x8, [x28, #n] */
	JAVA_SAVE_POLL = 0xf9000388, /* str x8, [x28, #n] */
	JAVA_POLL_MASK = 0xffc003ff,
	JAVA_CHECK_POLL = 0xeb2863ff, /* cmp sp, x8 */
	JAVA_IF = 0x54000000,         /* b.cond */
	JAVA_IF_MASK = 0xff000010,
	JAVA_ADR_X8 = 0x10000008,
	JAVA_ADR_X8_MASK = 0x9f00001f,
	JAVA_MOV_SP_X8 = 0x9100011f,
};

static __always_inline __u32 java_insn(const struct java_walk *java, __u32 at)
{
	return *(const __u32 *)(java->bytes + (at & (JAVA_CODE_BYTES - JAVA_INSN_BYTES)));
}

/* The bytes that an instruction adds to the stack pointer, or takes off. */
static __always_inline __u32 java_immediate(__u32 insn)
{
	return (insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
}

/* ---- code without a frame ---- */

/* What x30 has; 0: it is not known, as in all frames but the leaf. */
static __always_inline __u64 java_link(const struct walk *walk)
{
	return walk->regs.known >> JAVA_LR & 1 ? without_signature(walk->regs.reg[JAVA_LR]) : 0;
}

/* By x30, and the stack pointer as it is. False: that is no return address. */
static __always_inline bool java_try_call(struct walk *walk, struct java_walk *java)
{
	java->next_fp = walk->regs.reg[UNWIND_FP];
	java->next_sp = walk->regs.reg[UNWIND_SP];
	java->next_ip = java_link(walk);
	return java->next_ip && java_is_return(java->next_ip);
}

static __always_inline bool java_leave_call(struct walk *walk, struct java_walk *java)
{
	return java_try_call(walk, java);
}

/* Adapters and the like have no frame. */
__noinline int java_leave_top(void);
__noinline int java_leave_top(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	return java_try_call(&scratch->walk, java_walk(&scratch->walk.runtime));
}

/* ---- compiled code ---- */

/*
 * How many words the code behind a call takes off the stack first of all: those that were put there
 * for the time of the call, by add sp, sp, #16 or ldp x8, x12, [sp], #16.
 */
static __always_inline __u32 java_pops(const struct java_walk *java)
{
	__u32 insn = java_insn(java, JAVA_CODE_BEHIND);
	if (insn == 0x910043ff || ((insn & 0xffff83e0) == 0xa8c103e0 && insn != JAVA_POP_FRAME))
		return 2;
	return 0;
}

/* Whether nothing but a poll comes before the method returns. */
static __always_inline bool java_is_before_return(const struct java_walk *java)
{
	for (__u32 at = JAVA_CODE_BEHIND; at < JAVA_CODE_BEHIND + 5 * JAVA_INSN_BYTES;
		at += JAVA_INSN_BYTES) {
		__u32 insn = java_insn(java, at);
		if (insn == JAVA_RET)
			return true;
		if ((insn & JAVA_POLL_MASK) != JAVA_LOAD_POLL && insn != JAVA_CHECK_POLL &&
			(insn & JAVA_IF_MASK) != JAVA_IF)
			return false;
	}
	return false;
}

/* What a poll ahead of a return does elsewhere: adr x8, place; str x8, x(x28); and a jump. */
static __always_inline bool java_is_return_poll(const struct java_walk *java)
{
	bool is_found = false;
	if (java->kind != JAVA_COMPILED)
		return false;
	for (__u32 at = JAVA_CODE_BEHIND - 3 * JAVA_INSN_BYTES; at <= JAVA_CODE_BEHIND;
		at += JAVA_INSN_BYTES)
		is_found |=
			(java_insn(java, at) & JAVA_ADR_X8_MASK) == JAVA_ADR_X8 &&
			(java_insn(java, at + JAVA_INSN_BYTES) & JAVA_POLL_MASK) == JAVA_SAVE_POLL;
	return is_found;
}

/* 1: the leaf is in an epilogue, and its caller is next. */
__noinline int java_leave_frameless(void);
__noinline int java_leave_frameless(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	if (!java_read_code(java, walk->regs.ip))
		return 0;
	__u32 insn = java_insn(java, JAVA_CODE_BEHIND);
	__u32 before = java_insn(java, JAVA_CODE_BEHIND - JAVA_INSN_BYTES);
	__u32 first = java_insn(java, JAVA_CODE_BEHIND - 2 * JAVA_INSN_BYTES);
	__u64 more = 0;
	if (insn == JAVA_POP_FRAME)
		return java_leave_words(java, walk->regs.reg[UNWIND_SP], 2) &&
		       java_is_return(java->next_ip);
	bool is_left = before == JAVA_POP_FRAME;
	if ((before & JAVA_FRAME_MASK) == JAVA_LOAD_FRAME && (insn & JAVA_SP_MASK) == JAVA_ADD_SP) {
		more = java_immediate(insn);
		is_left = true;
	}
	is_left |= (before & JAVA_SP_MASK) == JAVA_ADD_SP &&
		   (first & JAVA_FRAME_MASK) == JAVA_LOAD_FRAME;
	if (!is_left && !java_is_before_return(java) && !java_is_return_poll(java))
		return 0;
	if (!java_try_call(walk, java))
		return 0;
	java->next_sp += more;
	return 1;
}

/*
 * One instruction of the prologue at hand. A global function, since the verifier looks at it once.
 */
__noinline int java_advance_prologue(void);
__noinline int java_advance_prologue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct java_prologue *prologue = &java->prologue;
	__u32 insn = java_insn(java, prologue->at);
	if ((insn & JAVA_SP_MASK) == JAVA_SUB_SP) {
		prologue->words += java_immediate(insn) / 8;
	} else if (insn == JAVA_SUB_SP_X8) {
		prologue->words = java->frame_words;
	} else if (insn == JAVA_PUSH_FRAME) {
		prologue->words += 2;
		prologue->has_fp = true;
	} else if ((insn & JAVA_FRAME_MASK) == JAVA_SAVE_FRAME) {
		prologue->has_fp = true;
	}
	prologue->at += JAVA_INSN_BYTES;
	return 0;
}

/*
 * 1: the leaf is in a prologue, and its caller is next. Ahead of the verified entry, where the
 * receiver's class is checked, there is no frame either.
 */
__noinline int java_leave_prologue(void);
__noinline int java_leave_prologue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	struct java_prologue *prologue = &java->prologue;
	__u64 entry = java_entry(java_row(&walk->runtime), java), pc = walk->regs.ip;
	java->bytes_address = 0;
	if (pc >= entry + JAVA_CODE_BYTES ||
		bpf_probe_read_user(java->bytes, JAVA_CODE_BYTES, (const void *)entry))
		return 0;
	prologue->at = 0;
	prologue->words = 0;
	prologue->has_fp = false;
	for (__u32 i = 0; i < JAVA_CODE_BYTES / JAVA_INSN_BYTES; i++)
		if (pc > entry && prologue->at < pc - entry)
			java_advance_prologue();
	if (prologue->has_fp && prologue->words == (__u32)java->frame_words)
		return 0;
	if (prologue->has_fp)
		return java_leave_words(java, walk->regs.reg[UNWIND_SP], prologue->words) &&
		       java_is_return(java->next_ip);
	__u64 words = prologue->words;
	if (!java_try_call(walk, java))
		return 0;
	java->next_sp += 8 * words;
	return 1;
}

/* 1: the leaf's frame is gone, or it is a method written in C that has none yet. */
static __always_inline bool java_leave_epilogue(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return false;
	return java_leave_frameless() ||
	       (java_walk(&scratch->walk.runtime)->kind == JAVA_NATIVE && java_leave_prologue());
}

/* Whether a method written in C has all of its frame. */
static __always_inline bool java_is_whole_native(
	const struct walk *walk, const struct java_walk *java)
{
	return walk->regs.reg[UNWIND_FP] ==
	       walk->regs.reg[UNWIND_SP] + 8ULL * java->frame_words - 16;
}

/* ---- stubs ---- */

static __always_inline bool java_is_in_blob(const struct java_walk *java, __u64 address)
{
	return address >= java->code && address < java->end;
}

/* Where a call by an immediate goes. */
static __always_inline __u64 java_target(__u64 at, __u32 insn)
{
	return at + ((__s64)((__u64)insn << 38) >> 36);
}

/*
 * Whether the call ahead of a return address went to the blob at hand, also by way of a piece of
 * code that jumps there: ldr x8, 8; br x8. By a register it may have gone anywhere.
 */
__noinline int java_calls_blob(__u64 address);
__noinline int java_calls_blob(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	__u64 jump[2];
	__u32 insn = 0;
	if (!scratch || address & 3 ||
		bpf_probe_read_user(&insn, sizeof(insn), (const void *)(address - JAVA_INSN_BYTES)))
		return 0;
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	if ((insn & JAVA_BR_MASK) == JAVA_BLR)
		return 1;
	if ((insn & JAVA_BL_MASK) != JAVA_BL)
		return 0;
	__u64 target = java_target(address - JAVA_INSN_BYTES, insn);
	if (java_is_in_blob(java, target))
		return 1;
	return !bpf_probe_read_user(jump, sizeof(jump), (const void *)target) &&
	       jump[0] == 0xd61f010058000048 && java_is_in_blob(java, jump[1]);
}

/*
 * Whether the leaf is in a function of the blob that another of its functions has called: x30 is
 * from then on the place behind that call, and stays so when it is over. Those that are called lie
 * ahead of the call, or behind all of it.
 */
static __always_inline bool java_is_called_inside(
	const struct java_walk *java, __u64 pc, __u64 return_address)
{
	__u32 insn = 0;
	__u64 call = return_address - JAVA_INSN_BYTES;
	if (bpf_probe_read_user(&insn, sizeof(insn), (const void *)call) ||
		(insn & JAVA_BL_MASK) != JAVA_BL)
		return false;
	__u64 target = java_target(call, insn);
	return java_is_in_blob(java, target) && target <= pc &&
	       !(target <= return_address && return_address <= pc);
}

/*
 * The caller of a stub. What has a frame has x30 in it, and the frame pointer points to it; without
 * one x30 is behind a call of the stub.
 */
__noinline int java_leave_stub(void);
__noinline int java_leave_stub(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	__u64 link = java_link(walk), pc = walk->regs.ip;
	if (java_leave_by_fp(walk, java) && without_signature(java->next_ip) == link)
		return 1;
	bool is_inside = link && java_is_in_blob(java, link);
	bool is_frameless =
		is_inside ? java_is_called_inside(java, pc, link) : link && java_calls_blob(link);
	if (is_frameless && java_try_call(walk, java))
		return 1;
	return java_leave_by_fp(walk, java) || java_try_call(walk, java);
}

/* Whether a stub goes on there with the frame of a virtual thread's carrier: ldr x8; mov sp, x8. */
static __always_inline bool java_is_carriers(const struct java_walk *java)
{
	return (java_insn(java, JAVA_CODE_BEHIND) & JAVA_POLL_MASK) == JAVA_LOAD_POLL &&
	       java_insn(java, JAVA_CODE_BEHIND + JAVA_INSN_BYTES) == JAVA_MOV_SP_X8;
}

/* ---- the interpreter ---- */

enum {
	JAVA_SCANNED = 64, /* instructions: from a method's entry to its frame there are 46 */
	JAVA_SAVE_FRAME_80 = 0xa9057bfd, /* stp x29, x30, [sp, #80]; add x29, sp, #80 */
	JAVA_SET_FRAME_80 = 0x910143fd,
	JAVA_SAVE_SENDER = 0xa90403ff, /* stp xzr, xN, [sp, #64] */
	JAVA_SAVE_SENDER_MASK = 0xffff83ff,
	JAVA_BEGIN_JAVA = 0xf9400583, /* ldr x3, [x12, #8]: the first of a method's entry; x2 of */
	JAVA_BEGIN_NATIVE = 0xf9400582, /* ... a native one's */
	JAVA_AND_SP = 0x927cec1f,       /* and sp, xN, #~15 */
	JAVA_TO_SP = 0x9100001f,        /* mov sp, xN */
	JAVA_TO_SP_MASK = 0xfffffc1f,
};

/* How far a method is entered or left: the kind, and the number of a register above it. */
enum java_entered {
	JAVA_ENTERED = 0, /* it has a frame */
	JAVA_NO_FRAME,    /* the register has its caller's stack pointer */
	JAVA_NO_SENDER,   /* a frame without the caller's stack pointer, which the register has */
	JAVA_LEFT,        /* the stack pointer is the caller's */
	JAVA_LEFT_BUT_SP, /* ... when it is taken from the register */
	JAVA_SETS_FRAME,  /* ... of one instruction: the frame is made by it, or that goes on */
	JAVA_GOES_ON,
	JAVA_ENTERED_SHIFT = 8,
};

/* Instruction `i` from the program counter on; -1 is the one ahead of it. The interpreter's blob is
 * not needed any more, so they are read over it. */
static __always_inline __u32 java_scanned(const struct java_walk *java, __s32 i)
{
	return ((const __u32 *)java->blob)[(i + 1) & (JAVA_BLOB_WORDS * 2 - 1)];
}

static __always_inline bool java_sets_sp(__u32 insn)
{
	return (insn & JAVA_TO_SP_MASK) == JAVA_AND_SP || (insn & JAVA_TO_SP_MASK) == JAVA_TO_SP;
}

/* What instruction `i` means for that; by itself, since the verifier then looks at it once. */
__noinline int java_scan_next(__s32 i);
__noinline int java_scan_next(__s32 i)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return JAVA_ENTERED;
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	__u32 insn = java_scanned(java, i), before = java_scanned(java, i - 1);
	if (insn == JAVA_SAVE_FRAME_80 || insn == JAVA_SET_FRAME_80)
		return JAVA_SETS_FRAME;
	if ((insn & JAVA_SAVE_SENDER_MASK) == JAVA_SAVE_SENDER)
		return JAVA_NO_SENDER | (insn >> 10 & 31) << JAVA_ENTERED_SHIFT;
	__u32 number = before >> 5 & 31;
	if (insn == JAVA_RET && java_sets_sp(before) && number != JAVA_STACK_REGISTER)
		return JAVA_NO_FRAME | number << JAVA_ENTERED_SHIFT; /* what it does without one */
	if (insn == JAVA_RET || (insn & JAVA_BR_MASK) == JAVA_BR ||
		(i && (insn == JAVA_BEGIN_JAVA || insn == JAVA_BEGIN_NATIVE)))
		return JAVA_ENTERED;
	return JAVA_GOES_ON;
}

/*
 * What the interpreter's code at hand does next, up to where the frame of a method that is entered
 * is made, or to where one returns. Registers alone do not tell: behind a call they are as the
 * method that was called left them.
 */
__noinline int java_scan_entry(void);
__noinline int java_scan_entry(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return JAVA_ENTERED;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	bool is_made = true;
	if (bpf_probe_read_user(java->blob, (JAVA_SCANNED + 2) * JAVA_INSN_BYTES,
		    (const void *)(walk->regs.ip - JAVA_INSN_BYTES)))
		return JAVA_ENTERED;
	if (java_scanned(java, 0) == JAVA_RET && java_sets_sp(java_scanned(java, -1)))
		return JAVA_LEFT;
	if (java_scanned(java, 1) == JAVA_RET && java_sets_sp(java_scanned(java, 0)))
		return JAVA_LEFT_BUT_SP | (java_scanned(java, 0) >> 5 & 31) << JAVA_ENTERED_SHIFT;
	for (__s32 i = 0; i < JAVA_SCANNED; i++) {
		int next = java_scan_next(i);
		if (next == JAVA_SETS_FRAME)
			is_made = false;
		else if (next != JAVA_GOES_ON)
			return (next & ((1 << JAVA_ENTERED_SHIFT) - 1)) == JAVA_NO_SENDER &&
					       !is_made
				       ? next - JAVA_NO_SENDER + JAVA_NO_FRAME
				       : next;
	}
	return JAVA_ENTERED;
}

/*
 * A method that is being entered: there is no frame yet, or half of one. The method and its
 * caller's stack pointer are in registers, the return address is in x30. 1: next_ip and what goes
 * with it are set.
 */
__noinline int java_leave_entry(void);
__noinline int java_leave_entry(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct java_walk *java = java_walk(&walk->runtime);
	int scanned = java_scan_entry();
	__u32 number = scanned >> JAVA_ENTERED_SHIFT & (UNWIND_REGISTERS - 1);
	enum java_entered entered = scanned & ((1 << JAVA_ENTERED_SHIFT) - 1);
	__u64 fp = walk->regs.reg[UNWIND_FP], sp = walk->regs.reg[UNWIND_SP];
	bool is_known = walk->regs.known >> number & 1;
	__u64 value = walk->regs.reg[number] & ~15ULL;
	if (entered == JAVA_ENTERED)
		return 0;
	if (entered == JAVA_NO_SENDER) {
		java->next_sp = value > fp ? value : fp + 16;
		return is_known && fp >= sp &&
		       java_take_method(walk->regs.reg[JAVA_METHOD_REGISTER]) &&
		       java_read_to(java, fp, &java->next_fp) &&
		       java_try_return(java, fp + 8, &java->next_ip);
	}
	if (!java_try_call(walk, java))
		return 0;
	java->method = 0; /* one that is left is gone from the stack */
	if (entered == JAVA_LEFT)
		return 1;
	if (entered == JAVA_NO_FRAME && !java_take_method(walk->regs.reg[JAVA_METHOD_REGISTER]))
		return 0;
	if (is_known && value >= sp && value - sp < JAVA_MAX_DISTANCE)
		java->next_sp = value;
	return 1;
}

/* A method that is being left: java_leave_entry() has seen that. */
static __always_inline bool java_leave_exit(void)
{
	return false;
}

#endif
