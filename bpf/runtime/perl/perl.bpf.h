/*
 * Perl, 5.28 to 5.42, with threads (as the distributions build it). What runs is on stacks of
 * contexts, each in the order of its calls: a context is that of a sub, an eval, a loop, a block.
 * A context says which statement of its caller it was entered from, so the statements move by one
 * outwards, and the code under the outermost context is that of the program itself.
 *
 * Perl's loop is entered anew whenever C code calls back: by call_sv(), for the comparisons of a
 * sort, for code in a regex. Which contexts belong to which native loop is found by what ends
 * them:
 *  - A sub called by C has nowhere to return to (retop is null), and the operation that called is
 *    saved right below what the sub saves.
 *  - Those who run a block or sub over and over (sort, MULTICALL, regex) have a stack of their
 *    own, whose outermost context is theirs. It stays while the loop is not running; then
 *    PL_op is null.
 *  - A deferred block has a context of its own.
 *  - An eval in a sub that C called without protection starts a second loop in the midst of the
 *    first one's contexts. There is a JMPENV on the C stack between the two: what runs
 *    belongs to the inner one, and the outer one has no frames.
 *
 * Sources: cop.h, cv.h, intrpvar.h, inline.h, perl.c, pp_ctl.c, pp_sort.c, regexec.c of Perl
 * 5.28.0, 5.32.1, 5.36.0, 5.40.1.
 */
#ifndef EBPROF_PERL_BPF_H
#define EBPROF_PERL_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/perl/perl_code.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

/* ---- the thread ---- */

/* To a stack of contexts. False: it cannot be read, or makes no sense. */
static __always_inline bool take_stack(struct runtime_walk *runtime, __u64 stack)
{
	struct perl_walk *perl = perl_walk(runtime);
	__u64 words[PERL_STACKS / 8];
	perl->index = -1;
	perl->outer = 0;
	if (!stack || bpf_probe_read_user(words, sizeof(words), (const void *)stack))
		return false;
	perl->contexts = words[1];
	perl->outer = words[2];
	perl->type = perl_row(runtime)->stack_type & 4 ? words[5] >> 32 : words[5];
	__s32 index = words[4], max = words[4] >> 32;
	if (index < -1 || index > max)
		return false;
	perl->index = index;
	return true;
}

static __always_inline bool find_interpreter(struct runtime_walk *runtime)
{
	const struct perl_row *row = perl_row(runtime);
	__u64 thread = thread_pointer(), glibc = glibc_self(thread), stack = 0;
	__u32 key = 0;
	struct perl_walk *perl = perl_walk(runtime);
	const void *key_address = (const void *)(row->key - runtime->delta);
	perl->interpreter = 0;
	if (bpf_probe_read_user(&key, sizeof(key), key_address) || key >= GLIBC_MAX_KEYS)
		return false;
	if (!glibc || !glibc_value(glibc, key, &perl->interpreter) || !perl->interpreter)
		if (!musl_value(musl_self(thread), key, &perl->interpreter) || !perl->interpreter)
			return false;
	if (!read_word(perl->interpreter + row->stack, &stack) ||
		!read_word(perl->interpreter + row->cop, &perl->cop) ||
		!read_word(perl->interpreter + row->environment, &perl->env))
		return false;
	perl->has_own_env = false;
	perl->is_done = false;
	perl->window_of = perl->body_of = 0;
	return take_stack(runtime, stack);
}

/* ---- contexts ---- */

/* Reads the context at hand and those that it was called from. */
static __always_inline bool read_window(struct runtime_walk *runtime)
{
	struct perl_walk *perl = perl_walk(runtime);
	__u32 index = perl->index, behind = PERL_WINDOW_CONTEXTS - 1;
	__u32 first = index > behind ? index - behind : 0;
	__u64 bytes = (__u64)perl_row(runtime)->context_bytes * (index - first + 1);
	__u64 at = perl->contexts + (__u64)first * perl_row(runtime)->context_bytes;
	asm volatile("" : "+r"(bytes));
	perl->window_of = 0;
	if (bytes > sizeof(perl->window) ||
		bpf_probe_read_user(perl->window, bytes, (const void *)at))
		return false;
	perl->window_of = perl->contexts;
	perl->window_first = first;
	return true;
}

