/*
 * Where LuaJIT's code on x86-64 keeps what it works at. luajit_arm64.bpf.h has the same.
 *
 * Source: vm_x64.dasc of the versions that luajit.bpf.h names.
 */
#ifndef EBPROF_LUAJIT_X86_64_BPF_H
#define EBPROF_LUAJIT_X86_64_BPF_H

#include "bpf/runtime/luajit/luajit_name.bpf.h"
#include "bpf/scratch.bpf.h"

enum {
	/* Words of the interpreter's native frame. */
	JIT_CFRAME_STATE = 2,
	JIT_CFRAME_PLACE = 3,
	JIT_CFRAME_PREVIOUS = 4,
	JIT_CFRAME_RETURN = 9,

	JIT_BASE_REGISTER = 1, /* rdx, by DWARF's number */
	JIT_CODE_UNIT = 1,     /* bytes; of the places in code that snapshots have */
};

/* The instruction that the interpreter runs, in rbx, which calls preserve; 0: it is not known. */
static __always_inline __u64 jit_place_in_register(const struct scratch *scratch)
{
	const struct unwind_registers *regs = &scratch->walk.regs;
	return regs->known >> UNWIND_EXTRA & 1 ? regs->reg[UNWIND_EXTRA] : 0;
}

/* Where in a trace a helper of the interpreter's was called; 0: in none. Traces of x86-64 have
 * instructions for what those of arm64 call some for. */
static __always_inline __u64 jit_place_in_caller(
	const struct scratch *scratch, const struct luajit_walk *jit)
{
	(void)scratch, (void)jit;
	return 0;
}

/* Those of the interpreter, whose native frame begins there. */
static __always_inline void set_jit_registers(struct unwind_registers *regs, __u64 cframe)
{
	regs->reg[UNWIND_SP] = cframe;
	regs->known = 1ULL << UNWIND_SP;
}

/* The number of the trace that runs; 0: that of none can be read. */
static __always_inline __u32 jit_trace_number(struct luajit_walk *jit, __u64 place)
{
	enum {
		GLOBAL_TRACE = 184, /* global_State: vmstate */
	};
	__u32 number = 0;
	(void)place;
	bpf_probe_read_user(&number, sizeof(number), (const void *)(jit->global + GLOBAL_TRACE));
	return number >> 16 ? 0 : number;
}

#endif
