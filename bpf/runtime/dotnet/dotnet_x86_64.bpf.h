/*
 * Prologues and stubs of .NET's code on x86-64. dotnet_arm64.bpf.h has the same.
 */
#ifndef EBPROF_DOTNET_X86_64_BPF_H
#define EBPROF_DOTNET_X86_64_BPF_H

#include "bpf/runtime/dotnet/dotnet_code.bpf.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)

enum {
	DOTNET_MAX_PUSHED = 2, /* words that a stub has pushed above its return address */
};

/* ---- where that is said in memory that is not there ---- */

/* The next push of a prologue, if a frame `offset` bytes into the function has done it. 0: it is
 * none. A register's place is counted from the return address down until all of them are known. */
__noinline int dotnet_take_push(__u32 offset);
__noinline int dotnet_take_push(__u32 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u32 code = dotnet_u32(dotnet, dotnet->at), is_high = (code & 0xff) == 0x41;
	__u32 op = (is_high ? code >> 8 : code) & 0xff, next = dotnet->at + 1 + is_high;
	if ((op & 0xf8) != 0x50 || next > offset)
		return 0;
	if (op == 0x55 && !is_high)
		dotnet->state.rbp = dotnet->state.size;
	if (op == 0x53 && !is_high)
		dotnet->state.rbx = dotnet->state.size;
	dotnet->state.size += 8;
	dotnet->at = next;
	return 1;
}

/* sub rsp, then lea rbp, of rsp, or mov */
static __always_inline void dotnet_take_frame_begin(struct dotnet_walk *dotnet, __u32 offset)
{
	__u32 at = dotnet->at, code = dotnet_u32(dotnet, at);
	bool is_short = (code & 0xffffff) == 0xec8348, is_long = (code & 0xffffff) == 0xec8148;
	__u32 size = is_short ? code >> 24 : is_long ? dotnet_u32(dotnet, at + 3) : 0;
	at += is_short ? 4 : is_long ? 7 : 0;
	if (at > offset)
		return;
	dotnet->state.size += size;
	code = dotnet_u32(dotnet, at);
	bool is_near = code == 0x246c8d48, is_far = code == 0x24ac8d48;
	bool is_move = (code & 0xffffff) == 0xec8b48;
	__u32 above = is_far ? dotnet_u32(dotnet, at + 4) : dotnet_u32(dotnet, at + 4) & 0xff;
	at += is_near ? 5 : is_far ? 8 : 3;
	dotnet->state.is_by_fp = (is_near || is_far || is_move) && at <= offset;
	dotnet->above = is_move ? 0 : above;
}

/*
 * The rule by the instructions of the prologue: the process has run these, but the page with what
 * it says of them may not be there yet, see dotnet_number_code(). It is believed where it leads
 * behind a call. 0: it does not.
 */
__noinline int dotnet_take_prologue(__u32 offset);
__noinline int dotnet_take_prologue(__u32 offset)
{
	enum {
		MAX_PUSHES = 8,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	struct unwind_info_state *state = &dotnet->state;
	__u64 begin = dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.begin, ra = 0;
	if (bpf_probe_read_user(dotnet->bytes, DOTNET_CODE_BYTES, (const void *)begin))
		return 0;
	dotnet_begin_state(dotnet);
	dotnet->at = 0;
	for (int i = 0; i < MAX_PUSHES; i++)
		if (!dotnet_take_push(offset))
			break;
	dotnet_take_frame_begin(dotnet, offset);
	if (state->is_by_fp)
		state->size -= dotnet->above;
	if (state->rbp != UNWIND_INFO_NOT_PUSHED)
		state->rbp = state->size - 8 - state->rbp;
	if (state->rbx != UNWIND_INFO_NOT_PUSHED)
		state->rbx = state->size - 8 - state->rbx;
	unwind_info_put_rule(state, &dotnet->known.rule);
	__u64 base = walk->regs.reg[state->is_by_fp ? UNWIND_FP : UNWIND_SP];
	return !read_stack(walk, base + (__s64)state->size, &ra) &&
	       !bpf_probe_read_user(
		       dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) &&
	       unwind_is_call(dotnet->bytes);
}

/* ---- stubs ---- */

/* Returns to what stands that far above the top of the stack, if it is behind a call. */
__noinline int dotnet_try_return(__u32 above);
__noinline int dotnet_try_return(__u32 above)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	__u64 ra = 0;
	if (read_stack(walk, walk->regs.reg[UNWIND_SP] + above, &ra) ||
		bpf_probe_read_user(
			dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) ||
		!unwind_is_call(dotnet->bytes))
		return 0;
	walk->regs.ip = ra;
	walk->regs.reg[UNWIND_SP] += above + 8;
	return 1;
}

#endif

#endif
