/*
 * The user stack, one frame a step: find the mapping that holds the address,
 * the rule that its file has for it, and by the rule the caller. Nothing is set
 * up for a process; what is known of a file holds in all of them.
 *
 * Code that no rule covers (that of JIT compilers, or assembly) gets one try by
 * its frame pointer, and the frame found that way is flagged.
 */
#ifndef EBPROF_UNWIND_BPF_H
#define EBPROF_UNWIND_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/runtime/runtime.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/unwind_step.h"
#include "bpf/unwind_table.bpf.h"

/* ---- mappings ---- */

/* How often a file got no number, because they are used up. */
__u64 files_full;

/* 0 is the vDSO. */
static __always_inline __u32 next_file_number(const struct scratch *scratch)
{
	__u64 number = number_of_lane(scratch, scratch->nr_files);
	if (number < config.max_files)
		return number;
	__sync_fetch_and_add(&files_full, 1);
	return 0;
}

static __always_inline bool send_file(
	struct scratch *scratch, const struct mapping *mapping, __u32 number)
{
	struct event_file event = {
		.type = EVENT_FILE,
		.file = number,
		.pid = scratch->user.head.pid,
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->start + mapping->delta,
		.time_ns = scratch->user.head.time_ns,
	};
	return send(&event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

/*
 * The number of the mapping's file. 0: there is none to be had. A new one is
 * announced before it can be found, so that no stack of another CPU gets ahead
 * with a number that says nothing to the recorder.
 */
static __always_inline __u32 number_file(
	struct scratch *scratch, const struct mapping *mapping, struct file *file)
{
	struct file_key key = {};
	read_file_key(file, &key);
	__u32 *known = bpf_map_lookup_elem(&file_numbers, &key);
	if (known)
		return *known;
	__u32 number = next_file_number(scratch);
	if (!number || !send_file(scratch, mapping, number))
		return 0;
	scratch->nr_files++;
	if (!bpf_map_update_elem(&file_numbers, &key, &number, BPF_NOEXIST))
		return number;
	known = bpf_map_lookup_elem(&file_numbers, &key); /* another CPU was first */
	return known ? *known : 0;
}

static __always_inline void read_mapping(
	struct scratch *scratch, struct vm_area_struct *vma, __u64 address, struct mapping *mapping)
{
	struct mm_struct *mm = scratch->walk.space.mm;
	mapping->start = BPF_CORE_READ(vma, vm_start);
	mapping->end = BPF_CORE_READ(vma, vm_end);
	mapping->kind = EVENT_FRAME_ADDRESS;
	if (address < mapping->start || address >= mapping->end ||
		!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		mapping->start = mapping->end = 0;
		return;
	}
	struct file *file = BPF_CORE_READ(vma, vm_file);
	bool is_shared = file && is_nameless(file);
	if (file && !is_shared) {
		mapping->delta = (BPF_CORE_READ(vma, vm_pgoff) << 12) - mapping->start;
		mapping->file = number_file(scratch, mapping, file);
		if (mapping->file)
			mapping->kind = EVENT_FRAME_FILE;
	} else if (mapping->start == (__u64)BPF_CORE_READ(mm, context.vdso)) {
		mapping->delta = -mapping->start;
		mapping->file = 0;
		mapping->kind = EVENT_FRAME_VDSO;
	} else {
		mapping->delta = 0;
		mapping->file = is_shared;
		mapping->kind = EVENT_FRAME_ANONYMOUS;
	}
}

/* Not inlined: see stack bytes in bpf/scratch.bpf.h. */
static __noinline int find_mapping(struct scratch *scratch, __u64 address)
{
	struct walk *walk = &scratch->walk;
	struct cached_mapping *cached = cache_slot(address, scratch->lane);
	bool may_cache = cached && walk->space.identity;
	if (may_cache && cached->identity == walk->space.identity &&
		address >= cached->mapping.start && address < cached->mapping.end) {
		walk->mapping = cached->mapping;
		return 0;
	}
	struct vm_area_struct *vma = find_vma(walk->space.mm, address, walk->pivot);
	if (!vma) {
		walk->mapping.start = walk->mapping.end = 0;
		walk->mapping.kind = EVENT_FRAME_ADDRESS;
		return 0;
	}
	read_mapping(scratch, vma, address, &walk->mapping);
	if (may_cache && walk->mapping.kind != EVENT_FRAME_ADDRESS) {
		cached->identity = walk->space.identity;
		cached->mapping = walk->mapping;
	}
	return 0;
}

/* ---- runtimes ---- */

/* The same as a function of its own, for what is needed rarely. */
__noinline int map_address(__u64 address);
__noinline int map_address(__u64 address)
{
	struct scratch *scratch = get_scratch();
	if (scratch)
		find_mapping(scratch, address);
	return 0;
}

/*
 * Looks for a runtime in the program itself, when the walk has not come to one: where a compiler's
 * code is the leaf, say. It runs in the process's first thread, as far as it goes by this.
 */
static __always_inline bool take_program(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct mm_struct *mm = walk->space.mm;
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	if (walk->runtime.file)
		return true;
	__u64 end = BPF_CORE_READ(mm, end_code);
	if (!end || (__u32)pid_tgid != pid_tgid >> 32)
		return false;
	map_address(end - 1);
	return walk->mapping.kind == EVENT_FRAME_FILE && take_row(scratch);
}

/*
 * Code that a runtime's compiler made and that uses the native frame of the interpreter's loop:
 * the walk goes on as if it were in the loop. False: it is not such code.
 */
__noinline int resume_loop(void);
__noinline int resume_loop(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	__u64 resume = take_program(scratch) ? runtime_resume(&walk->runtime) : 0;
	if (!resume) {
		map_address(walk->regs.ip - !walk->is_exact); /* not that of the program any more */
		return 0;
	}
	walk->regs.ip = resume;
	walk->is_exact = true;
	map_address(resume);
	return 1;
}

/* Whether an address lies in a file with LuaJIT, whose row is taken then. */
static __always_inline bool take_luajit(struct scratch *scratch, __u64 address)
{
	struct walk *walk = &scratch->walk;
	map_address(address);
	return walk->mapping.kind == EVENT_FRAME_FILE &&
	       (walk->runtime.file == walk->mapping.file || take_row(scratch)) &&
	       walk->runtime.row.kind == RUNTIME_LUAJIT;
}

/*
 * Code of no file that LuaJIT's compiler made runs on top of the interpreter's native frame: the
 * walk goes on as if it were there. Which file the interpreter is in, says who called it, mostly
 * its own library; where other C code did, in a callback, the allocator that comes with it, or who
 * called the interpreter before. False: it is not such code.
 */
__noinline int resume_luajit(void);
__noinline int resume_luajit(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct runtime_walk *runtime = &walk->runtime;
	__u64 ip = walk->regs.ip, place = ip - !walk->is_exact;
	if (runtime->was_sought || (runtime->file && runtime->row.kind != RUNTIME_LUAJIT))
		return 0;
	runtime->was_sought = true;
	__u64 at = luajit_find_cframe(walk->regs.reg[UNWIND_SP]);
	if (!at)
		return 0;
	if (!take_luajit(scratch, runtime->luajit.cframe[JIT_CFRAME_RETURN] - 1) &&
		!take_luajit(scratch, jit_allocator(&runtime->luajit)) &&
		!take_luajit(scratch, jit_return_before(&runtime->luajit) - 1)) {
		map_address(place);
		return 0;
	}
	runtime->compiled = place;
	walk->regs.reg[UNWIND_SP] = at;
	walk->regs.known = 1ULL << UNWIND_SP;
	walk->regs.ip = runtime->row.luajit.loop - runtime->delta;
	walk->is_exact = true;
	map_address(walk->regs.ip);
	return 1;
}

/*
 * The native walk is over. Whether script frames are left: of whom the native frames cannot be had,
 * because they are on another stack (a fiber), or behind code that nobody claims.
 */
__noinline int begins_rest(void);
__noinline int begins_rest(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch || scratch->walk.end == EVENT_END_TABLE_PENDING)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!runtime_has_shadow_rest(runtime)) {
		if (scratch->walk.end != EVENT_END_COMPLETE && !take_program(scratch))
			return 0;
		if (!runtime->file || !runtime_has_rest(scratch))
			return 0;
	}
	runtime->state = RUNTIME_REST;
	return 1;
}

