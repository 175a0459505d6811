/*
 * CRuby, 2.7 to 3.4. Each thread, and each fiber of it, has an execution context with a stack of
 * control frames, which grows downwards: the first frame is the one that runs. rb_vm_exec() runs
 * frame after frame, through vm_exec_core() or through what a JIT compiler made of them, until the
 * one returns that it was called for, which is marked. So each native frame of rb_vm_exec() has the
 * frames up to the next mark. vm_exec_core() is a part of the loop, but not there while code of the
 * compiler runs.
 *
 * Methods that are written in C have control frames, too, but no code; they are called what their
 * method entry says.
 *
 * Sources: vm_core.h, vm.c, vm_insnhelper.c, iseq.h, method.h, symbol.c of
 * Ruby 2.7.4, 3.1.2, 3.3.8.
 */
#ifndef EBPROF_RUBY_BPF_H
#define EBPROF_RUBY_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/ruby/ruby_code.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	/* Words of a control frame and of an iseq. */
	RUBY_FRAME_PC = 0,
	RUBY_FRAME_ISEQ = 2,
	RUBY_FRAME_EP = 4,
	RUBY_ISEQ_BODY = 2,
	RUBY_ISEQ_WORDS = 3,

	/* Words of the three before an environment: what method it is of, what is around it, and
	 * what its frame is. */
	RUBY_ENVIRONMENT_METHOD = 0,
	RUBY_ENVIRONMENT_OUTER = 1,
	RUBY_ENVIRONMENT_FLAGS = 2,
	RUBY_MAX_BLOCKS = 8, /* around each other */

	/* What a frame is, the word that its environment begins with. */
	RUBY_FRAME_KIND_MASK = 0x7fff0001,
	RUBY_FRAME_CFUNC = 0x55550001,
	RUBY_FRAME_DUMMY = 0x79990001, /* the outermost, which runs nothing */
	RUBY_FRAME_IS_LOCAL = 2,       /* its environment is that of no block */
	RUBY_FRAME_FINISH = 0x20,
	RUBY_FRAME_IS_C = 0x80,
};

/* ---- the thread ---- */

struct ruby_context { /* struct rb_execution_context_struct */
	__u64 stack, words, frame;
};

static __always_inline bool take_context(struct runtime_walk *runtime, __u64 at)
{
	struct ruby_context context;
	if (!at || bpf_probe_read_user(&context, sizeof(context), (const void *)at))
		return false;
	__u64 end = context.stack + context.words * 8;
	if (!context.words || context.words >> 32 || context.frame < context.stack ||
		context.frame > end || context.frame & 7)
		return false;
	ruby_walk(runtime)->frame = context.frame;
	ruby_walk(runtime)->end = end;
	runtime->has_thread = true;
	return true;
}

/* Of both C libraries, whichever it is. */
static __always_inline bool find_context_by_slot(struct runtime_walk *runtime, __u64 thread)
{
	const struct ruby_row *row = ruby_row(runtime);
	__u64 slot = row->context - runtime->delta, context;
	return (slot_word(thread, slot, row->slot_more, GLIBC_MODULE_SHIFT, &context) &&
		       take_context(runtime, context)) ||
	       (slot_word(thread, slot, row->slot_more, MUSL_MODULE_SHIFT, &context) &&
		       take_context(runtime, context));
}

/* A thread's own structure says which one it is. */
static __always_inline bool is_ruby_thread(
	const struct ruby_row *row, __u64 structure, __u64 thread)
{
	__u64 id;
	return structure && read_word(structure + row->thread_id, &id) && id == thread;
}

/*
 * The global variable is of the thread that has the lock. One that has not got it is found through
 * its structure, which is the value of one of the first keys.
 */
static __always_inline bool find_context_by_key(struct runtime_walk *runtime, __u64 thread)
{
	const struct ruby_row *row = ruby_row(runtime);
	__u64 self = glibc_self(thread), structure, context;
	for (__u32 key = 0; key < 1 << GLIBC_BLOCK_KEYS_SHIFT; key++)
		if (glibc_value(self, key, &structure) && is_ruby_thread(row, structure, self))
			return read_word(structure + row->thread_context, &context) &&
			       take_context(runtime, context);
	return false;
}

