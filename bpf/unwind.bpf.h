/*
 * The user stack, one frame a step: find the mapping that holds the address,
 * the rule that its file has for it, and by the rule the caller. Nothing is set
 * up for a process; what is known of a file holds in all of them.
 *
 * Code of no file is first offered to the runtimes, whose compilers may have made it. Code that
 * neither a rule nor a runtime covers gets one try by its frame pointer, and the frame found that
 * way is flagged.
 */
#ifndef EBPROF_UNWIND_BPF_H
#define EBPROF_UNWIND_BPF_H

#include "bpf/code_mapping.bpf.h"
#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/runtime/runtime.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/unwind_table.bpf.h"
#include "bpf/uprobe_page.bpf.h"
#include "format/unwind/unwind_step.h"

/* ---- frames ---- */

static __always_inline bool is_by_frame_pointer(void)
{
	return config.call_graph == EVENT_CALL_GRAPH_FP;
}

static __always_inline void mark_table(struct unwind_file *file)
{
	if (file && file->epoch != table_epoch)
		file->epoch = table_epoch;
}

/* By the table of a file, or of the vDSO. */
static __always_inline enum event_stack_end search_rule(
	struct scratch *scratch, __u64 offset, struct unwind_rule *ret, __u32 *number)
{
	const struct mapping *mapping = &scratch->walk.mapping;
	struct unwind_file *file = bpf_map_lookup_elem(&files, &mapping->file);
	if (!file || file->state == UNWIND_TABLE_ABSENT)
		return EVENT_END_NO_TABLE;
	if (file->state == UNWIND_TABLE_DROPPED) {
		file->state = UNWIND_TABLE_NONE; /* first: the recorder may be quick */
		if (!send_file(scratch, mapping, mapping->file))
			file->state = UNWIND_TABLE_DROPPED;
	}
	if (file->state != UNWIND_TABLE_READY)
		return EVENT_END_TABLE_PENDING;
	mark_table(file);
	*number = find_rule(file, offset);
	const struct unwind_rule *rule = bpf_map_lookup_elem(&rules, number);
	if (!rule)
		return EVENT_END_NO_RULE; /* cannot be: numbers are checked when tables are made */
	*ret = *rule;
	return EVENT_END_COMPLETE;
}

/*
 * Puts the rule for the frame at hand into the walk. Not EVENT_END_COMPLETE: there is none. A
 * global function, since the verifier looks at it once.
 */
__noinline int rule_of_frame(__u64 place);
__noinline int rule_of_frame(__u64 place)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return EVENT_END_NO_RULE;
	const struct mapping *mapping = &scratch->walk.mapping;
	struct unwind_rule *rule = &scratch->walk.rule;
	if (!is_code_of_file(mapping))
		return EVENT_END_JIT;
	__u64 offset = place + mapping->delta;
	__u64 where = ((__u64)mapping->file << EVENT_FRAME_FILE_SHIFT | offset) + 1;
	struct found_rule *found = found_rule_slot(where, scratch->lane);
	if (!found)
		return EVENT_END_NO_RULE; /* cannot be */
	if (found->place != where) {
		__u32 number = UNWIND_RULE_NONE;
		enum event_stack_end end = search_rule(scratch, offset, rule, &number);
		if (end)
			return end;
		found->place = where;
		found->number = number;
		found->epoch = table_epoch;
		found->rule = *rule;
	} else if (found->epoch != table_epoch) {
		mark_table(bpf_map_lookup_elem(&files, &mapping->file));
		found->epoch = table_epoch;
	}
	*rule = found->rule;
	return found->number == UNWIND_RULE_NONE ? EVENT_END_NO_RULE : EVENT_END_COMPLETE;
}

/* How often the recorder was not asked to read code, since the ring was too full for a stack. */
__u64 code_unasked;

/*
 * What the recorder found by reading the code at the frame at hand: the rule is in the walk, if
 * there is one. enum code_rule_kind; CODE_RULE_UNKNOWN only when the recorder can be asked. Code
 * of no file is overwritten now and then, so a rule holds for the bytes that it was made from.
 */
