/*
 * Script frames: those of the programs that an interpreter runs. Where the walk
 * comes to the loop of an interpreter, which the rule for the address says, the
 * frames that this loop has in hand are pushed, one a step, and then the walk
 * goes on with the loop's own native frame. So they stand in their true order
 * between native ones.
 *
 * A frame says which code it runs, and where in it. Code goes by a number, given
 * when it is seen for the first time in a process; its name is copied at that
 * very moment, when it cannot change, and sent ahead of the stack.
 */
#ifndef EBPROF_RUNTIME_BPF_H
#define EBPROF_RUNTIME_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/runtime/lua/lua.bpf.h"
#include "bpf/runtime/luajit/luajit.bpf.h"
#include "bpf/runtime/perl/perl.bpf.h"
#include "bpf/runtime/php/php.bpf.h"
#include "bpf/runtime/python/python.bpf.h"
#include "bpf/runtime/ruby/ruby.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/shadow.bpf.h"
#include "bpf/unwind_table.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* False: nothing is known of the file's runtime, or nothing is wanted. */
static __always_inline bool take_row(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct mapping *mapping = &scratch->walk.mapping;
	__u32 number = mapping->file;
	const struct unwind_file *file = bpf_map_lookup_elem(&files, &number);
	if (!file || !file->runtime)
		return false;
	number = file->runtime - 1;
	const struct runtime_row *row = bpf_map_lookup_elem(&runtime_rows, &number);
	if (!row)
		return false;
	runtime->row = *row;
	runtime->file = mapping->file;
	runtime->delta = mapping->delta;
	runtime->process = identify_process(scratch);
	runtime->has_thread = false;
	return true;
}

static __always_inline bool enter_loop(struct scratch *scratch)
{
	switch (scratch->walk.runtime.row.kind) {
#define X(constant, number, name) \
	case constant: \
		return name##_enter(scratch);
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
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (runtime->file != scratch->walk.mapping.file && !take_row(scratch))
		return 0;
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
#define X(constant, number, name) \
	case constant: \
		return name##_step(scratch);
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
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	bool goes_on = runtime->is_shadow ? shadow_step(runtime->high) : step_in_loop(scratch);
	if (!goes_on)
		runtime->state = RUNTIME_DONE;
	return goes_on;
}

/* Where in the loop it is as if its compiled code were there; 0: nothing is known of such code. */
static __always_inline __u64 runtime_resume(const struct runtime_walk *runtime)
{
	return runtime->row.kind == RUNTIME_PHP ? php_resume(runtime) : 0;
}

/* Whether the thread has script frames that belong to no native frame of the walk. */
static __always_inline bool runtime_has_rest(struct scratch *scratch)
{
	__u32 kind = scratch->walk.runtime.row.kind;
	bool is_other = is_shadowed(kind) && scratch->walk.runtime.shadow == RUNTIME_SHADOW_FOUND;
	return kind == RUNTIME_PHP && !is_other && php_has_rest(scratch);
}

/* The same of frames of its shadow stack: the interpreter's loop is not known, or was left. */
static __always_inline bool runtime_has_shadow_rest(struct runtime_walk *runtime)
{
	if (!config.shadow_runtimes || !find_shadow() || !runtime->shadow_left)
		return false;
	runtime->is_shadow = true;
	runtime->high = ~0ULL;
	return true;
}

/* One of these. 0: that was the last. */
__noinline int runtime_rest_step(void);
__noinline int runtime_rest_step(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	runtime_step();
	struct runtime_walk *runtime = &scratch->walk.runtime;
	runtime->state = RUNTIME_REST;
	return runtime->is_shadow ? runtime->shadow_left != 0 : runtime->php.frame != 0;
}

#endif
