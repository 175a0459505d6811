/*
 * Prologues and stubs of .NET's code on arm64. dotnet_x86_64.bpf.h has the same.
 *
 * Source: "Arm Architecture Reference Manual for A-profile", C4.1.
 */
#ifndef EBPROF_DOTNET_ARM64_BPF_H
#define EBPROF_DOTNET_ARM64_BPF_H

#include "bpf/runtime/dotnet/dotnet_code.bpf.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)

enum {
	DOTNET_MAX_PUSHED = 0, /* stubs push nothing */
};

/* ---- where that is said in memory that is not there ---- */

/* By how many bytes a store moves the stack pointer down, ahead of it; 0: not at all. */
static __always_inline int dotnet_pushed_bytes(__u32 insn)
{
	const __u32 pair = 0xa98003e0, pair_of_floats = 0x6d8003e0, one = 0xf8000fe0,
		    one_of_floats = 0xfc000fe0;
	if ((insn & 0xffc003e0) == pair || (insn & 0xffc003e0) == pair_of_floats)
		return -(((__s32)(insn << 10) >> 25) * 8);
	if ((insn & 0xffe00fe0) == one || (insn & 0xffe00fe0) == one_of_floats)
		return -((__s32)(insn << 11) >> 23);
	return 0;
}

/*
 * The next instruction of a prologue; the state has what is between the CFA and the stack pointer,
 * and how far below the CFA the frame pointer and the return address are. 0: there are no more, or
 * it is not understood.
 */
__noinline int dotnet_take_insn(__u32 i);
__noinline int dotnet_take_insn(__u32 i)
{
	const __u32 sub = 0xd10003ff, add_fp = 0x910003fd, store_frame = 0xa9007bfd,
		    push_frame = 0xa9807bfd, store_pair = 0xa90003e0, store = 0xf90003e0,
		    store_floats = 0x6d0003e0, store_float = 0xfd0003e0;
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	struct unwind_xdata_state *state = &dotnet->state;
	__u32 insn = dotnet->map[i & (DOTNET_SEARCHED - 1)], immediate = insn >> 10 & 0xfff;
	int pushed = dotnet_pushed_bytes(insn);
	if ((insn & 0xff8003ff) == sub) {
		state->size += immediate << (insn >> 22 & 1 ? 12 : 0);
		return 1;
	}
	if ((insn & 0xffc003ff) == add_fp) {
		state->is_by_fp = true;
		state->size -= immediate;
		return 0;
	}
	state->size += pushed;
	if ((insn & 0xffc07fff) == push_frame)
		state->fp = state->size;
	if ((insn & 0xffc07fff) == store_frame)
		state->fp = state->size - ((__s32)(insn << 10) >> 25) * 8;
	return pushed || (insn & 0xffc003e0) == store_pair || (insn & 0xffc003e0) == store ||
	       (insn & 0xffc003e0) == store_floats || (insn & 0xffc003e0) == store_float;
}

/*
 * The rule by the instructions of the prologue: the process has run these, but the page with what
 * it says of them may not be there yet, see dotnet_number_code(). It is believed where it leads
 * behind a call. 0: it does not.
 */
__noinline int dotnet_take_prologue(__u32 offset);
__noinline int dotnet_take_prologue(__u32 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	struct unwind_xdata_state *state = &dotnet->state;
	__u64 begin = dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.begin, ra = 0;
	if (bpf_probe_read_user(dotnet->map, sizeof(dotnet->map), (const void *)begin))
		return 0;
	dotnet_begin_state(dotnet);
	for (__u32 i = 0; i < DOTNET_SEARCHED; i++)
		if (4 * i >= offset || !dotnet_take_insn(i))
			break;
	bool is_saved = state->fp != UNWIND_XDATA_NOT_SAVED;
	if (is_saved) {
		state->fp = state->size - state->fp;
		state->ra = state->fp + 8;
	}
	if (!unwind_xdata_put_rule(state, &dotnet->known.rule))
		return 0;
	__u64 base = walk->regs.reg[state->is_by_fp ? UNWIND_FP : UNWIND_SP];
	if (is_saved ? read_stack(walk, base + (__s64)state->ra, &ra)
		     : unwind_link(&walk->regs, read_stack, walk, &ra))
		return 0;
	ra = without_signature(ra);
	return !bpf_probe_read_user(
		       dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) &&
	       unwind_is_call(dotnet->bytes);
}

/* ---- stubs ---- */

/* Returns to where the last call was made, if that is behind one. */
__noinline int dotnet_try_return(__u32 above);
__noinline int dotnet_try_return(__u32 above)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch || above)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	__u64 ra = 0;
	if (unwind_link(&walk->regs, read_stack, walk, &ra))
		return 0;
	ra = without_signature(ra);
	if (bpf_probe_read_user(
		    dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) ||
		!unwind_is_call(dotnet->bytes))
		return 0;
	unwind_undo_call(&walk->regs, ra);
	return 1;
}

#endif

#endif