/* ---- frames ---- */

static __always_inline void push_frame(struct scratch *scratch, __u64 place)
{
	const struct mapping *mapping = &scratch->walk.mapping;
	struct walk *walk = &scratch->walk;
	__u64 frame = place & ((1ULL << 56) - 1);
	if (mapping->kind == EVENT_FRAME_ADDRESS) /* means something only here and now */
		walk->hash = mix(walk->hash, scratch->user.head.time_ns);
	if (mapping->kind == EVENT_FRAME_ANONYMOUS) /* ... and something else in each process */
		walk->hash = mix(walk->hash, scratch->user.head.pid);
	if (mapping->kind == EVENT_FRAME_FILE || mapping->kind == EVENT_FRAME_VDSO) {
		__u64 offset = place + mapping->delta;
		frame = (offset & ((1ULL << EVENT_FRAME_FILE_SHIFT) - 1)) |
			(__u64)mapping->file << EVENT_FRAME_FILE_SHIFT;
	}
	frame |= (__u64)mapping->kind << EVENT_FRAME_KIND_SHIFT;
	frame |= (__u64) !!walk->guess << EVENT_FRAME_GUESSED_SHIFT;
	push_word(scratch, frame);
}

static __always_inline bool is_by_frame_pointer(void)
{
	return config.call_graph == EVENT_CALL_GRAPH_FP;
}

