/*
 * Code of BEAM on arm64. A process's stack has a register of its own, so that the stack pointer is
 * the scheduler's all the time. Functions push their return address at once, and pop it ahead of
 * the return; but shared code that is called keeps it in x30, or in a frame on the scheduler's
 * stack while it calls C. erlang_x86_64.bpf.h has the same.
 *
 * Sources: erts/emulator/beam/jit/arm/{beam_asm.hpp,process_main.cpp,instr_common.cpp} of OTP 25 to
 * 27, and what these come to by +JDdump in Debian's builds of OTP 25.2.3 and 27.3.4; "Arm
 * Architecture Reference Manual for A-profile", C4.1.
 */
#ifndef EBPROF_ERLANG_ARM64_BPF_H
#define EBPROF_ERLANG_ARM64_BPF_H

#include "bpf/runtime/erlang/erlang_code.bpf.h"

enum {
	ERLANG_X19 = 19, /* the registers of processes */
	ERLANG_STACK_REGISTER = 20,
	ERLANG_PROCESS_REGISTER = 21,
	ERLANG_HAS_LINK = 1,
	ERLANG_HAS_ANY_LOW_BITS = 0,
	ERLANG_RECORD_BYTES = 16, /* a frame of shared code: x29, x30 */
	ERLANG_MAX_RECORDS = 3,
	ERLANG_SWITCH_INSNS = 4,    /* from a call to where the stack is loaded */
	ERLANG_EPILOGUE_BYTES = 32, /* from the pop to the return, or the jump */
	ERLANG_ROOM_BYTES = 32,     /* of code, that are searched at once */
};

enum {
	ERLANG_BRANCH = 0x5, /* the six upper bits: b, bl */
	ERLANG_CALL = 0x25,
	ERLANG_BY_REGISTER = 0x6b, /* the seven upper bits: br, blr, ret */
};

/* An instruction of the code that was read. */
static __always_inline __u32 erlang_insn_at(const struct erlang_walk *erlang, __u32 at)
{
	__u64 i = at / 4;
	asm volatile("" : "+r"(i));
	return ((const __u32 *)erlang->block)[i & (ERLANG_CODE_BYTES / 4 - 1)];
}

/* ---- switches of stacks ---- */

/* What the code behind an address says first of all of where the process's stack is. */
__noinline int erlang_switch_at(__u64 address);
__noinline int erlang_switch_at(__u64 address)
{
	const __u32 load_pair = 0xa94552a0, load = 0xf9402eb4, set_process = 0xaa0003f5;
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return ERLANG_SWITCH_UNKNOWN;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(erlang->block, ERLANG_SWITCH_INSNS * 4, (const void *)address))
		return ERLANG_SWITCH_UNKNOWN;
	for (__u32 i = 0; i < ERLANG_SWITCH_INSNS; i++) {
		__u32 insn = erlang_insn_at(erlang, i * 4);
		/* ldp xN, x20, [x21, ERLANG_STOP - 8]; ldr x20, [x21, ERLANG_STOP] */
		if ((insn & ~0x1fU) == load_pair || insn == load)
			return ERLANG_SWITCH_PROCESS;
		if (insn == set_process) /* mov x21, x0 */
			return ERLANG_SWITCH_SCHEDULER;
		if (insn >> 26 == ERLANG_CALL || insn >> 25 == ERLANG_BY_REGISTER)
			break;
	}
	return ERLANG_SWITCH_REGISTER;
}

/*
 * Finds erlang->base, by the frames that shared code has ahead of it: what the outermost of these
 * returns to is erlang->link. A global function: it is verified once.
 */
__noinline int erlang_find_base(__u64 sp);
__noinline int erlang_find_base(__u64 sp)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	erlang->base = sp;
	erlang->link = 0;
	for (int i = 0; i < ERLANG_MAX_RECORDS; i++) {
		if (read_stack(walk, erlang->base, &erlang->pair[0]) ||
			read_stack(walk, erlang->base + 8, &erlang->pair[1]) ||
			erlang->pair[0] != erlang->base + ERLANG_RECORD_BYTES ||
			!erlang_may_be_code(walk, erlang->pair[1]))
			break;
		erlang->link = erlang->pair[1];
		erlang->base += ERLANG_RECORD_BYTES;
	}
	return 1;
}

/* Whether the stack pointer is the process's: never. erlang->base is found. */
static __always_inline bool erlang_is_at_stack(struct walk *walk, struct erlang_walk *erlang)
{
	erlang_find_base(walk->regs.reg[UNWIND_SP]);
	if (walk->is_exact)
		erlang->base =
			walk->regs.reg[ERLANG_X19] - erlang_row(&walk->runtime)->registers_at;
	return false;
}

/*
 * Whether the return address `word`, at `at`, is that of the function that made room for the
 * scheduler's data. It has saved the frame pointer ahead of it, which leads to the record of its
 * caller's frame. Where the caller goes on is mostly known. Else its record must be right behind:
 * what the caller has there itself, the address that it returns to, looks like one, too; but how
 * far its frame goes on is not known.
 */
