/*
 * Code of Chez Scheme on x86-64. A call stores its return address on Scheme's stack, which r13
 * leads to; code of the runtime itself is called on C's, and so is Scheme by C. racket_arm64.bpf.h
 * has the same.
 *
 * Sources: racket/src/ChezScheme/s/x86_64.ss, s/cpnanopass.ss of Racket 8.7.
 */
#ifndef EBPROF_RACKET_X86_64_BPF_H
#define EBPROF_RACKET_X86_64_BPF_H

#include "bpf/runtime/racket/racket_code.bpf.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

enum {
	RACKET_STACK_REGISTER = 13, /* DWARF's number */

	RACKET_CONTEXT_TOP = 7 * 8,   /* in a thread's context: sfp, of code that called C, */
	RACKET_CONTEXT_BASE = 40 * 8, /* ... scheme_stack, its size, and stack_link */
};

/* ---- the leaf ---- */

/* Bytes 0 to 3 that stand `at`, which may be anywhere: the processor does not mind. */
__attribute__((no_sanitize("alignment"))) static __u32 racket_bytes(
	const struct racket_walk *racket, __u32 at)
{
	return *(const __u32 *)(racket->around + (at < RACKET_AROUND_BYTES ? at : 0));
}

static __always_inline __u32 racket_instruction(const struct racket_walk *racket, __u32 at)
{
	return racket_bytes(racket, at) & 0xffffff;
}

/* The bytes that `sub r13, N` takes off; 0: it is another instruction. */
static __always_inline __u32 racket_moves_back(const struct racket_walk *racket, __u32 at)
{
	enum {
		SUB_OF_BYTE = 0xed8349,
		SUB = 0xed8149,
	};
	__u32 code = racket_instruction(racket, at);
	if (code == SUB_OF_BYTE)
		return racket_bytes(racket, at) >> 24;
	return code == SUB ? racket_bytes(racket, at + 3) : 0;
}

/* Whether lea rcx, [rip + N] and mov [r13], rcx stand there. */
static __always_inline bool racket_stores(const struct racket_walk *racket, __u32 at)
{
	enum {
		LEA = 0x0d8d48,
		LEA_BYTES = 7,
		STORE = 0x004d8949,
	};
	return racket_instruction(racket, at) == LEA &&
	       racket_bytes(racket, at + LEA_BYTES) == STORE;
}

/*
 * Where the lea of a call stands that has moved r13, counted as RACKET_AROUND_BEFORE is. 0: there
 * is none. The instructions are at hand. A loop by itself: what follows does not depend on where
 * it ended, as the verifier sees it.
 */