/* The number of the rule for the frame at hand. Not EVENT_END_COMPLETE: there is none. */
static __always_inline enum event_stack_end rule_of_frame(
	struct scratch *scratch, __u64 place, __u32 *rule)
{
	const struct mapping *mapping = &scratch->walk.mapping;
	if (mapping->kind != EVENT_FRAME_FILE && mapping->kind != EVENT_FRAME_VDSO)
		return EVENT_END_JIT;
	__u32 number = mapping->file;
	__u64 offset = place + mapping->delta;
	__u64 where = ((__u64)number << EVENT_FRAME_FILE_SHIFT | offset) + 1;
	struct found_rule *found = found_rule_slot(where, scratch->lane);
	if (found && found->place == where && found->epoch == table_epoch) {
		*rule = found->rule;
		return *rule == UNWIND_RULE_NONE ? EVENT_END_NO_RULE : EVENT_END_COMPLETE;
	}
	struct unwind_file *file = bpf_map_lookup_elem(&files, &number);
	if (!file || file->state == UNWIND_TABLE_ABSENT)
		return EVENT_END_NO_TABLE;
	if (file->state == UNWIND_TABLE_DROPPED) {
		file->state = UNWIND_TABLE_NONE; /* first: the recorder may be quick */
		if (!send_file(scratch, mapping, number))
			file->state = UNWIND_TABLE_DROPPED;
	}
	if (file->state != UNWIND_TABLE_READY)
		return EVENT_END_TABLE_PENDING;
	if (file->epoch != table_epoch)
		file->epoch = table_epoch;
	*rule = find_rule(file, offset);
	if (found) {
		found->place = where;
		found->rule = *rule;
		found->epoch = table_epoch;
	}
	return *rule == UNWIND_RULE_NONE ? EVENT_END_NO_RULE : EVENT_END_COMPLETE;
}

/*
 * The same, but where no rule covers the address, and the frame pointer may be
 * one, it is gone by that: *guess says for what reason.
 */
static __always_inline enum event_stack_end choose_rule(
	struct scratch *scratch, __u64 place, __u32 *rule, __u8 *guess)
{
	*guess = EVENT_END_COMPLETE;
	*rule = UNWIND_RULE_FRAME_POINTER;
	if (is_by_frame_pointer())
		return EVENT_END_COMPLETE;
	enum event_stack_end end = rule_of_frame(scratch, place, rule);
	if (!end || end == EVENT_END_TABLE_PENDING || !unwind_may_guess(&scratch->walk.regs))
		return end;
	*guess = end;
	*rule = UNWIND_RULE_FRAME_POINTER;
	return EVENT_END_COMPLETE;
}

static __always_inline enum event_stack_end end_without_mapping(const struct walk *walk)
{
	if (is_by_frame_pointer())
		return EVENT_END_BROKEN_FRAME_POINTER;
	return walk->guess ? walk->guess : EVENT_END_NO_MAPPING;
}

/* To the caller by a rule, *is_exact as it is for the caller. */
static __always_inline enum event_stack_end step(
	struct walk *walk, const struct unwind_rule *rule, bool *is_outermost)
{
	*is_outermost = is_by_frame_pointer() && !walk->regs.reg[UNWIND_FP];
	if (*is_outermost)
		return EVENT_END_COMPLETE;
	walk->is_exact = rule->flags & UNWIND_SIGNAL_FRAME;
	return unwind_step(&walk->regs, rule, read_stack, walk, is_outermost);
}

/*
 * Whether script frames come before the frame at hand, whose rule this is: when it is that of an
 * interpreter's loop, and they are not done yet.
 */
static __always_inline bool begins_script_frames(
	struct scratch *scratch, const struct unwind_rule *rule)
{
	struct walk *walk = &scratch->walk;
	if (!(rule->flags & UNWIND_INTERPRETER) || walk->runtime.state != RUNTIME_OUTSIDE)
		return false;
	__u64 cfa;
	walk->runtime.state = RUNTIME_DONE;
	if (unwind_cfa(&walk->regs, rule, read_stack, walk, &cfa))
		return false;
	runtime_enter(cfa);
	return true;
}

