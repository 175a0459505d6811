/*
 * Script frames: those of the programs that a language runtime runs. Where the walk
 * comes to the loop of an interpreter, which the rule for the address says, the
 * frames that this loop has in hand are pushed, one a step, and then the walk
 * goes on with the loop's own native frame. So they stand in their true order
 * between native ones.
 *
 * A frame says which code it runs, and where in it. Code goes by a number, given
 * when it is seen for the first time in a process; its name is copied at that
 * very moment, when it cannot change, and sent ahead of the stack.
 *
 * What is particular to a runtime is in the hooks of its row, struct runtime_hooks NAME_hooks in
 * bpf/runtime/NAME/NAME.bpf.h. They are constants: the compiler turns each call of a hook into
 * a call of the function, or into nothing where there is none.
 */
#ifndef EBPROF_RUNTIME_BPF_H
#define EBPROF_RUNTIME_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/dotnet/dotnet.bpf.h"
#include "bpf/runtime/erlang/erlang.bpf.h"
#include "bpf/runtime/go/go.bpf.h"
#include "bpf/runtime/java/java.bpf.h"
#include "bpf/runtime/lua/lua.bpf.h"
#include "bpf/runtime/luajit/luajit.bpf.h"
#include "bpf/runtime/node/node.bpf.h"
#include "bpf/runtime/perl/perl.bpf.h"
#include "bpf/runtime/php/php.bpf.h"
#include "bpf/runtime/python/python.bpf.h"
#include "bpf/runtime/racket/racket.bpf.h"
#include "bpf/runtime/ruby/ruby.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/shadow.bpf.h"

#include <bpf/bpf_helpers.h>

/* Calls a hook of the row that the walk has. False: that has no such hook, or there is no row. */
#define CALL_HOOK(hook, constant, name) \
	case constant: \
		return has_runtime(constant) && name##_hooks.hook && name##_hooks.hook(scratch);

/* ---- files ---- */

/* Whether any process was seen to have a runtime with generated code. */
volatile __u32 compilers_met;

/* The walk has come to a mapping of a file, which may have a runtime whose code is in no file, or
 * labels: that the process has it is remembered. True: it is of the former kind, and the process
 * was not known to have it. */
static __always_inline bool meet_file(struct scratch *scratch)
{
	const struct mapping *mapping = &scratch->walk.mapping;
	__u32 number = 0;
	const struct runtime_row *row =
		mapping->kind == EVENT_FRAME_FILE ? row_of_mapping(mapping, &number) : 0;
	bool has_compiler = false, has_labels = false, has_builtins = false;
#define X(constant, number, name) \
	if (row && row->kind == constant) { \
		has_compiler = name##_hooks.has_compiler; \
		has_labels = name##_hooks.labels; \
		has_builtins = name##_hooks.has_builtins; \
	}
	RUNTIMES(X)
#undef X
	scratch->walk.has_builtins = has_builtins;
	bool is_new = (has_compiler || has_labels) && remember_runtime(scratch, row->kind, number);
	if (has_compiler && is_new)
		compilers_met = 1;
	return has_compiler && is_new;
}

/* ---- the other group ---- */

/* Whether the programs of the other group were loaded to find the frames of a runtime. */
static __always_inline bool is_of_other_group(__u32 kind)
{
	return config.other_runtimes >> (kind & 31) & 1;
}

/* The program of the other group goes on with the walk, where it stands. */
static __always_inline void hand_over(struct runtime_walk *runtime)
{
	runtime->group = config.other_runtimes & RUNTIME_MASK_OF_COMPILERS ? RUNTIME_GROUP_COMPILERS
									   : RUNTIME_GROUP_LOOPS;
	runtime->is_handed_over = true;
}

/* Whether generated code that none of this group claims may be of the other one. */
static __always_inline bool may_be_of_other_group(struct scratch *scratch)
{
	if (!config.other_runtimes || scratch->walk.runtime.is_declined)
		return false;
#define X(constant, number, name) \
	if (is_of_other_group(constant) && name##_hooks.claims_anonymous && \
		find_known_runtime(scratch, constant)) \
		return true;
	RUNTIMES(X)
#undef X
	return false;
}

/* ---- loops ---- */

static __always_inline bool enter_loop(struct scratch *scratch)
{
	switch (scratch->walk.runtime.row.kind) {
#define X(constant, number, name) CALL_HOOK(enter, constant, name)
		RUNTIMES(X)
#undef X
	default:
		return false;
	}
}

/* The walk has come to an interpreter's loop, whose native frame ends at `cfa`. */
__noinline int runtime_enter(__u64 cfa);
__noinline int runtime_enter(__u64 cfa)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (runtime->file != scratch->walk.mapping.file && !take_row())
		return 0;
	if (is_of_other_group(runtime->row.kind) && !is_shadowed(runtime->row.kind)) {
		runtime->state = RUNTIME_OUTSIDE;
		hand_over(runtime);
		return 0;
	}
	runtime->low = scratch->walk.regs.reg[UNWIND_SP];
	runtime->high = cfa;
	runtime->nr_frames = scratch->user.head.nr_frames;
	runtime->hash = scratch->walk.hash;
	runtime->is_shadow = is_shadowed(runtime->row.kind) && find_shadow();
	if (runtime->is_shadow ? runtime->shadow_left : enter_loop(scratch))
		runtime->state = RUNTIME_RUNNING;
	return 0;
}