__noinline int find_code_rule(void);
__noinline int find_code_rule(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch || !config.reads_code)
		return CODE_RULE_NONE;
	struct walk *walk = &scratch->walk;
	struct code_key key = {
		.space = code_space(scratch), .address = walk->regs.ip - !walk->is_exact};
	__u64 code[CODE_RULE_WORDS];
	if (is_code_of_file(&walk->mapping)) {
		key.space = walk->mapping.file;
		key.address += walk->mapping.delta;
	}
	const struct code_rule *known = bpf_map_lookup_elem(&code_rules, &key);
	if (known && known->kind != CODE_RULE_UNKNOWN &&
		!bpf_probe_read_user(code, sizeof(code), (const void *)walk->regs.ip) &&
		code[0] == known->code[0] && code[1] == known->code[1]) {
		__u32 number = known->rule;
		const struct unwind_rule *rule = bpf_map_lookup_elem(&rules, &number);
		if (known->kind != CODE_RULE_NONE && rule)
			walk->rule = *rule;
		return known->kind;
	}
	walk->asks = unread_bytes() <= config.snapshot_limit_bytes;
	if (!walk->asks)
		__sync_fetch_and_add(&code_unasked, 1);
	return walk->asks ? CODE_RULE_UNKNOWN : CODE_RULE_NONE;
}

/* The slot where the rule for a frame is found, if it was before. */
static __always_inline void prefetch_rule(const struct scratch *scratch, __u64 frame)
{
	__u64 where = (frame & ((1ULL << EVENT_FRAME_FOUND_SHIFT) - 1)) + 1;
	const volatile struct found_rule *found = found_rule_slot(where, scratch->lane);
	if (found)
		(void)found->place;
}

static __always_inline bool is_code_without_rule(enum event_stack_end end)
{
	return end == EVENT_END_NO_TABLE || end == EVENT_END_NO_RULE || end == EVENT_END_JIT;
}

/*
 * Before the recorder is asked to read generated code: whether its runtime is sought first, on the
 * stack, by frame pointers. The process may have one that was never met in it.
 */
static __always_inline bool seeks_runtime(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	if (walk->again == WALK_MISSED_CODE && compilers_met)
		walk->again = WALK_SEEKS;
	return walk->again == WALK_SEEKS;
}

/*
 * The same, but where no rule covers the address, by what the recorder read there. It is asked when
 * it has not read it yet: then the end is EVENT_END_TABLE_PENDING. Where nothing is found that way,
 * and the frame pointer may be one, it is gone by that: *guess says for what reason.
 */
static __always_inline enum event_stack_end choose_rule(
	struct scratch *scratch, __u64 place, __u8 *guess)
{
	__u32 number = UNWIND_RULE_FRAME_POINTER;
	enum event_stack_end end = EVENT_END_COMPLETE;
	*guess = EVENT_END_COMPLETE;
	if (!is_by_frame_pointer()) {
		end = rule_of_frame(place);
		enum code_rule_kind kind =
			is_code_without_rule(end) ? find_code_rule() : CODE_RULE_NONE;
		if (kind == CODE_RULE_UNKNOWN && end == EVENT_END_JIT && seeks_runtime(scratch))
			kind = CODE_RULE_NONE;
		if (kind == CODE_RULE_UNKNOWN)
			return EVENT_END_TABLE_PENDING;
		scratch->walk.finds = kind == CODE_RULE_READ      ? UNWIND_FOUND_BY_CODE
				      : kind == CODE_RULE_SCANNED ? UNWIND_FOUND_BY_SCAN
				      : kind == CODE_RULE_GUESSED ? UNWIND_FOUND_BY_FRAME_POINTER
								  : UNWIND_FOUND_BY_RULE;
		if (scratch->walk.finds & UNWIND_FOUND_GUESSED)
			*guess = end;
		if (kind != CODE_RULE_NONE)
			return EVENT_END_COMPLETE;
		if (!unwind_is_guess(UNWIND_NATIVE, &scratch->walk.regs, end))
			return end;
	}
	const struct unwind_rule *by_frame_pointer = bpf_map_lookup_elem(&rules, &number);
	if (!by_frame_pointer)
		return EVENT_END_NO_RULE; /* cannot be */
	*guess = end;
	/* The chain ends at 0, but where it does so at once there may be none. */
	if (is_by_frame_pointer() && !scratch->user.head.nr_frames)
		*guess = EVENT_END_BROKEN_FRAME_POINTER;
	scratch->walk.finds = UNWIND_FOUND_BY_FRAME_POINTER;
	scratch->walk.rule = *by_frame_pointer;
	return EVENT_END_COMPLETE;
}

