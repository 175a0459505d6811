/*
 * Racket CS, which is Chez Scheme. All of it is compiled, to code in memory of no file, and keeps
 * its frames on a stack of its own that grows upwards: register r13 leads to the top one, whose
 * first word is the address that its function returns to. Ahead of a return address stands how
 * large the caller's frame is. The outermost return address of a part of the stack has the size 0:
 * the rest is another part, which a continuation leads to.
 *
 * C is called on C's stack, which Scheme leaves as it got it from C, while the context of the
 * thread says where Scheme's stack is. So Scheme's frames are followed up to where C had entered
 * them, by S_call_help(), which is near the top of C's stack then, and from there on C's are.
 *
 * Where code was interrupted, a call may be half made: r13 is moved, and then the return address
 * is stored, and then the callee is jumped to; behind it, r13 is moved back. Code that does not
 * return to Scheme's stack, the runtime's own, is called on C's.
 *
 * Sources: racket/src/ChezScheme/c/schlib.c (S_call_help), s/cmacros.ss (tc, continuation,
 * rp-header), s/cpnanopass.ss, s/x86_64.ss of Racket 8.7.
 */
#ifndef EBPROF_RACKET_BPF_H
#define EBPROF_RACKET_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/racket/racket_code.bpf.h"
#include "bpf/runtime/racket/racket_row.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	RACKET_R13 = 13, /* DWARF's number */

	RACKET_CONTEXT_TOP = 7 * 8,   /* in a thread's context: sfp, of code that called C, */
	RACKET_CONTEXT_BASE = 40 * 8, /* ... scheme_stack, its size, and stack_link */

	RACKET_CONTINUATION_TAG = 5,
	RACKET_CONTINUATION_CODE = 0, /* words of a continuation */
	RACKET_CONTINUATION_STACK = 1,
	RACKET_CONTINUATION_LENGTH = 3, /* of what is used */
	RACKET_CONTINUATION_LINK = 4,
	RACKET_CONTINUATION_RETURN = 5,
	RACKET_MAX_CONTINUATIONS = 4, /* without a frame, one behind the other */
};

static __always_inline bool racket_claims_anonymous(struct scratch *scratch)
{
	return scratch->walk.runtime.row.kind == RUNTIME_RACKET ||
	       find_known_runtime(scratch, RUNTIME_RACKET);
}

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

/* ---- Scheme's stack ---- */

/* To the next part of the stack. 0: that was the outermost; negative: it cannot be read. */
__noinline int racket_take_link(void);
__noinline int racket_take_link(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return -1;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u64 *word = racket->words;
	const __u32 bytes = RACKET_CONTINUATION_WORDS * 8;
	__u64 at = racket->link + 8 - RACKET_CONTINUATION_TAG;
	if ((racket->link & 7) != RACKET_CONTINUATION_TAG ||
		bpf_probe_read_user(word, bytes, (const void *)at))
		return -1;
	/* One that was moved says where to, in place of the stack. */
	if (word[RACKET_CONTINUATION_CODE] & (RACKET_CODE_ALIGNMENT - 1)) {
		at = word[RACKET_CONTINUATION_STACK] + 8 - RACKET_CONTINUATION_TAG;
		if ((word[RACKET_CONTINUATION_STACK] & 7) != RACKET_CONTINUATION_TAG ||
			bpf_probe_read_user(word, bytes, (const void *)at))
			return -1;
	}
	if (!word[RACKET_CONTINUATION_RETURN])
		return 0;
	racket->base = word[RACKET_CONTINUATION_STACK];
	racket->link = word[RACKET_CONTINUATION_LINK];
	racket->top = racket->base + word[RACKET_CONTINUATION_LENGTH];
	scratch->walk.regs.ip = word[RACKET_CONTINUATION_RETURN];
	return 1;
}

/*
 * Makes the return address at hand that stands at `top`, and what it is in. 0: there is none any
 * more, C entered Scheme here; negative: it cannot be read.
 */
__noinline int racket_take_caller(void);
__noinline int racket_take_caller(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return -1;
	struct walk *walk = &scratch->walk;
	struct racket_walk *racket = racket_walk(&walk->runtime);
	__u64 invoke = 0;
	if (!read_word(racket->top, &walk->regs.ip) || !racket_take_return(walk->regs.ip))
		return -1;
	for (int i = 0; i < RACKET_MAX_CONTINUATIONS && !racket->size; i++) {
		int taken = racket->top == racket->base ? racket_take_link() : -1;
		if (taken <= 0)
			return taken;
		if (!racket_take_return(walk->regs.ip))
			return -1;
	}
	if (!racket->size ||
		!read_word(racket_row(&walk->runtime)->invoke - walk->runtime.delta, &invoke))
		return -1;
	return racket->code != invoke + 1;
}