/* Each read from user memory costs more than the bytes it fetches: some contexts at once. */
static __always_inline bool read_context(struct runtime_walk *runtime)
{
	struct perl_walk *perl = perl_walk(runtime);
	__u32 nth = perl->index - perl->window_first;
	if (perl->window_of != perl->contexts || nth >= PERL_WINDOW_CONTEXTS) {
		if (!read_window(runtime))
			return false;
		nth = perl->index - perl->window_first;
	}
	__u64 start = nth * (perl_row(runtime)->context_bytes / 8);
	asm volatile("" : "+r"(start)); /* or clang thinks the bounds are known */
	if (start > (sizeof(perl->window) - sizeof(perl->context)) / 8)
		return false;
	for (int i = 0; i < PERL_CONTEXT_BYTES / 8; i++)
		perl->context[i] = perl->window[start + i];
	return true;
}

static __always_inline __u64 word_of_context(const struct perl_walk *perl, __u32 offset)
{
	__u32 word = offset / 8;
	return perl->context[word < PERL_CONTEXT_BYTES / 8 ? word : 0];
}

static __always_inline __u32 type_of_context(const struct perl_walk *perl)
{
	return perl->context[0] & PERL_TYPE_MASK;
}

static __always_inline bool has_fixed_context(const struct perl_walk *perl)
{
	return perl->type == PERL_SORT || perl->type == PERL_MULTICALL;
}

/* What the context was entered from is still the statement at hand: its own code has not begun. */
static __always_inline bool is_at_caller(const struct perl_walk *perl)
{
	return perl->context[PERL_OLD_COP] == perl->cop;
}

/* A sub, or the text of an eval, that C called: nothing follows it, and what ran is saved. */
static __always_inline bool is_called_by_c(const struct runtime_walk *runtime)
{
	const struct perl_walk *perl = perl_walk(runtime);
	__u64 saves = 0, saved = 0;
	__u32 place = perl->context[0] >> 32; /* blk_oldsaveix */
	return !perl->context[PERL_RETURN] && place &&
	       read_word(perl->interpreter + PERL_SAVES, &saves) &&
	       read_word(saves + (__u64)(place - 1) * 8, &saved) &&
	       (saved & PERL_SAVE_MASK) == perl_row(runtime)->saved_op;
}

/* Whether call_sv() protected itself for the sub whose context was the last. */
static __always_inline bool has_own_env(struct runtime_walk *runtime)
{
	struct perl_walk *perl = perl_walk(runtime);
	if (type_of_context(perl) == PERL_EVAL)
		return true;
	return perl->index >= 0 && read_context(runtime) && type_of_context(perl) == PERL_EVAL &&
	       perl->context[0] & PERL_IS_BLOCK && !perl->context[PERL_RETURN];
}

/* ---- loops ---- */

/* Whether a JMPENV lies between the loop before and the one at hand. */
static __always_inline bool cross_envs(struct runtime_walk *runtime)
{
	enum {
		MAX_ENVS = 4 /* that are between two loops */
	};
	struct perl_walk *perl = perl_walk(runtime);
	bool has_crossed = false;
	for (int i = 0; i < MAX_ENVS && perl->env && perl->env < runtime->low; i++) {
		has_crossed = true;
		if (!read_word(perl->env, &perl->env))
			perl->env = 0;
	}
	return has_crossed;
}

/*
 * The innermost loop: contexts may be there whose loop is not, since it has not begun or has ended
 * for now. False: the loop at hand has no frames.
 */