static __always_inline enum event_stack_end end_without_mapping(const struct walk *walk)
{
	if (is_by_frame_pointer())
		return EVENT_END_BROKEN_FRAME_POINTER;
	return unwind_end_nowhere(walk->guess);
}

/* To the caller by a rule, *is_exact as it is for the caller. */
static __always_inline enum event_stack_end step(
	struct walk *walk, const struct unwind_rule *rule, bool *is_outermost)
{
	*is_outermost = is_by_frame_pointer() && !walk->regs.reg[UNWIND_FP];
	if (*is_outermost)
		return EVENT_END_COMPLETE;
	walk->is_exact = rule->flags & UNWIND_SIGNAL_FRAME;
	enum event_stack_end end =
		unwind_step(UNWIND_NATIVE, &walk->regs, rule, read_stack, walk, is_outermost);
	walk->regs.ip = without_signature(walk->regs.ip);
	/* Of code without frame pointers it is any number, that of a place in memory or not. */
	return end && is_by_frame_pointer() ? EVENT_END_BROKEN_FRAME_POINTER : end;
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
	if (unwind_cfa(UNWIND_NATIVE, &walk->regs, rule, read_stack, walk, &cfa))
		return false;
	runtime_enter(cfa);
	return true;
}

/* Whether code of no file was left by the runtime whose compiler made it, or is handed over. */
static __always_inline bool leaves_jit(struct scratch *scratch, __u64 place)
{
	enum runtime_leave left = runtime_leave_jit();
	scratch->walk.is_shown = left == RUNTIME_PUSHED;
	if (left == RUNTIME_PUSHED)
		return false;
	if (!left || left == RUNTIME_HANDED_OVER)
		return left;
	if (left == RUNTIME_LEFT)
		push_frame(scratch, place);
	scratch->walk.runtime.state = RUNTIME_OUTSIDE;
	scratch->walk.runtime.is_declined = false;
	scratch->walk.guess = EVENT_END_COMPLETE;
	scratch->walk.found = UNWIND_FOUND_BY_RULE;
	scratch->walk.end = EVENT_END_DEPTH;
	return true;
}

/*
 * A jump to where no code is, by a pointer that is NULL or wrong: the thread was interrupted there,
 * and a handler of SIGSEGV may run on top. Nothing ran there, so the return address is where the
 * call put it; it must stand behind a call, since a return to a bad address leaves nothing of the
 * kind. False: none does.
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
	if (!walk->is_exact || unwind_link(&walk->regs, read_stack, walk, &ra) || !ra)
		return 0;
	ra = without_signature(ra);
	find_mapping(ra - 1);
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
	walk->found = UNWIND_FOUND_BY_RULE;
	walk->end = EVENT_END_DEPTH;
	return 1;
}

/* Whether code is of no file, or is a runtime's own without rules. */
static __always_inline bool is_generated_code(struct scratch *scratch, __u64 place)
{
	const struct walk *walk = &scratch->walk;
	if (is_by_frame_pointer())
		return false;
	if (walk->mapping.kind == EVENT_FRAME_ANONYMOUS)
		return true;
	return walk->has_builtins && walk->mapping.kind == EVENT_FRAME_FILE &&
	       rule_of_frame(place) == EVENT_END_NO_RULE;
}

