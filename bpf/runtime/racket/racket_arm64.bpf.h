/*
 * Code of Chez Scheme on arm64. A call stores its return address on Scheme's stack, which x20 leads
 * to. Code of the runtime itself is called with its return address in x30, which it pushes on C's
 * stack where it calls on; what calls says in its instructions what it calls. x29 is none of
 * Scheme's registers: it is that of S_call_help() yet, which is its stack pointer.
 * racket_x86_64.bpf.h has the same.
 *
 * Sources: racket/src/ChezScheme/s/arm64.ss, s/cpnanopass.ss of Racket 8.7; "Arm Architecture
 * Reference Manual for A-profile", C4.1.
 */
#ifndef EBPROF_RACKET_ARM64_BPF_H
#define EBPROF_RACKET_ARM64_BPF_H

#include "bpf/runtime/racket/racket_code.bpf.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

enum {
	RACKET_STACK_REGISTER = 20,

	RACKET_CONTEXT_TOP = 16 * 8,  /* in a thread's context: sfp, of code that called C, */
	RACKET_CONTEXT_BASE = 49 * 8, /* ... scheme_stack, its size, and stack_link */

	RACKET_RET = 0xd65f03c0,
};

/* An instruction of the code that was read. */
static __always_inline __u32 racket_insn_at(const struct racket_walk *racket, __u32 i)
{
	return ((const __u32 *)racket->around)[i & (RACKET_AROUND_BYTES / 4 - 1)];
}

/* ---- the leaf ---- */

/* b; br, blr and ret. */
static __always_inline bool racket_leads_on(__u32 insn)
{
	return insn >> 26 == 0x5 || insn >> 25 == 0x6b;
}

/* Whether adr xN, D and str xN, [x20] stand there, also as stur. */
static __always_inline bool racket_stores(const struct racket_walk *racket, __u32 i)
{
	const __u32 adr = 0x10000000, store = 0xf9000280, store_unscaled = 0xf8000280;
	__u32 first = racket_insn_at(racket, i), second = racket_insn_at(racket, i + 1);
	__u32 stores = second & ~0x1fU;
	return (stores == store || stores == store_unscaled) && (first & 0x9f000000) == adr &&
	       !((first ^ second) & 0x1f);
}

enum racket_insn {
	RACKET_INSN_IS_PLAIN,
	RACKET_INSN_STORES, /* with the one behind it: see racket_stores() */
	RACKET_INSN_MOVES,  /* add x20, x20, N: a call begins */
	RACKET_INSN_LEADS_ON,
};

/* What an instruction is. By itself, since it is a loop's. */
__noinline int racket_judge_insn(__u32 i);
__noinline int racket_judge_insn(__u32 i)
{
	const __u32 add = 0x91000294;
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return RACKET_INSN_LEADS_ON;
	const struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u32 insn = racket_insn_at(racket, i);
	if (racket_stores(racket, i))
		return RACKET_INSN_STORES;
	if (racket_leads_on(insn))
		return RACKET_INSN_LEADS_ON;
	return (insn & 0xffc003ff) == add ? RACKET_INSN_MOVES : RACKET_INSN_IS_PLAIN;
}

/*
 * Where the adr of a call stands that has moved x20, counted as RACKET_AROUND_BEFORE is. 0: there
 * is none. The instructions are at hand.
 */
__noinline int racket_find_call(void);
__noinline int racket_find_call(void)
{
	enum {
		FIRST = RACKET_AROUND_BEFORE / 4,
		LAST = RACKET_AROUND_BYTES / 4 - 1,
	};
	int insn = RACKET_INSN_IS_PLAIN;
	for (__u32 i = FIRST - 1; i > 0 && insn != RACKET_INSN_LEADS_ON; i--) {
		insn = racket_judge_insn(i);
		if (insn == RACKET_INSN_STORES)
			return i * 4;
	}
	insn = RACKET_INSN_IS_PLAIN;
	for (__u32 i = FIRST; i < LAST && insn == RACKET_INSN_IS_PLAIN; i++) {
		insn = racket_judge_insn(i);
		if (insn == RACKET_INSN_STORES)
			return i * 4;
	}
	return 0;
}

/*
 * The bytes that `sub x20, x20, N` takes off, ahead of which the result may be moved, and may be
 * made one of several; 0: it does not stand there.
 */
static __always_inline __u32 racket_moves_back(const struct racket_walk *racket)
{
	const __u32 sub = 0xd1000294;
	enum {
		FIRST = RACKET_AROUND_BEFORE / 4,
		MOST_AHEAD = 4,
	};
	for (__u32 i = FIRST; i <= FIRST + MOST_AHEAD; i++) {
		__u32 insn = racket_insn_at(racket, i);
		if ((insn & 0xffc003ff) == sub)
			return insn >> 10 & 0xfff;
		if (racket_leads_on(insn))
			break;
	}
	return 0;
}