static __always_inline bool find_context(struct runtime_walk *runtime)
{
	const struct ruby_row *row = ruby_row(runtime);
	__u64 thread = thread_pointer(), context = 0, structure = 0;
	if (row->flags & RUBY_CONTEXT_IS_IN_SLOT)
		return find_context_by_slot(runtime, thread);
	if (row->flags & RUBY_CONTEXT_IS_AT)
		return read_word(thread + row->context, &context) && take_context(runtime, context);
	if (row->flags & RUBY_CONTEXT_IS_BY_DISTANCE)
		return distance_word(
			       thread, row->context - runtime->delta, row->slot_more, &context) &&
		       take_context(runtime, context);
	if (read_word(row->context - runtime->delta, &context) &&
		read_word(context + row->context_thread, &structure) &&
		is_ruby_thread(row, structure, glibc_self(thread)))
		return take_context(runtime, context);
	return find_context_by_key(runtime, thread);
}

static __always_inline bool is_in_core(const struct ruby_row *row, __u64 offset)
{
	bool ret = false;
	for (int i = 0; i < RUBY_RANGES; i++)
		ret |= offset >= row->core_start[i] && offset < row->core_end[i];
	return ret;
}

/* ---- compiled code ---- */

/* A process's interpreter is at work before it has anything compiled. */
static __always_inline bool ruby_claims_anonymous(struct scratch *scratch)
{
	return find_known_runtime(scratch, RUNTIME_RUBY);
}

enum {
	RUBY_SEARCHED_WORDS = 32, /* of the stack; behind them, in the walk's window, the row */
};

/* Whether a call in the loop that is being looked for ends there. A global function: it is
 * verified once. */
__noinline int ruby_returns_to_loop(__u64 offset);
__noinline int ruby_returns_to_loop(__u64 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RUBY);
	if (!scratch)
		return 0;
	const __u64 *words = (const __u64 *)scratch->walk.window.bytes;
	const struct ruby_row *row = (const struct ruby_row *)(words + RUBY_SEARCHED_WORDS);
	return is_in_core(row, offset) || (offset > row->loop_start && offset < row->loop_end);
}

/*
 * Out of compiled code, whose frame is small and without rules, to the interpreter that called it:
 * the first word above the stack pointer that is an address in the interpreter's loop is where the
 * code returns to. It leaves the frame pointer alone, or has saved it first of all.
 */
static __always_inline enum runtime_leave ruby_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct unwind_registers *regs = &walk->regs;
	__u64 sp = regs->reg[UNWIND_SP];
	const struct known_runtime *known = find_known_runtime(scratch, RUNTIME_RUBY);
	const struct runtime_row *of_file = known ? row_of_number(known->row) : 0;
	__u64 *words = (__u64 *)walk->window.bytes, before = 0;
	walk->window.address = 0; /* what it has is overwritten */
	if (!of_file || of_file->kind != RUNTIME_RUBY ||
		bpf_probe_read_user(words, RUBY_SEARCHED_WORDS * sizeof(*words), (const void *)sp))
		return RUNTIME_STAYS;
	const struct ruby_row *row = (const struct ruby_row *)of_file->words;
	__u64 delta = known->delta;
	*(struct ruby_row *)(words + RUBY_SEARCHED_WORDS) = *row;
	for (__u32 i = 0; i < RUBY_SEARCHED_WORDS; i++) {
		asm volatile("" : "+r"(i)); /* or clang unrolls, with all words on the stack */
		if (i >= RUBY_SEARCHED_WORDS)
			break;
		__u64 at = sp + i * 8;
		bool is_return = ruby_returns_to_loop(words[i] + delta);
		if (is_return) {
			regs->ip = words[i];
			regs->reg[UNWIND_SP] = at + 8;
			if (regs->reg[UNWIND_FP] == at - 8)
				regs->reg[UNWIND_FP] = before;
			regs->known &= ~(1ULL << UNWIND_EXTRA);
			walk->is_exact = false;
			return RUNTIME_LEFT;
		}
		before = words[i];
	}
	return RUNTIME_STAYS;
}

/* ---- loops ---- */

