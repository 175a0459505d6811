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
#ifndef EBPROF_VM_BPF_H
#define EBPROF_VM_BPF_H

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
	struct vm_walk *vm = &scratch->walk.vm;
	const struct mapping *mapping = &scratch->walk.mapping;
	__u32 number = mapping->file;
	const struct unwind_file *file = bpf_map_lookup_elem(&files, &number);
	if (!file || !file->vm)
		return false;
	number = file->vm - 1;
	const struct vm_row *row = bpf_map_lookup_elem(&vm_rows, &number);
	if (!row)
		return false;
	vm->row = *row;
	vm->file = mapping->file;
	vm->delta = mapping->delta;
	vm->process = identify_process(scratch);
	vm->has_thread = false;
	return true;
}

static __always_inline bool enter_loop(struct scratch *scratch)
{
	switch (scratch->walk.vm.row.kind) {
#define X(constant, number, name) \
	case constant: \
		return name##_enter(scratch);
		VM_KINDS(X)
#undef X
	default:
		return false;
	}
}

/* The walk has come to an interpreter's loop, whose native frame ends at `cfa`. */
__noinline int vm_enter(__u64 cfa);
__noinline int vm_enter(__u64 cfa)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct vm_walk *vm = &scratch->walk.vm;
	if (vm->file != scratch->walk.mapping.file && !take_row(scratch))
		return 0;
	vm->low = scratch->walk.regs.reg[UNWIND_SP];
	vm->high = cfa;
	vm->nr_frames = scratch->user.head.nr_frames;
	vm->hash = scratch->walk.hash;
	vm->is_shadow = is_shadowed(vm->row.kind) && find_shadow();
	if (vm->is_shadow ? vm->shadow_left : enter_loop(scratch))
		vm->state = VM_RUNNING;
	return 0;
}

static __always_inline bool step_in_loop(struct scratch *scratch)
{
	switch (scratch->walk.vm.row.kind) {
#define X(constant, number, name) \
	case constant: \
		return name##_step(scratch);
		VM_KINDS(X)
#undef X
	default:
		return false;
	}
}

/*
 * The next script frame. 0: there is none any more, the native frame is next. A
 * global function, which the verifier looks at once.
 */
__noinline int vm_step(void);
__noinline int vm_step(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct vm_walk *vm = &scratch->walk.vm;
	bool goes_on = vm->is_shadow ? shadow_step(vm->high) : step_in_loop(scratch);
	if (!goes_on)
		vm->state = VM_DONE;
	return goes_on;
}

/* Where in the loop it is as if its compiled code were there; 0: nothing is known of such code. */
static __always_inline __u64 vm_resume(const struct vm_walk *vm)
{
	return vm->row.kind == VM_PHP ? php_resume(vm) : 0;
}

/* Whether the thread has script frames that belong to no native frame of the walk. */
static __always_inline bool vm_has_rest(struct scratch *scratch)
{
	__u32 kind = scratch->walk.vm.row.kind;
	bool is_other = is_shadowed(kind) && scratch->walk.vm.shadow == VM_SHADOW_FOUND;
	return kind == VM_PHP && !is_other && php_has_rest(scratch);
}

/* The same of frames of its shadow stack: the interpreter's loop is not known, or was left. */
static __always_inline bool vm_has_shadow_rest(struct vm_walk *vm)
{
	if (!config.shadow_vms || !find_shadow() || !vm->shadow_left)
		return false;
	vm->is_shadow = true;
	vm->high = ~0ULL;
	return true;
}

/* One of these. 0: that was the last. */
__noinline int vm_rest_step(void);
__noinline int vm_rest_step(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	vm_step();
	struct vm_walk *vm = &scratch->walk.vm;
	vm->state = VM_REST;
	return vm->is_shadow ? vm->shadow_left != 0 : vm->php.frame != 0;
}

#endif