/*
 * By how many bytes x20 is ahead of the frame of the function whose instruction it is at. A call
 * moves x20, loads some registers, stores the return address, may set another, and jumps; what
 * stands behind it moves x20 back.
 */
__noinline int racket_leaf_is_ahead(__u64 ip);
__noinline int racket_leaf_is_ahead(__u64 ip)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	const __u32 at = RACKET_AROUND_BEFORE;
	if (bpf_probe_read_user(racket->around, RACKET_AROUND_BYTES, (const void *)(ip - at)))
		return 0;
	__u32 back = racket_moves_back(racket);
	__u32 call = back ? 0 : racket_find_call();
	if (!call)
		return back;
	__u32 insn = racket_insn_at(racket, call / 4);
	__s64 distance = ((__s32)(insn << 8) >> 13) * 4 + (insn >> 29 & 3);
	return racket_take_return(ip - at + call + distance) ? racket->size : 0;
}

/* ---- C's stack ---- */

enum racket_call {
	RACKET_CALL_IS_NONE,
	RACKET_CALL_IS_OTHER,
	RACKET_CALL_IS_HERE, /* of the code at hand */
};

/* What ends at a return address: movz x10, N; movk x10, N, three times; blr x10. */
__noinline int racket_judge_call(__u64 address);
__noinline int racket_judge_call(__u64 address)
{
	const __u32 move = 0xd280000a, move_and_keep = 0xf280000a, call = 0xd63f0140;
	enum {
		MOVES = 4,
		BYTES = (MOVES + 1) * 4,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return RACKET_CALL_IS_NONE;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u64 target = 0;
	if (address & 3 || address >> 48 ||
		bpf_probe_read_user(racket->around, BYTES, (const void *)(address - BYTES)) ||
		racket_insn_at(racket, MOVES) != call)
		return RACKET_CALL_IS_NONE;
	for (__u32 i = 0; i < MOVES; i++) {
		__u32 insn = racket_insn_at(racket, i);
		if ((insn & 0xff80001f) != (i ? move_and_keep : move))
			return RACKET_CALL_IS_NONE;
		target |= (__u64)(insn >> 5 & 0xffff) << (insn >> 17 & 0x30);
	}
	return target - racket->code - RACKET_CODE_START < racket->head[RACKET_CODE_LENGTH]
		       ? RACKET_CALL_IS_HERE
		       : RACKET_CALL_IS_OTHER;
}

/* Where on C's stack the next word stands, `at` it or behind, that a call of Scheme's code returns
 * to. 0: there is none ahead of S_call_help(). */
__noinline __u64 racket_search_stack(__u64 at);
__noinline __u64 racket_search_stack(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	for (int i = 0; i < RACKET_STACK_WORDS && at < racket->native; i++, at += 8)
		if (read_word(at, &racket->words[0]) && racket_judge_call(racket->words[0]))
			return at;
	return 0;
}

static __always_inline void racket_return_by_stack(struct walk *walk, __u64 sp, __u64 ip)
{
	walk->regs.ip = ip;
	walk->regs.reg[UNWIND_SP] = sp;
	walk->regs.known &= 1ULL << UNWIND_FP;
	walk->regs.known |= 1ULL << UNWIND_SP;
	walk->is_exact = false;
}

/* Whether the code at hand was called on C's stack by other code of Scheme, which is at hand then.
 * Finds where S_call_help() has its frame, which begins with the record. */
static __always_inline bool racket_was_called_as_c(struct walk *walk, struct racket_walk *racket)
{
	__u64 sp = walk->regs.reg[UNWIND_SP], link = walk->regs.reg[UNWIND_RA];
	racket->native = walk->regs.known >> UNWIND_FP & 1 ? walk->regs.reg[UNWIND_FP] : 0;
	if (walk->is_exact && walk->regs.known >> UNWIND_RA & 1 &&
		racket_judge_call(link) == RACKET_CALL_IS_HERE && racket_find_code(link - 1)) {
		racket_return_by_stack(walk, sp, link);
		return true;
	}
	__u64 at = racket_search_stack(sp);
	link = racket->words[0];
	if (!at || !racket_find_code(link - 1))
		return false;
	racket_return_by_stack(walk, at + 8, link);
	return true;
}

/* To C, whence Scheme was entered. */
static __always_inline enum runtime_leave racket_leave_to_c(
	struct scratch *scratch, struct racket_walk *racket)
{
	struct walk *walk = &scratch->walk;
	if (!racket->native)
		return RUNTIME_STAYS;
	racket->is_inside = false;
	walk->regs.reg[UNWIND_FP] = racket->native;
	walk->regs.known = 1ULL << UNWIND_FP;
	racket_return_by_stack(walk, racket->native,
		racket_row(&walk->runtime)->help_return - walk->runtime.delta);
	return RUNTIME_LEFT_UNSEEN;
}

/* The code object that C enters Scheme by, a pointer. */
static __always_inline bool racket_read_invoke(const struct runtime_walk *runtime, __u64 *ret)
{
	const struct racket_row *row = racket_row(runtime);
	if (!read_word(row->invoke - runtime->delta, ret))
		return false;
	return !row->invoke_in_globals || read_word(*ret + row->invoke_in_globals, ret);
}

/* ---- what C calls ---- */

/* By how much an instruction moves the stack pointer: ldp, ldr, stp and str that write it, of 16
 * bytes; add, sub. 0: it does not. */
static __always_inline int racket_moves_stack(__u32 insn)
{
	const __u32 load_pair = 0xa8c103e0, load = 0xf84107e0, store_pair = 0xa9bf03e0,
		    store = 0xf81f0fe0, add = 0x910003ff, sub = 0xd10003ff;
	if ((insn & 0xffff83e0) == load_pair || (insn & ~0x1fU) == load)
		return 16;
	if ((insn & 0xffff83e0) == store_pair || (insn & ~0x1fU) == store)
		return -16;
	if ((insn & 0xffc003ff) == add)
		return insn >> 10 & 0xfff;
	return (insn & 0xffc003ff) == sub ? -(int)(insn >> 10 & 0xfff) : 0;
}

/* Whether the code at hand is called by C, and pushes C's registers. */
static __always_inline bool racket_is_callable(struct scratch *scratch, bool is_leaf)
{
	(void)is_leaf;
	return racket_walk(&scratch->walk.runtime)->head[RACKET_CODE_HEAD] & RACKET_CODE_TEMPLATE;
}

enum {
	/* Of the words: */
	RACKET_CALLABLE_SP = 0,
	RACKET_CALLABLE_LINK = 1, /* where x30 is, or */
	RACKET_LINK_UNKNOWN = 0,
	RACKET_LINK_IS_KEPT = 1, /* it is not pushed yet */
	RACKET_CALLABLE_PIECES = 4,
};

/* Follows an instruction of code that C calls. By itself, since it is a loop's. 0: it is no ret. */
__noinline int racket_follow_insn(__u32 i);
__noinline int racket_follow_insn(__u32 i)
{
	const __u32 push_link = 0xa9bf4ffe, pop_link = 0xa8c14ffe;
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u64 *sp = &racket->words[RACKET_CALLABLE_SP],
	      *link = &racket->words[RACKET_CALLABLE_LINK];
	__u32 insn = racket_insn_at(racket, i);
	if (insn == push_link)
		*link = RACKET_LINK_IS_KEPT;
	if (insn == pop_link && *link == RACKET_LINK_UNKNOWN)
		*link = *sp;
	*sp += racket_moves_stack(insn);
	return insn == RACKET_RET;
}

/*
 * Follows a piece of code that C calls from an instruction on. It has no loops, and what is called
 * leaves the stack pointer as it was. 0: no ret is in it.
 */
__noinline int racket_follow_callable(__u64 ip);
__noinline int racket_follow_callable(__u64 ip)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(racket->around, RACKET_AROUND_BYTES, (const void *)ip))
		return 0;
	for (__u32 i = 0; i < RACKET_AROUND_BYTES / 4; i++)
		if (racket_follow_insn(i))
			return 1;
	return 0;
}

/*
 * To C from the function that C called, which pushes C's registers, and pops them ahead of its ret,
 * x30 and x19 as a pair. 0: how is not found.
 */
__noinline int racket_leave_callable(__u64 ip);
__noinline int racket_leave_callable(__u64 ip)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct racket_walk *racket = racket_walk(&walk->runtime);
	__u64 ra = walk->regs.reg[UNWIND_RA];
	int has_returned = 0;
	racket->words[RACKET_CALLABLE_SP] = walk->regs.reg[UNWIND_SP];
	racket->words[RACKET_CALLABLE_LINK] = RACKET_LINK_UNKNOWN;
	for (int i = 0; i < RACKET_CALLABLE_PIECES && !has_returned; i++)
		has_returned = racket_follow_callable(ip + i * RACKET_AROUND_BYTES);
	__u64 link = racket->words[RACKET_CALLABLE_LINK];
	bool is_kept = link == RACKET_LINK_UNKNOWN || link == RACKET_LINK_IS_KEPT;
	if (!has_returned || (is_kept && !walk->is_exact) || (!is_kept && !read_word(link, &ra)))
		return 0;
	racket_return_by_stack(walk, racket->words[RACKET_CALLABLE_SP], ra);
	return 1;
}

#endif