__noinline int racket_find_call(void);
__noinline int racket_find_call(void)
{
	enum {
		ADD_OF_BYTE = 0xc58349,
		ADD = 0xc58149,
		FIRST = RACKET_AROUND_BEFORE - 7, /* the store is next, */
		STORED = FIRST - 4,               /* ... was the last, */
		STORED_AND_ZEROED = STORED - 3,   /* ... or the last but what sets a register */
		STORED_AND_SET = STORED - 7,
		MOST_AHEAD = 48, /* of 99 % of all calls in Racket's own code */
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	const struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	if (racket_stores(racket, FIRST))
		return FIRST;
	if (racket_stores(racket, STORED))
		return STORED;
	if (racket_stores(racket, STORED_AND_ZEROED))
		return STORED_AND_ZEROED;
	if (racket_stores(racket, STORED_AND_SET))
		return STORED_AND_SET;
	for (__u32 i = RACKET_AROUND_BEFORE; i < RACKET_AROUND_BEFORE + MOST_AHEAD; i++) {
		__u32 code = racket_instruction(racket, i);
		if (code == ADD_OF_BYTE || code == ADD)
			return 0;
		if (racket_stores(racket, i))
			return i;
	}
	return 0;
}

/*
 * By how many bytes r13 is ahead of the frame of the function whose instruction it is at. A call
 * moves r13, loads some registers, stores the return address, may set another, and jumps; what
 * stands behind it moves r13 back.
 */
__noinline int racket_leaf_is_ahead(__u64 ip);
__noinline int racket_leaf_is_ahead(__u64 ip)
{
	enum {
		MOVE_RESULT = 0xe88949, /* mov r8, rbp: ahead of the sub, now and then */
		LEA_BYTES = 7,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	const __u32 at = RACKET_AROUND_BEFORE;
	if (bpf_probe_read_user(racket->around, RACKET_AROUND_BYTES, (const void *)(ip - at)))
		return 0;
	bool is_moved = racket_instruction(racket, at) == MOVE_RESULT;
	__u32 back = racket_moves_back(racket, at + (is_moved ? 3 : 0));
	__u32 call = back ? 0 : racket_find_call();
	if (!call)
		return back;
	__u64 returns_to = ip - at + call + LEA_BYTES + (int)racket_bytes(racket, call + 3);
	return racket_take_return(returns_to) ? racket->size : 0;
}

/* ---- C's stack ---- */

enum racket_word {
	RACKET_WORD_IS_OTHER,
	RACKET_WORD_IS_HELP,        /* an address that a call of S_call_help() returns to */
	RACKET_WORD_IS_BEHIND_CALL, /* ... or that another call may */
};

/* What a word of C's stack is. By itself, since it is a loop's. */
__noinline int racket_judge_word(__u32 i);
__noinline int racket_judge_word(__u32 i)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return RACKET_WORD_IS_OTHER;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	struct racket_walk *racket = racket_walk(runtime);
	const struct racket_row *row = racket_row(runtime);
	__u64 word = racket->words[i & (RACKET_STACK_WORDS - 1)];
	if (word + runtime->delta - row->help_start < row->help_end - row->help_start)
		return RACKET_WORD_IS_HELP;
	bool is_behind = !(word >> 47) && word >> 16 &&
			 !bpf_probe_read_user(racket->around, UNWIND_CALL_BYTES,
				 (const void *)(word - UNWIND_CALL_BYTES)) &&
			 unwind_is_call(racket->around);
	return is_behind ? RACKET_WORD_IS_BEHIND_CALL : RACKET_WORD_IS_OTHER;
}

/*
 * Finds where C's stack returns to S_call_help(). Ahead of that, Scheme's own code may have been
 * called on C's stack: returns the number of the first word, from `from` on, that may be where it
 * returns to; RACKET_STACK_WORDS: none is.
 */
__noinline int racket_search_stack(__u64 sp, __u32 from);
__noinline int racket_search_stack(__u64 sp, __u32 from)
{
	/* For arm64 clang 14 passes no second argument else, which the verifier refuses. */
	asm volatile("" : "+r"(from));
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return RACKET_STACK_WORDS;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	racket->native = 0;
	if (bpf_probe_read_user(racket->words, sizeof(racket->words), (const void *)sp))
		return RACKET_STACK_WORDS;
	for (__u32 i = 0; i < RACKET_STACK_WORDS; i++) {
		int word = racket_judge_word(i);
		if (word == RACKET_WORD_IS_HELP) {
			racket->native = sp + 8 * i;
			break;
		}
		if (word == RACKET_WORD_IS_BEHIND_CALL && i >= from)
			return i;
	}
	return RACKET_STACK_WORDS;
}

static __always_inline void racket_return_by_stack(struct walk *walk, __u64 at, __u64 ip)
{
	walk->regs.ip = ip;
	walk->regs.reg[UNWIND_SP] = at + 8;
	walk->regs.known = 1ULL << UNWIND_SP;
	walk->is_exact = false;
}

/* Whether the code at hand was called on C's stack by other code of Scheme, which is at hand then.
 */
static __always_inline bool racket_was_called_as_c(struct walk *walk, struct racket_walk *racket)
{
	enum {
		MAX_TRIED = 4,
	};
	__u64 sp = walk->regs.reg[UNWIND_SP];
	__u32 from = 0;
	for (int i = 0; i < MAX_TRIED && from < RACKET_STACK_WORDS; i++) {
		__u32 at = racket_search_stack(sp, from);
		__u64 ip = racket->words[at & (RACKET_STACK_WORDS - 1)];
		if (at < RACKET_STACK_WORDS && racket_find_code(ip - 1)) {
			racket_return_by_stack(walk, sp + 8 * at, ip);
			return true;
		}
		from = at + 1;
	}
	return false;
}

/* To C, whence Scheme was entered. */
static __always_inline enum runtime_leave racket_leave_to_c(
	struct scratch *scratch, struct racket_walk *racket)
{
	__u64 ip = 0;
	if (!racket->native || !read_word(racket->native, &ip))
		return RUNTIME_STAYS;
	racket->is_inside = false;
	racket_return_by_stack(&scratch->walk, racket->native, ip);
	return RUNTIME_LEFT_UNSEEN;
}

/* The code object that C enters Scheme by, a pointer. */
static __always_inline bool racket_read_invoke(const struct runtime_walk *runtime, __u64 *ret)
{
	return read_word(racket_row(runtime)->invoke - runtime->delta, ret);
}

/* ---- what C calls ---- */

/*
 * Whether the code at hand, which is not pushed yet, is called by C: S_call_help() is the frame
 * that was pushed last, by which what C calls enters Scheme.
 */
static __always_inline bool racket_is_callable(struct scratch *scratch, bool is_leaf)
{
	const struct racket_row *row = racket_row(&scratch->walk.runtime);
	__u64 last = (__u64)scratch->user.head.nr_frames - 1;
	if (is_leaf || last >= EVENT_MAX_USER_FRAMES)
		return false;
	__u64 word = scratch->user.frame[last];
	__u64 offset = word & ((1ULL << EVENT_FRAME_FILE_SHIFT) - 1);
	return word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_FILE &&
	       offset - row->help_start < row->help_end - row->help_start;
}

/* Where pop r15, r14, r13, r12 stand in the code at hand; 0: nowhere. */
__noinline int racket_find_pops(void);
__noinline int racket_find_pops(void)
{
	enum {
		POP_R15_R14 = 0x5e415f41,
		POP_R13_R12 = 0x5c415d41,
		MOST_AHEAD = 48, /* what makes the result C's comes first */
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	const struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	for (__u32 i = 0; i < MOST_AHEAD; i++)
		if (racket_bytes(racket, i) == POP_R15_R14 &&
			racket_bytes(racket, i + 4) == POP_R13_R12)
			return i;
	return 0;
}

/*
 * To C from the function that C called, by which S_call_help() was called, which returns to `ip`:
 * it has saved C's registers, and ends with pop r15, r14, r13, r12, rbp, rbx; add rsp; ret. 0: that
 * does not stand there.
 */
__noinline int racket_leave_callable(__u64 ip);
__noinline int racket_leave_callable(__u64 ip)
{
	enum {
		POP_RBP_RBX_ADD = 0x81485b5d, /* ... of 32 bits */
		TO_RSP = 0xc4,
		RET = 0xc3,
		SAVED_BYTES = 48,
		SAVED_RBP = 32,
		MAX_BYTES = 1 << 12,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct racket_walk *racket = racket_walk(&walk->runtime);
	__u64 sp = walk->regs.reg[UNWIND_SP], fp = 0, ra = 0;
	if (bpf_probe_read_user(racket->around, RACKET_AROUND_BYTES, (const void *)ip))
		return 0;
	__u32 at = racket_find_pops();
	__u64 bytes = racket_bytes(racket, at + 13) + SAVED_BYTES;
	if (racket_bytes(racket, at + 8) != POP_RBP_RBX_ADD ||
		(racket_bytes(racket, at + 12) & 0xff) != TO_RSP ||
		(racket_bytes(racket, at + 17) & 0xff) != RET || bytes > MAX_BYTES ||
		!read_word(sp + SAVED_RBP, &fp) || !read_word(sp + bytes, &ra))
		return 0;
	racket_return_by_stack(walk, sp + bytes, ra);
	walk->regs.reg[UNWIND_FP] = fp;
	walk->regs.known |= 1ULL << UNWIND_FP;
	return 1;
}

#endif
