/*
 * Code of BEAM on x86-64. The stack pointer is that of the process there, and code switches to the
 * scheduler's stack ahead of a call of C. erlang_arm64.bpf.h has the same.
 *
 * Sources: erts/emulator/beam/jit/x86/{beam_asm.hpp,process_main.cpp,instr_common.cpp} of OTP 25 to
 * 27; Intel SDM, volume 2.
 */
#ifndef EBPROF_ERLANG_X86_64_BPF_H
#define EBPROF_ERLANG_X86_64_BPF_H

#include "bpf/runtime/erlang/erlang_code.bpf.h"

enum {
	/* DWARF's numbers: the registers of processes, the process, its stack during a call. */
	ERLANG_RBX = 3,
	ERLANG_PROCESS_REGISTER = 13,
	ERLANG_STACK_REGISTER = UNWIND_FP,
	ERLANG_HAS_LINK = 0, /* all return addresses of Erlang are on the stack */
	/* Shared code is called from anywhere, so that what it returns to may have any low bits. */
	ERLANG_HAS_ANY_LOW_BITS = 1,
	ERLANG_MAX_DATA = 4096,   /* that a scheduler keeps below the registers */
	ERLANG_SWITCH_BYTES = 96, /* from a call to the way back to the process's stack */
	ERLANG_ROOM_BYTES = 32,   /* of code, that are searched at once */
};

/* ---- switches of stacks ---- */

/* Three bytes of the code that was read, which may stand anywhere. */
static __always_inline __u32 erlang_code_at(const struct erlang_walk *erlang, __u32 at)
{
	const __u8 *code = (const __u8 *)erlang->block;
	__u64 i = at;
	asm volatile("" : "+r"(i));
	i &= ERLANG_CODE_BYTES - 1;
	return code[i] | code[i + 1] << 8 | code[i + 2] << 16;
}

/* What an instruction there says. */
__noinline int erlang_switch_by(__u32 at);
__noinline int erlang_switch_by(__u32 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return ERLANG_SWITCH_UNKNOWN;
	const struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u32 code = erlang_code_at(erlang, at);
	if (code == 0xec8948 || code == 0xe58b48)
		return ERLANG_SWITCH_REGISTER;
	if (code == 0x658b49 && (erlang_code_at(erlang, at + 3) & 0xff) == ERLANG_STOP)
		return ERLANG_SWITCH_PROCESS;
	return code == 0xc58949 ? ERLANG_SWITCH_SCHEDULER : ERLANG_SWITCH_UNKNOWN;
}

/* What the code behind an address says first of all of where the process's stack is. */
__noinline int erlang_switch_at(__u64 address);
__noinline int erlang_switch_at(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return ERLANG_SWITCH_UNKNOWN;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	int way = ERLANG_SWITCH_UNKNOWN;
	if (bpf_probe_read_user(erlang->block, ERLANG_SWITCH_BYTES + 8, (const void *)address))
		return ERLANG_SWITCH_UNKNOWN;
	for (__u32 i = 0; i < ERLANG_SWITCH_BYTES && !way; i++)
		way = erlang_switch_by(i);
	return way;
}

/* Whether the stack pointer is the process's. erlang->base is found in any case. */
static __always_inline bool erlang_is_at_stack(struct walk *walk, struct erlang_walk *erlang)
{
	const struct unwind_registers *regs = &walk->regs;
	__u64 sp = regs->reg[UNWIND_SP], rbx = regs->reg[ERLANG_RBX];
	bool has_rbx = walk->is_exact && regs->known >> ERLANG_RBX & 1;
	erlang->stack = sp;
	erlang->base = has_rbx ? rbx - erlang_row(&walk->runtime)->registers_at : sp;
	return has_rbx && rbx - sp > ERLANG_MAX_DATA;
}

/* Whether the return address `word`, there, is that of the function that made room for the
 * scheduler's data: nothing says so. */
static __always_inline bool erlang_is_own_return(struct walk *walk, __u64 word, __u64 at)
{
	(void)walk, (void)word, (void)at;
	return true;
}

/* ---- the leaf ---- */

/* There are no return addresses but those on the stack. */
static __always_inline int erlang_take_linked(__u64 info)
{
	(void)info;
	return ERLANG_NO_CODE;
}

/* How many words an instruction of the code that was read makes room for; 0: it does no such thing.
 */
__noinline int erlang_room_by(__u32 at);
__noinline int erlang_room_by(__u32 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	const struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u32 code = erlang_code_at(erlang, at), bytes = erlang_code_at(erlang, at + 3);
	if (code == 0xec8348) /* sub rsp, imm8 */
		return (bytes & 0xff) / 8;
	return code == 0xec8148 ? bytes / 8 : 0; /* ..., imm32 */
}

/* The same of the last one that does, of up to ERLANG_ROOM_BYTES bytes ahead of this place. */
__noinline int erlang_room_ahead(__u32 at);
__noinline int erlang_room_ahead(__u32 at)
{
	int words = 0;
	for (__u32 i = 1; i <= ERLANG_ROOM_BYTES && i <= at && !words; i++)
		words = erlang_room_by(at - i);
	return words;
}

/* What the call ahead of a return address goes to; 0: it does not say. */
static __always_inline __u64 erlang_call_target(struct erlang_walk *erlang, __u64 return_address)
{
	enum {
		CALL_BYTES = 5,
		CALL = 0xe8,
	};
	erlang->mfa[0] = 0;
	if (bpf_probe_read_user(
		    erlang->mfa, CALL_BYTES, (const void *)(return_address - CALL_BYTES)) ||
		(erlang->mfa[0] & 0xff) != CALL)
		return 0;
	__s32 distance = erlang->mfa[0] >> 8;
	return return_address + distance;
}

/*
 * Whether a thread was interrupted behind the last function of a module, where jumps to shared code
 * stand one behind the other: those are of no function.
 */
static __always_inline bool erlang_is_jump(struct erlang_walk *erlang, __u64 address)
{
	enum {
		JUMP_BYTES = 6, /* of which the first is a prefix that says nothing */
		JUMP = 0xe940,
	};
	__u16 *code = (__u16 *)erlang->block;
	return !bpf_probe_read_user(
		       code, 2 * JUMP_BYTES + 2, (const void *)(address - JUMP_BYTES)) &&
	       code[JUMP_BYTES / 2] == JUMP && (code[0] == JUMP || code[JUMP_BYTES] == JUMP);
}

#endif