static __always_inline bool erlang_is_own_return(struct walk *walk, __u64 word, __u64 at)
{
	const struct erlang_row *row = erlang_row(&walk->runtime);
	__u64 fp = 0;
	if (!read_word(at - 8, &fp))
		return false;
	bool is_known =
		row->scheduler_return && word == row->scheduler_return - walk->runtime.delta;
	if (!is_known && fp != at + 8)
		return false;
	walk->regs.reg[UNWIND_FP] = fp;
	walk->regs.known |= 1ULL << UNWIND_FP;
	return true;
}

/* ---- the leaf ---- */

/* Whether the return address of the function that was interrupted is not on the stack: not yet, or
 * it was popped by ldr x30, [x20], N. */
static __always_inline bool erlang_is_popped(struct erlang_walk *erlang, __u64 ip, __u64 info)
{
	const __u32 pop = 0xf840069e, push = 0xf81f8e9e;
	if (ip <= info + ERLANG_INFO_BYTES)
		return true;
	if (bpf_probe_read_user(erlang->block, ERLANG_EPILOGUE_BYTES,
		    (const void *)(ip - ERLANG_EPILOGUE_BYTES)))
		return false;
	for (int at = ERLANG_EPILOGUE_BYTES - 4; at >= 0; at -= 4) {
		__u32 insn = erlang_insn_at(erlang, at);
		if ((insn & 0xffe00fff) == pop)
			return true;
		if (insn == push || insn >> 26 == ERLANG_BRANCH || insn >> 26 == ERLANG_CALL ||
			insn >> 25 == ERLANG_BY_REGISTER)
			return false;
	}
	return false;
}

/*
 * Takes the code that the code at hand returns to, erlang->link, where that is not on the stack of
 * the process: of the function that `info` is of, or, 0, of shared code. Returns what it is,
 * ERLANG_FUNCTION or ERLANG_EXIT; ERLANG_NO_CODE: there is no such thing. Shared code that was
 * jumped to has none of its own: what x30 has then is on top of the stack, too. The caller pushes
 * it, since calls may be nested 8 deep and no more.
 */
__noinline int erlang_take_linked(__u64 info);
__noinline int erlang_take_linked(__u64 info)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return ERLANG_NO_CODE;
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	__u64 top = 0;
	if (info && (!walk->is_exact || !erlang_is_popped(erlang, walk->regs.ip, info)))
		return ERLANG_NO_CODE;
	if (info || (walk->is_exact && !erlang->link))
		erlang->link = walk->regs.reg[UNWIND_RA];
	if (!info && !read_stack(walk, erlang->stack, &top) && top == erlang->link)
		return ERLANG_NO_CODE;
	if (!erlang_may_be_code(walk, erlang->link))
		return ERLANG_NO_CODE;
	int kind = erlang_take_code(erlang->link - 1);
	return kind == ERLANG_FUNCTION || kind == ERLANG_EXIT ? kind : ERLANG_NO_CODE;
}

/* How many words an instruction makes room for; 0: it does no such thing. */
static __always_inline int erlang_room_by(__u32 insn)
{
	const __u32 sub = 0xd1000294, store = 0xf8000e80, store_pair = 0xa9800280;
	if ((insn & 0xffc003ff) == sub) /* sub x20, x20, N */
		return (insn >> 10 & 0xfff) / 8;
	if ((insn & 0xffe00fe0) == store && (insn & 0x1f) != UNWIND_RA) /* str xN, [x20, -8]! */
		return (0x200 - (insn >> 12 & 0x1ff)) / 8;
	return (insn & 0xffc003e0) == store_pair ? 0x80 - (insn >> 15 & 0x7f) : 0;
}

/* The same of the last one that does, of up to ERLANG_ROOM_BYTES ahead of this place. */
__noinline int erlang_room_ahead(__u32 at);
__noinline int erlang_room_ahead(__u32 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	const struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	int words = 0;
	for (__u32 i = 4; i <= ERLANG_ROOM_BYTES && i <= at && !words; i += 4)
		words = erlang_room_by(erlang_insn_at(erlang, at - i));
	return words;
}

/* What the call ahead of a return address goes to; 0: it does not say. */
static __always_inline __u64 erlang_call_target(struct erlang_walk *erlang, __u64 return_address)
{
	__u64 at = return_address - 4;
	if (bpf_probe_read_user(erlang->mfa, 4, (const void *)at))
		return 0;
	__u32 insn = erlang->mfa[0];
	__s32 distance = (__s32)(insn << 6) >> 4;
	return insn >> 26 == ERLANG_CALL ? at + distance : 0;
}

/* Jumps to shared code stand where a function needs them, not behind the last one. */
static __always_inline bool erlang_is_jump(const struct erlang_walk *erlang, __u64 address)
{
	(void)erlang, (void)address;
	return false;
}

#endif