/* Code of a JIT compiler, whose own runtime knows how to get out of it, or that says so itself. */
static __always_inline bool leaves_jit(struct scratch *scratch, __u64 place)
{
	bool is_trampoline = leave_trampoline();
	if (!is_trampoline && !ruby_leave_jit())
		return false;
	if (!is_trampoline || !is_python_trampoline(&scratch->walk.runtime))
		push_frame(scratch, place);
	scratch->walk.runtime.state = RUNTIME_OUTSIDE;
	scratch->walk.guess = EVENT_END_COMPLETE;
	scratch->walk.end = EVENT_END_DEPTH;
	return true;
}

/*
 * A jump to where no code is, by a pointer that is NULL or wrong: the thread was interrupted there,
 * and a handler of SIGSEGV may run on top. Nothing ran there, so the return address is where the
 * call put it, at the top of the stack; it must stand behind a call, since a return to a bad
 * address leaves nothing of the kind. False: none does.
 */
__noinline int leave_bad_jump(void);
__noinline int leave_bad_jump(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	unsigned char code[UNWIND_CALL_BYTES];
	__u64 place = walk->regs.ip, ra = 0;
	if (!walk->is_exact || read_stack(walk, walk->regs.reg[UNWIND_SP], &ra) || !ra)
		return 0;
	map_address(ra - 1);
	bool is_code = walk->mapping.end != 0;
	walk->mapping.start = walk->mapping.end = 0;
	walk->mapping.kind = EVENT_FRAME_ADDRESS;
	if (!is_code ||
		bpf_probe_read_user(code, sizeof(code), (const void *)(ra - sizeof(code))) ||
		!unwind_is_call(code))
		return 0;
	push_frame(scratch, place);
	unwind_undo_call(&walk->regs, ra);
	walk->is_exact = false;
	walk->guess = EVENT_END_COMPLETE;
	walk->end = EVENT_END_DEPTH;
	return 1;
}

/*
 * One frame of this lane's walk. 0: its caller is next; 1: that was all, and
 * walk.end says why. A frame whose table is pending is not pushed: it is the
 * first of those still to be unwound, and walk.regs are its registers.
 */
__noinline int unwind_frame(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 1;
	struct walk *walk = &scratch->walk;
	if (scratch->user.head.nr_frames >= EVENT_MAX_USER_FRAMES) {
		walk->end = EVENT_END_DEPTH;
		return 1;
	}
	if (walk->runtime.state == RUNTIME_REST)
		return !runtime_rest_step();
	if (walk->runtime.state == RUNTIME_RUNNING && runtime_step())
		return 0;
	__u64 place = walk->regs.ip - !walk->is_exact;
	if (place < walk->mapping.start || place >= walk->mapping.end)
		find_mapping(scratch, place);
	if (walk->mapping.kind == EVENT_FRAME_ANONYMOUS && !is_by_frame_pointer() &&
		(walk->mapping.file ? resume_loop() : resume_luajit()))
		place = walk->regs.ip;
	if (!walk->mapping.end) {
		if (!is_by_frame_pointer() && leave_bad_jump())
			return 0;
		walk->end = end_without_mapping(walk);
		/* The leaf may be anywhere, but in an exec the registers are still those of the
		 * program that was. */
		if (!scratch->user.head.nr_frames && !scratch->kernel.head.nr_frames)
			push_frame(scratch, place);
		return is_by_frame_pointer() || !begins_rest();
	}
	if (walk->mapping.kind == EVENT_FRAME_ANONYMOUS && !is_by_frame_pointer() &&
		leaves_jit(scratch, place))
		return 0;
	__u32 number = UNWIND_RULE_NONE;
	__u8 guess = EVENT_END_COMPLETE;
	enum event_stack_end end = choose_rule(scratch, place, &number, &guess);
	struct unwind_rule *rule = bpf_map_lookup_elem(&rules, &number);
	if (!rule)
		return 1; /* cannot be: numbers are checked when tables are made */
	if (!end && begins_script_frames(scratch, rule))
		return 0;
	walk->runtime.state = RUNTIME_OUTSIDE;
	if (end != EVENT_END_TABLE_PENDING)
		push_frame(scratch, unwind_place(place, walk->is_exact, rule));
	bool is_outermost = false;
	if (!end)
		end = step(walk, rule, &is_outermost);
	walk->end = end;
	if (end || is_outermost)
		return is_by_frame_pointer() || !begins_rest();
	walk->guess = guess;
	walk->end = EVENT_END_DEPTH;
	return 0;
}

#endif
