/*
 * Where LuaJIT's code on arm64 keeps what it works at. luajit_x86_64.bpf.h has the same.
 *
 * Sources: vm_arm64.dasc, lj_asm.c, lj_asm_arm64.h of LuaJIT 2.1.0-beta3 as Debian 12 has it, and
 * of OpenResty 2025-01-17.
 */
#ifndef EBPROF_LUAJIT_ARM64_BPF_H
#define EBPROF_LUAJIT_ARM64_BPF_H

#include "bpf/runtime/luajit/luajit_name.bpf.h"
#include "bpf/scratch.bpf.h"

enum {
	/* Words of the interpreter's native frame. */
	JIT_CFRAME_PREVIOUS = 0,
	JIT_CFRAME_PLACE = 1,
	JIT_CFRAME_STATE = 2,
	JIT_CFRAME_RETURN = 25,

	JIT_PLACE_REGISTER = 21,
	JIT_BASE_REGISTER = 19,
	JIT_CODE_UNIT = 4, /* bytes; of the places in code that snapshots have */
};

/* Whether the interpreter is the leaf, of which all registers are known. */
static __always_inline bool is_jit_leaf(const struct scratch *scratch)
{
	return scratch->walk.is_exact && !scratch->user.head.nr_frames;
}

/* The instruction that the interpreter runs: of the leaf alone a register has it; 0: else. */
static __always_inline __u64 jit_place_in_register(const struct scratch *scratch)
{
	return is_jit_leaf(scratch) ? scratch->leaf.reg[JIT_PLACE_REGISTER] : 0;
}

/* Where in a trace a helper of the interpreter's was called, as for a remainder; 0: in none. */
static __always_inline __u64 jit_place_in_caller(
	const struct scratch *scratch, const struct luajit_walk *jit)
{
	__u64 base = 0;
	if (!is_jit_leaf(scratch) || !read_word(jit->global + JIT_GLOBAL_BASE, &base) || !base)
		return 0;
	return without_signature(scratch->leaf.reg[UNWIND_RA]) - 1;
}

/* Those of the interpreter, whose native frame begins there: it is left by the frame pointer. */
static __always_inline void set_jit_registers(struct unwind_registers *regs, __u64 cframe)
{
	regs->reg[UNWIND_SP] = cframe;
	regs->reg[UNWIND_FP] = cframe + (JIT_CFRAME_RETURN - 1) * 8;
	regs->known = 1ULL << UNWIND_SP | 1ULL << UNWIND_FP;
}

/*
 * Of some code of a trace, with the exits behind it: str x30, [sp]; bl to what leaves the trace;
 * mov w0, number. 0: the number is not in these words; negative: they cannot be read. A global
 * function: it is verified once.
 */
__noinline int luajit_find_exits(__u64 at);
__noinline int luajit_find_exits(__u64 at)
{
	enum {
		STORE_LINK = 0xf90003fe,
		CALL = 0x94000000,
		CALL_MASK = 0xfc000000,
		SET_NUMBER = 0x52800000,
		SET_NUMBER_MASK = 0xffe0001f,
		PAGE_BYTES = 4096, /* at least */
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch)
		return -1;
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	__u64 bytes = sizeof(jit->entry), in_page = PAGE_BYTES - (at & (PAGE_BYTES - 1));
	/* The compiler's memory may end behind the exits. */
	if (bpf_probe_read_user(jit->entry, bytes, (const void *)at)) {
		bytes = in_page;
		asm volatile("" : "+r"(bytes));
		if (bytes > sizeof(jit->entry) ||
			bpf_probe_read_user(jit->entry, bytes, (const void *)at))
			return -1;
	}
	for (int i = 0; i + 2 < JIT_MAX_ENTRIES && (__u64)i * 4 + 8 < bytes; i++)
		if (jit->entry[i] == (__u32)STORE_LINK &&
			(jit->entry[i + 1] & CALL_MASK) == (__u32)CALL &&
			(jit->entry[i + 2] & SET_NUMBER_MASK) == SET_NUMBER)
			return jit->entry[i + 2] >> 5 & 0xffff;
	return 0;
}

/* The number of the trace at a place: the interpreter does not note which one runs. 0: it is not
 * found. */
static __always_inline __u32 jit_trace_number(struct luajit_walk *jit, __u64 place)
{
	enum {
		MAX_STEPS = 32,
		STEP = (JIT_MAX_ENTRIES - 2) * 4,
	};
	(void)jit;
	place &= ~3ULL;
	for (int i = 0; i < MAX_STEPS; i++) {
		int number = luajit_find_exits(place + i * STEP);
		if (number)
			return number > 0 ? number : 0;
	}
	return 0;
}

#endif
