/*
 * Racket CS, which is Chez Scheme. All of it is compiled, to code in memory of no file, and keeps
 * its frames on a stack of its own that grows upwards: a register leads to the top one, whose first
 * word is the address that its function returns to. Ahead of a return address stands how large the
 * caller's frame is. The outermost return address of a part of the stack has the size 0: the rest
 * is another part, which a continuation leads to.
 *
 * C is called on C's stack, which Scheme leaves as it got it from C, while the context of the
 * thread says where Scheme's stack is. So Scheme's frames are followed up to where C had entered
 * them, by S_call_help(), which is near the top of C's stack then, and from there on C's are.
 *
 * Where code was interrupted, a call may be half made: that register is moved, and then the return
 * address is stored, and then the callee is jumped to; behind it, the register is moved back. Code
 * that does not return to Scheme's stack, the runtime's own, is called as C is.
 *
 * Sources: racket/src/ChezScheme/c/schlib.c (S_call_help), s/cmacros.ss (tc, continuation,
 * rp-header), s/cpnanopass.ss of Racket 8.7.
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

#if defined(__TARGET_ARCH_x86)
#include "bpf/runtime/racket/racket_x86_64.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/runtime/racket/racket_arm64.bpf.h"
#endif

#include <bpf/bpf_helpers.h>

enum {
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
	if (!racket->size || !racket_read_invoke(&walk->runtime, &invoke))
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
	bool is_leaf = walk->is_exact && (walk->regs.known >> RACKET_STACK_REGISTER & 1);
	if (!racket_find_code(ip - !walk->is_exact))
		return RUNTIME_STAYS;
	bool is_callable = racket_is_callable(scratch, is_leaf);
	racket_push();
	if (is_callable)
		return racket_leave_callable(ip) ? RUNTIME_LEFT_UNSEEN : RUNTIME_PUSHED;
	if (is_leaf && !racket_may_be_top(racket, walk->regs.reg[RACKET_STACK_REGISTER]))
		return RUNTIME_PUSHED; /* C has called it, and its registers are C's yet, or again
					*/
	if (is_leaf)
		racket->top = walk->regs.reg[RACKET_STACK_REGISTER];
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