static __always_inline bool step_in_loop(struct scratch *scratch)
{
	switch (scratch->walk.runtime.row.kind) {
#define X(constant, number, name) CALL_HOOK(step, constant, name)
		RUNTIMES(X)
#undef X
	default:
		return false;
	}
}

/*
 * The next script frame. 0: there is none any more, the native frame is next. A
 * global function, which the verifier looks at once.
 */
__noinline int runtime_step(void);
__noinline int runtime_step(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	bool goes_on = runtime->is_shadow ? shadow_step(runtime->high) : step_in_loop(scratch);
	if (!goes_on)
		runtime->state = RUNTIME_DONE;
	return goes_on;
}

/* ---- code of no file ---- */

/* The first runtime that claims the code decides. */
static __always_inline bool resume_in_loop(struct scratch *scratch)
{
#define X(constant, number, name) \
	if (has_runtime(constant) && name##_hooks.resume && \
		name##_hooks.claims_anonymous(scratch)) \
		return name##_hooks.resume(scratch);
	RUNTIMES(X)
#undef X
	return false;
}

/*
 * Where the frame at hand is of code that a runtime's compiler made and that uses the native frame
 * of its interpreter's loop, the walk goes on as if it were in that loop. 0: it is not.
 */
__noinline int runtime_resume(void);
__noinline int runtime_resume(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	bool is_resumed = resume_in_loop(scratch);
	__u64 place = walk->regs.ip - !walk->is_exact;
	if (place < walk->mapping.start || place >= walk->mapping.end)
		find_mapping(place); /* a hook may have looked at others, too */
	return is_resumed;
}

/* Takes the walk out of the frame at hand, if a runtime's compiler made its code. */
__noinline int runtime_leave_jit(void);
__noinline int runtime_leave_jit(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	enum runtime_leave left = RUNTIME_STAYS;
	if (!scratch)
		return RUNTIME_STAYS;
#define X(constant, number, name) \
	if (has_runtime(constant) && !left && name##_hooks.leave_jit && \
		name##_hooks.claims_anonymous(scratch)) \
		left = name##_hooks.leave_jit(scratch);
	RUNTIMES(X)
#undef X
	if (left || !may_be_of_other_group(scratch))
		return left;
	scratch->walk.runtime.is_declined = true;
	hand_over(&scratch->walk.runtime);
	return RUNTIME_HANDED_OVER;
}

/* ---- frames that are left when the native walk is over ---- */

/* Whether the thread has script frames that belong to no native frame of the walk. */
static __always_inline bool has_rest(struct scratch *scratch)
{
	switch (scratch->walk.runtime.row.kind) {
#define X(constant, number, name) CALL_HOOK(has_rest, constant, name)
		RUNTIMES(X)
#undef X
	default:
		return false;
	}
}

/* The same of frames of its shadow stack: the interpreter's loop is not known, or was left. */
static __always_inline bool has_shadow_rest(struct runtime_walk *runtime)
{
	if (!config.shadow_runtimes || !find_shadow() || !runtime->shadow_left)
		return false;
	runtime->is_shadow = true;
	runtime->high = ~0ULL;
	return true;
}

/*
 * The native walk is over. Whether script frames are left: of whom the native frames cannot be had,
 * because they are on another stack (a fiber), or behind code that no runtime claims.
 */
__noinline int runtime_begins_rest(void);
__noinline int runtime_begins_rest(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch || scratch->walk.end == EVENT_END_TABLE_PENDING)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!has_shadow_rest(runtime)) {
		if (scratch->walk.end != EVENT_END_COMPLETE && !take_program())
			return 0;
		bool is_other =
			is_shadowed(runtime->row.kind) && runtime->shadow == RUNTIME_SHADOW_FOUND;
		if (runtime->file && !is_other && is_of_other_group(runtime->row.kind)) {
			runtime->state = RUNTIME_OVER;
			hand_over(runtime);
			return 0;
		}
		if (!runtime->file || is_other || !has_rest(scratch))
			return 0;
	}
	runtime->state = RUNTIME_REST;
	return 1;
}

/* Behind runtime_step(), which pushed one of these. 0: that was the last. */
__noinline int runtime_goes_on_with_rest(void);
__noinline int runtime_goes_on_with_rest(void)
{
	struct scratch *scratch = scratch_of_runtimes();
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	runtime->state = RUNTIME_REST;
	return runtime->is_shadow ? runtime->shadow_left != 0 : has_rest(scratch);
}

#endif