static __always_inline bool ruby_enter(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct ruby_walk *ruby = ruby_walk(runtime);
	__u64 place = scratch->walk.regs.ip - !scratch->walk.is_exact;
	if (!runtime->has_thread) {
		ruby->is_core_done = ruby->is_entered = false;
		if (!find_context(runtime)) {
			push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_STATE);
			return false;
		}
	}
	bool is_core = is_in_core(ruby_row(runtime), place + runtime->delta),
	     is_first = !ruby->is_entered;
	ruby->is_entered = true;
	ruby->is_first = is_first && is_core && !scratch->walk.is_exact;
	if (ruby->is_core_done && !is_core) {
		ruby->is_core_done = false;
		return false;
	}
	ruby->is_core_done = is_core;
	return true;
}

/* ---- code ---- */

/* In words of instructions. The counter is ahead of the one that runs, or that called. */
static __always_inline __u32 place_in_iseq(const struct ruby_walk *ruby)
{
	__u64 place = ruby->frame_head[RUBY_FRAME_PC] - ruby->body_head[RUBY_BODY_INSTRUCTIONS];
	__u32 words = ruby->body_head[RUBY_BODY_SIZES] >> 32;
	place /= 8;
	return place && place <= words ? place - 1 : 0;
}

/* Of the code at an address: memory is used again for other code. */
static __always_inline __u64 identify_iseq(
	const struct scratch *scratch, const struct ruby_walk *ruby, __u32 info)
{
	__u64 identity = mix(scratch->walk.runtime.process, ruby->body_address);
	identity = mix(identity, ruby->body_head[RUBY_BODY_INSTRUCTIONS]);
	identity = mix(identity, ruby->body_head[RUBY_BODY_PATH]);
	identity = mix(identity, ruby->body_head[RUBY_BODY_LABEL]);
	identity = mix(identity, ruby->body_head[RUBY_BODY_FIRST_LINE]);
	identity = mix(identity, ruby->owner);
	identity = mix(identity, ruby->path);
	return mix(identity, word_of_body(ruby, info));
}

/* ---- methods ---- */

static __always_inline bool read_environment(struct ruby_walk *ruby, __u64 at)
{
	return !bpf_probe_read_user(ruby->environment, sizeof(ruby->environment),
		(const void *)(at - RUBY_ENVIRONMENT_FLAGS * 8));
}

/* The method entry of the environment at hand. False: it is of no method. */
static __always_inline bool read_method(struct ruby_walk *ruby)
{
	enum {
		WAYS = 2, /* what has $~ and $_ may stand between */
	};
	__u64 *method = ruby->method, at = ruby->environment[RUBY_ENVIRONMENT_METHOD];
	for (int i = 0; i < WAYS; i++) {
		if (!at || bpf_probe_read_user(method, sizeof(ruby->method), (const void *)at))
			return false;
		__u64 type = method[0] & RUBY_INTERNAL_MASK;
		if (type != RUBY_SPECIAL_VARIABLES)
			return type == RUBY_METHOD;
		at = method[1];
	}
	return false;
}

/* Whose method the frame at hand belongs to, as far as that is in its name. */
static __always_inline void find_owner(const struct ruby_row *row, struct ruby_walk *ruby)
{
	__u64 path = RUBY_CLASS_ATTACHED + RUBY_CLASS_PATH * 8;
	ruby->owner = ruby->path = 0;
	if (!row->is_singleton)
		return;
	for (int i = 0; i < RUBY_MAX_BLOCKS; i++) {
		__u64 outer = ruby->environment[RUBY_ENVIRONMENT_OUTER] & ~3ULL;
		if (ruby->environment[RUBY_ENVIRONMENT_FLAGS] & RUBY_FRAME_IS_LOCAL)
			break;
		if (!read_environment(ruby, outer))
			return;
	}
	if (!(ruby->environment[RUBY_ENVIRONMENT_FLAGS] & RUBY_FRAME_IS_LOCAL) ||
		!read_method(ruby))
		return;
	if (read_word(ruby->method[RUBY_METHOD_OWNER] + path, &ruby->path))
		ruby->owner = ruby->method[RUBY_METHOD_OWNER];
}

static __always_inline __u64 identify_method(
	const struct scratch *scratch, const struct ruby_walk *ruby)
{
	__u64 identity = mix(scratch->walk.runtime.process, ruby->method[RUBY_METHOD_DEFINITION]);
	identity = mix(identity, ruby->method[RUBY_METHOD_OWNER]);
	identity = mix(identity, ruby->definition[RUBY_DEFINITION_C_FUNCTION]);
	return mix(identity, ruby->definition[RUBY_DEFINITION_ID]);
}