/* From the frame at hand, whose return address stands at `top`, to its caller. */
static __always_inline enum runtime_leave racket_leave_frame(
	struct scratch *scratch, struct racket_walk *racket)
{
	int taken = racket_take_caller();
	if (!taken) {
		racket->top -= racket->size;
		return racket_leave_to_c(scratch, racket);
	}
	racket->is_inside = taken > 0;
	if (taken < 0)
		return RUNTIME_PUSHED;
	scratch->walk.is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- what C calls ---- */

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

/* ---- from C to Scheme ---- */

/* Where the thread's Scheme stack is. 0: the thread has none. */
__noinline int racket_take_context(void);
__noinline int racket_take_context(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct racket_walk *racket = racket_walk(runtime);
	__u64 context = 0, word[RACKET_CONTEXT_WORDS];
	__u32 key = 0;
	const void *at = (const void *)(racket_row(runtime)->key - runtime->delta);
	if (bpf_probe_read_user(&key, sizeof(key), at) || key >= GLIBC_MAX_KEYS ||
		!glibc_value(glibc_self(thread_pointer()), key, &context) || !context ||
		bpf_probe_read_user(
			word, sizeof(word), (const void *)(context + RACKET_CONTEXT_BASE)) ||
		!read_word(context + RACKET_CONTEXT_TOP, &racket->top))
		return 0;
	racket->base = word[0];
	racket->link = word[2];
	racket->is_inside = false;
	racket->native = 0;
	return 1;
}

/* Whether S_call_help() is the frame that was pushed last: what C calls enters Scheme by it. */
static __always_inline bool racket_is_behind_help(struct scratch *scratch)
{
	const struct racket_row *row = racket_row(&scratch->walk.runtime);
	__u64 last = (__u64)scratch->user.head.nr_frames - 1;
	if (last >= EVENT_MAX_USER_FRAMES)
		return false;
	__u64 word = scratch->user.frame[last];
	__u64 offset = word & ((1ULL << EVENT_FRAME_FILE_SHIFT) - 1);
	return word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_FILE &&
	       offset - row->help_start < row->help_end - row->help_start;
}

/* Whether it may be where Scheme's stack at hand has its top. */
static __always_inline bool racket_may_be_top(const struct racket_walk *racket, __u64 at)
{
	enum {
		MOST = 1 << 26,
	};
	return !(at & 7) && at - racket->base < MOST;
}

/*
 * The walk comes from C, or begins here: the function at hand, whose code is, is that which has the
 * top frame, or was called on C's stack by it.
 */
static __always_inline enum runtime_leave racket_leave_innermost(
	struct scratch *scratch, struct racket_walk *racket)
{
	struct walk *walk = &scratch->walk;
	__u64 ip = walk->regs.ip;
	bool is_leaf = walk->is_exact && (walk->regs.known >> RACKET_R13 & 1);
	bool is_callable = !is_leaf && racket_is_behind_help(scratch);
	if (!racket_find_code(ip - !walk->is_exact))
		return RUNTIME_STAYS;
	racket_push();
	if (is_callable)
		return racket_leave_callable(ip) ? RUNTIME_LEFT_UNSEEN : RUNTIME_PUSHED;
	if (is_leaf && !racket_may_be_top(racket, walk->regs.reg[RACKET_R13]))
		return RUNTIME_PUSHED; /* C has called it, and its registers are C's yet, or again
					*/
	if (is_leaf)
		racket->top = walk->regs.reg[RACKET_R13];
	if (racket_was_called_as_c(walk, racket))
		return RUNTIME_LEFT_UNSEEN;
	if (is_leaf)
		racket->top -= racket_leaf_is_ahead(ip);
	return racket_leave_frame(scratch, racket);
}

/* A global function, which the verifier looks at once. Returns an enum runtime_leave. */
__noinline int racket_leave(void);
__noinline int racket_leave(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch || !take_known_runtime(scratch, RUNTIME_RACKET))
		return RUNTIME_STAYS;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct racket_walk *racket = racket_walk(runtime);
	if (!runtime->has_thread && !racket_take_context())
		return RUNTIME_STAYS;
	runtime->has_thread = true;
	if (!racket->is_inside)
		return racket_leave_innermost(scratch, racket);
	racket_push();
	racket->top -= racket->size;
	return racket_leave_frame(scratch, racket);
}

static __always_inline enum runtime_leave racket_leave_jit(struct scratch *scratch)
{
	(void)scratch; /* the function takes it itself */
	return racket_leave();
}

/* ---- the row ---- */

static const struct runtime_hooks racket_hooks = {
	.has_compiler = true,
	.claims_anonymous = racket_claims_anonymous,
	.leave_jit = racket_leave_jit,
};

#endif