/*
 * The walk began in generated code, and whose that is was not known before it came to the file of
 * the runtime: the first time in each process.
 */
static __always_inline void begin_walk_again(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	restart_at_leaf(scratch);
	walk->mapping.start = walk->mapping.end = 0;
	begin_runtime_walk(&walk->runtime);
	walk->hash = first_hash();
	walk->guess = EVENT_END_COMPLETE;
	walk->found = UNWIND_FOUND_BY_RULE;
	walk->again = WALK_IS_AGAIN;
}

/* As unwind_frame(), but for a walk that seeks a runtime and ends. */
static __always_inline int unwind_one(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	if (scratch->user.head.nr_frames >= EVENT_MAX_USER_FRAMES) {
		walk->end = EVENT_END_DEPTH;
		return 1;
	}
	if (walk->runtime.state == RUNTIME_REST) {
		runtime_step();
		return !runtime_goes_on_with_rest();
	}
	if (walk->runtime.state == RUNTIME_OVER)
		return !runtime_begins_rest();
	if (walk->runtime.state == RUNTIME_RUNNING && runtime_step())
		return 0;
	if (is_in_uprobe_page(walk))
		leave_uprobe_page();
	__u64 place = walk->regs.ip - !walk->is_exact;
	walk->is_shown = false;
	if (place < walk->mapping.start || place >= walk->mapping.end) {
		find_mapping(place);
		bool has_missed = walk->again == WALK_MISSED_CODE || walk->again == WALK_SEEKS;
		if (meet_file(scratch) && has_missed) {
			begin_walk_again(scratch);
			return 0;
		}
	}
	if (is_generated_code(scratch, place)) {
		if (leaves_jit(scratch, place))
			return walk->runtime.is_handed_over;
		if (walk->again == WALK_GOES_ON)
			walk->again = WALK_MISSED_CODE;
		if (runtime_resume())
			place = walk->regs.ip;
	}
	if (!walk->mapping.end) {
		if (!is_by_frame_pointer() && leave_bad_jump())
			return 0;
		walk->end = end_without_mapping(walk);
		/* The leaf may be anywhere, but in an exec the registers are still those of the
		 * program that was. */
		if (!scratch->user.head.nr_frames && !scratch->kernel.head.nr_frames)
			push_frame(scratch, place);
		return is_by_frame_pointer() || !runtime_begins_rest();
	}
	__u8 guess = EVENT_END_COMPLETE;
	enum event_stack_end end = choose_rule(scratch, place, &guess);
	const struct unwind_rule *rule = &walk->rule;
	if (!end && begins_script_frames(scratch, rule))
		return walk->runtime.is_handed_over;
	walk->runtime.state = RUNTIME_OUTSIDE;
	walk->runtime.is_declined = false;
	if (end != EVENT_END_TABLE_PENDING && !walk->is_shown)
		push_frame(scratch, unwind_place(place, walk->is_exact, rule->ra));
	bool is_outermost = false;
	if (!end)
		end = step(walk, rule, &is_outermost);
	walk->end = is_outermost ? unwind_end_at_root(walk->finds, guess) : end;
	if (end || is_outermost)
		return is_by_frame_pointer() || !runtime_begins_rest();
	walk->guess = guess;
	walk->found = walk->finds;
	walk->end = EVENT_END_DEPTH;
	return 0;
}

/*
 * One frame of this lane's walk. 0: its caller is next; 1: that was all, and
 * walk.end says why, or the program of the other group of runtimes is to go on. A frame whose table
 * is pending is not pushed: it is the first of those still to be unwound, and walk.regs are its
 * registers.
 */
__noinline int unwind_frame(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 1;
	int is_over = unwind_one(scratch);
	if (is_over && scratch->walk.again == WALK_SEEKS && !scratch->walk.runtime.is_handed_over) {
		begin_walk_again(scratch);
		return 0;
	}
	return is_over;
}

#endif