static __always_inline bool enter_innermost(struct scratch *scratch)
{
	enum {
		CALLER_BYTES = 1024 /* no frame of call_sv() is larger */
	};
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	__u64 op = 0, leaf = scratch->leaf.reg[UNWIND_SP];
	bool is_fixed = has_fixed_context(perl);
	if (!read_word(perl->interpreter + PERL_OP, &op))
		return false;
	/* An operation on the C stack is what call_sv() makes up: its sub has not begun. */
	bool is_between = op >= leaf && op < runtime->low;
	bool is_beginning = op - runtime->high < CALLER_BYTES;
	if (is_fixed && !op) {
		take_stack(runtime, perl->outer);
	} else if ((is_fixed || is_between || is_beginning) && perl->index >= 0) {
		if (!read_context(runtime))
			return false;
		bool is_begun = !is_at_caller(perl), is_sub = type_of_context(perl) == PERL_SUB;
		bool is_in_regex = is_sub && perl->context[0] & PERL_IN_REGEX;
		if (is_fixed && is_in_regex && !perl->index && !is_begun)
			take_stack(runtime, perl->outer);
		else if (is_between && is_sub && !is_begun && !perl->context[PERL_RETURN])
			perl->index--;
		else if (is_beginning && (!is_sub || is_begun || perl->context[PERL_RETURN]))
			return false;
	}
	return op || scratch->user.head.nr_frames;
}

static __always_inline bool perl_enter(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	bool is_innermost = !runtime->has_thread;
	if (is_innermost && !find_interpreter(runtime)) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_STATE);
		return false;
	}
	runtime->has_thread = true;
	bool has_crossed = cross_envs(runtime);
	if (perl->is_done)
		return false;
	if (is_innermost)
		return enter_innermost(scratch);
	if (!perl->has_own_env && has_crossed) {
		perl->has_own_env = true;
		return false;
	}
	return true;
}

/* ---- statements ---- */

static __always_inline __u32 line_of_cop(__u64 cop)
{
	__u32 line = 0;
	if (!cop || bpf_probe_read_user(&line, sizeof(line), (const void *)(cop + PERL_COP_LINE)))
		return 0;
	return line < PERL_MAX_LINE ? line : 0;
}

/* A sub's first operation is that of a statement. */
static __always_inline __u32 first_line_of(const struct runtime_walk *runtime)
{
	__u64 function, start = perl_walk(runtime)->body[PERL_CV_START];
	if (!start || !read_word(start + PERL_OP_FUNCTION, &function) ||
		function != perl_row(runtime)->nextstate - runtime->delta)
		return 0;
	return line_of_cop(start);
}

/* ---- frames ---- */

static __always_inline void push_code_of(struct scratch *scratch, __u64 identity, __u32 line)
{
	__u32 number = find_code(identity);
	if (!number)
		number = perl_send_code(identity);
	if (number)
		push_runtime_word(scratch, number, line);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
}

/* What its clones share, and no other sub: they are made over and over. */
static __always_inline __u64 identify_sub(const struct scratch *scratch)
{
	const __u64 *body = perl_walk(&scratch->walk.runtime)->body;
	__u64 hash = mix(scratch->walk.runtime.process, body[PERL_CV_ROOT]);
	hash = mix(hash, body[PERL_CV_START] ^ body[PERL_CV_FLAGS] << 32);
	return mix(mix(hash, body[PERL_CV_GV]), body[PERL_CV_STASH]);
}

/* Of a sub that calls itself it is there already. Not 0: why it is not, an enum
 * layout_script_failure. */
static __always_inline __u32 read_body(struct perl_walk *perl, __u64 cv, bool is_sub)
{
	__u64 head[2];
	if (perl->body_of == (cv | is_sub))
		return 0;
	perl->body_of = 0;
	if (bpf_probe_read_user(head, sizeof(head), (const void *)cv))
		return LAYOUT_SCRIPT_UNREADABLE;
	if ((__u8)(head[1] >> 32) != (is_sub ? PERL_IS_CV : PERL_IS_FORMAT))
		return LAYOUT_SCRIPT_TORN;
	if (bpf_probe_read_user(
		    perl->body, sizeof(perl->body), (const void *)(head[0] + PERL_BODY_START)))
		return LAYOUT_SCRIPT_UNREADABLE;
	perl->body_of = cv | is_sub;
	return 0;
}