/* Without a name the native frames say as much. */
static __always_inline void push_c_method(struct scratch *scratch)
{
	struct ruby_walk *ruby = ruby_walk(&scratch->walk.runtime);
	if (!ruby_row(&scratch->walk.runtime)->symbols || !read_method(ruby) ||
		bpf_probe_read_user(ruby->definition, sizeof(ruby->definition),
			(const void *)ruby->method[RUBY_METHOD_DEFINITION]) ||
		(ruby->definition[0] & RUBY_DEFINITION_TYPE_MASK) != RUBY_IS_C_METHOD)
		return;
	__u64 identity = identify_method(scratch, ruby);
	__u32 number = find_code(identity);
	if (!number)
		number = ruby_send_method(identity);
	if (number)
		push_runtime_word(scratch, number, 0);
}

/* ---- the step ---- */

static __always_inline void push_iseq(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct ruby_walk *ruby = ruby_walk(runtime);
	__u64 iseq[RUBY_ISEQ_WORDS], bytes = ruby_row(runtime)->body_bytes;
	const void *at = (const void *)ruby->frame_head[RUBY_FRAME_ISEQ];
	if (bpf_probe_read_user(iseq, sizeof(iseq), at)) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return;
	}
	if ((iseq[0] & RUBY_INTERNAL_MASK) != RUBY_ISEQ) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_TORN);
		return;
	}
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (RUBY_BODY_BYTES - 1)) + 1;
	ruby->body_address = iseq[RUBY_ISEQ_BODY];
	if (bpf_probe_read_user(ruby->body_head, bytes, (const void *)ruby->body_address)) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return;
	}
	find_owner(ruby_row(runtime), ruby);
	__u64 identity = identify_iseq(scratch, ruby, ruby_row(runtime)->body_info);
	__u32 number = find_code(identity);
	if (!number)
		number = ruby_send_iseq(identity);
	if (number)
		push_runtime_word(scratch, number, place_in_iseq(ruby));
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
}

/*
 * Whether C code has pushed the first frame for a loop that it has not called yet: then nothing in
 * it was done, but the innermost loop has called others, which it does only for what was begun.
 */
static __always_inline bool is_without_loop(const struct ruby_walk *ruby, __u64 flags)
{
	return flags & RUBY_FRAME_FINISH && !(flags & RUBY_FRAME_IS_C) &&
	       ruby->frame_head[RUBY_FRAME_ISEQ] &&
	       ruby->frame_head[RUBY_FRAME_PC] == ruby->body_head[RUBY_BODY_INSTRUCTIONS];
}

/*
 * The next frame of the loop at hand. False: there is none. A loop whose last frame has returned
 * takes those of the next one, and so on: the outermost loop comes to a frame that runs nothing.
 */
static __always_inline bool ruby_step(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct ruby_walk *ruby = ruby_walk(runtime);
	__u64 at = ruby->frame, bytes = ruby_row(runtime)->frame_bytes, flags;
	bool is_first = ruby->is_first;
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (RUBY_FRAME_BYTES - 1)) + 1;
	if (at + bytes > ruby->end)
		return false;
	ruby->frame = at + bytes;
	ruby->is_first = false;
	if (bpf_probe_read_user(ruby->frame_head, bytes, (const void *)at) ||
		!read_environment(ruby, ruby->frame_head[RUBY_FRAME_EP])) {
		ruby->frame = ruby->end;
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return false;
	}
	flags = ruby->environment[RUBY_ENVIRONMENT_FLAGS];
	ruby->body_head[RUBY_BODY_INSTRUCTIONS] = 0;
	__u64 kind = flags & RUBY_FRAME_KIND_MASK;
	if (kind == RUBY_FRAME_CFUNC)
		push_c_method(scratch);
	else if (!(flags & RUBY_FRAME_IS_C) && kind != RUBY_FRAME_DUMMY &&
		 ruby->frame_head[RUBY_FRAME_ISEQ])
		push_iseq(scratch);
	return !(flags & RUBY_FRAME_FINISH) || (is_first && is_without_loop(ruby, flags));
}

/* ---- the row ---- */

static const struct runtime_hooks ruby_hooks = {
	.enter = ruby_enter,
	.step = ruby_step,
	.claims_anonymous = ruby_claims_anonymous,
	.leave_jit = ruby_leave_jit,
};

#endif