static __always_inline void push_sub(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	__u64 cv = word_of_context(perl, perl_row(runtime)->context_cv);
	__u32 depth_at = perl_row(runtime)->context_depth;
	__s32 before = word_of_context(perl, depth_at), depth;
	bool is_sub = type_of_context(perl) == PERL_SUB;
	if (!cv || (is_sub && (perl->context[0] & PERL_IS_SAME)))
		return; /* it is about to be left; part of the sub around it */
	__u32 why = read_body(perl, cv, is_sub);
	if (why) {
		push_runtime_failure(scratch, why);
		return;
	}
	depth = perl->body[PERL_CV_DEPTH];
	if (!is_sub)
		before = 0;
	if (depth <= before || perl->body[PERL_CV_FLAGS] >> 32 & PERL_CV_IS_C)
		return; /* what is in the context was left there by another call; or C code sorts */
	perl->what = PERL_CODE_SUB;
	perl->code = cv;
	perl->file = perl->body[PERL_CV_FILE];
	bool has_begun = depth > 1 || !is_at_caller(perl);
	push_code_of(scratch, identify_sub(scratch),
		has_begun ? line_of_cop(perl->cop) : first_line_of(runtime));
}

/* Code that has no name of its own goes by that of its file. */
static __always_inline void push_file(struct scratch *scratch, enum perl_code what)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	__u64 hash = mix(runtime->process, what);
	__u64 cop = perl->cop;
	__builtin_memset(perl->text, 0, sizeof(perl->text));
	perl->file = 0;
	if (!cop || !read_word(cop + PERL_COP_FILE, &perl->file) ||
		bpf_probe_read_user_str(perl->text, sizeof(perl->text), (const void *)perl->file) <=
			0) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return;
	}
	if (what == PERL_CODE_STRING && perl->text[0] << 16 == PERL_FILE_OF_EVAL << 16) {
		perl->file = 0; /* a number for each */
	} else {
		for (int i = 0; i < PERL_FILE_BYTES / 8; i++)
			hash = mix(hash, perl->text[i]);
	}
	perl->what = what;
	push_code_of(scratch, hash, line_of_cop(cop));
}

/* The code of a file or a text that is being run; before that, it has no frames. */
static __always_inline void push_eval(struct scratch *scratch)
{
	struct perl_walk *perl = perl_walk(&scratch->walk.runtime);
	__u64 module = word_of_context(perl, perl_row(&scratch->walk.runtime)->context_module);
	if (is_at_caller(perl))
		return;
	perl->code = module;
	push_file(scratch, module ? PERL_CODE_MODULE : PERL_CODE_STRING);
}

/* A context that has a frame of its own. False: it was the last one of the loop at hand. */
static __always_inline bool leave_call(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	if (type_of_context(perl) == PERL_EVAL)
		push_eval(scratch);
	else
		push_sub(scratch);
	if (!(perl->context[0] & PERL_IS_SAME) || type_of_context(perl) != PERL_SUB)
		perl->cop = perl->context[PERL_OLD_COP];
	if (!is_called_by_c(runtime))
		return true;
	perl->has_own_env = has_own_env(runtime);
	return false;
}

/* There are no more contexts on the stack at hand. False: those of the loop at hand end here. */
static __always_inline bool leave_stack(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	if (perl->outer) {
		take_stack(runtime, perl->outer);
		return true;
	}
	perl->is_done = true;
	perl->code = 0;
	push_file(scratch, PERL_CODE_MAIN);
	return false;
}

/* The next frame of the loop at hand. False: there is none. */
static __always_inline bool perl_step(struct scratch *scratch)
{
	enum {
		MAX_CONTEXTS = 4 /* a step; of blocks, which have no frames */
	};
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct perl_walk *perl = perl_walk(runtime);
	for (int i = 0; i < MAX_CONTEXTS; i++) {
		if (perl->index < 0)
			return leave_stack(scratch);
		if (!read_context(runtime)) {
			perl->is_done = true;
			push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
			return false;
		}
		bool is_last = has_fixed_context(perl) && !perl->index;
		__u32 type = type_of_context(perl);
		bool is_block = type == PERL_EVAL && perl->context[0] & PERL_IS_BLOCK;
		perl->index--;
		if (type == PERL_SUB || type == PERL_FORMAT || (type == PERL_EVAL && !is_block))
			return leave_call(scratch) && !is_last;
		if (is_last || type == PERL_DEFER) {
			perl->has_own_env = false;
			return false;
		}
	}
	return true;
}

/* ---- the row ---- */

static const struct runtime_hooks perl_hooks = {
	.enter = perl_enter,
	.step = perl_step,
};

#endif
