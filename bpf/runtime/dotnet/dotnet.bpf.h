/*
 * .NET's CoreCLR. Methods run as code that was compiled ahead of time (ReadyToRun), which lies in
 * files and is unwound by their tables as any code of a file, and as code that is compiled at run
 * time, in memory of no file: that is what is done here. All of it keeps what its functions'
 * prologues do, see dotnet_x86_64.h and dotnet_arm64.h; on x86-64 its frame pointer skips frames.
 *
 * What is found of an address is kept for the next time, and good as long as the same header stands
 * ahead of its code.
 */
#ifndef EBPROF_DOTNET_BPF_H
#define EBPROF_DOTNET_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/dotnet/dotnet_arm64.bpf.h" /* or the other one: one is empty */
#include "bpf/runtime/dotnet/dotnet_row.h"
#include "bpf/runtime/dotnet/dotnet_x86_64.bpf.h"
#include "bpf/runtime/known_slot.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	DOTNET_KNOWN_SHIFT = 12,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << DOTNET_KNOWN_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct dotnet_known);
} dotnet_known_places SEC(".maps");

static __always_inline bool dotnet_claims_anonymous(struct scratch *scratch)
{
	return find_known_runtime(scratch, RUNTIME_DOTNET);
}

/* ---- names ---- */

/* Sends the code at hand, which gets a number. */
__noinline int dotnet_send_code(__u64 identity);
__noinline int dotnet_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	struct event_code *head = &record->head;
	struct dotnet_code *code = &dotnet_walk(&scratch->walk.runtime)->code;
	code->row = *dotnet_row(&scratch->walk.runtime);
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		head->address[i] = head->bytes[i] = head->whole_bytes[i] = 0;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = code->row.version;
	head->first_line = 0;
	head->address[RUNTIME_TEXT_LINES] = code->start | 1; /* something is to be read */
	head->bytes[RUNTIME_TEXT_LINES] = sizeof(*code);
	__builtin_memcpy(record->text, code, sizeof(*code));
	return send_marked_code(scratch, record, sizeof(*code), false, identity, CODE_IS_INLINED);
}

/* Gives the code at hand its number. */
__noinline int dotnet_number_code(void);
__noinline int dotnet_number_code(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	const struct dotnet_code *code = &dotnet->code;
	__u64 identity = mix(scratch->walk.runtime.process, code->start);
	identity = mix(mix(identity, code->header), code->method);
	dotnet->known.number = find_code(identity);
	if (!dotnet->known.number)
		dotnet->known.number = dotnet_send_code(identity);
	return 0;
}

/* Pushes the code that is known of the frame at hand. */
__noinline int dotnet_push(__u32 place);
__noinline int dotnet_push(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	const struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	if (dotnet->known.number)
		push_runtime_word(scratch, dotnet->known.number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
	return 0;
}

/* ---- frames ---- */

/* To the caller of the frame at hand, by the rule that is known of it. 0: that cannot be read. */
__noinline int dotnet_step(void);
__noinline int dotnet_step(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	bool is_outermost;
	return !unwind_step(UNWIND_NATIVE, &walk->regs, &dotnet_walk(&walk->runtime)->known.rule,
		read_stack, walk, &is_outermost);
}

/*
 * Stubs have no frame: the return address is at the top of the stack, but for up to two words that
 * some have pushed. 0: there is none, it is other code. So is what lies in no range that the
 * runtime knows, unless methods call it: the process may have code of other compilers.
 */
__noinline int dotnet_leave_stub(void);
__noinline int dotnet_leave_stub(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	__u64 ip = walk->regs.ip, sp = walk->regs.reg[UNWIND_SP];
	int is_left = 0;
	for (__u32 i = 0; i <= DOTNET_MAX_PUSHED && !is_left; i++)
		is_left = dotnet_try_return(8 * i);
	if (is_left && dotnet_walk(&walk->runtime)->code.header == DOTNET_STUB_HELPER &&
		!dotnet_take_section(walk->regs.ip - 1)) {
		walk->regs.ip = ip;
		walk->regs.reg[UNWIND_SP] = sp;
		return 0;
	}
	if (is_left)
		dotnet_number_code();
	return is_left;
}

/* What is known of the frame at hand, or found of it. 0: nothing; negative: only what code it is.
 */
__noinline int dotnet_take_frame(__u64 place);
__noinline int dotnet_take_frame(__u64 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	const struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	bool is_leaf = walk->is_exact;
	__u64 key = mix(mix(walk->runtime.process, place), is_leaf) | 1, header = 0;
	struct dotnet_known *known =
		known_slot(&dotnet_known_places, scratch, key, DOTNET_KNOWN_SHIFT);
	if (!known)
		return 0;
	if (known->place == key && read_word(known->start - 8, &header) &&
		header == known->header) {
		dotnet->known = *known;
		return 1;
	}
	if (!dotnet_take_code(place))
		return 0;
	dotnet->known.place = key;
	dotnet->known.start = dotnet->code.start;
	dotnet->known.header = dotnet->code.header;
	dotnet->known.is_stub = dotnet_is_stub(dotnet->code.header);
	if (dotnet->known.is_stub)
		return 1;
	if (dotnet->code.header == DOTNET_READY &&
		!read_word(dotnet->code.start - 8, &dotnet->known.header))
		return 0;
	__u64 offset = place - dotnet->section[DOTNET_SECTION_BEGIN] - dotnet->function.begin;
	/* First of all: the recorder, which reads its name, has the memory there that the rule is
	 * in, of which the process may not have used this mapping yet. */
	dotnet_number_code();
	if (!(is_leaf && dotnet_take_epilogue(place)) && !dotnet_take_rule(offset))
		return dotnet_take_prologue(offset) ? 1 : -1;
	*known = dotnet->known;
	return 1;
}

static __always_inline enum runtime_leave dotnet_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	const struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	bool is_leaf = walk->is_exact;
	__u32 place = walk->regs.ip - !is_leaf;
	if (!take_known_runtime(scratch, RUNTIME_DOTNET))
		return RUNTIME_STAYS;
	int found = dotnet_take_frame(walk->regs.ip - !is_leaf);
	if (!found)
		return RUNTIME_STAYS;
	bool is_stub = dotnet->known.is_stub;
	if (is_stub && (!is_leaf || !dotnet_leave_stub()))
		return RUNTIME_STAYS;
	place = (place - (__u32)dotnet->known.start) & (RUNTIME_FRAME_IS_LEAF - 1);
	dotnet_push(is_stub ? 0 : place | (is_leaf ? RUNTIME_FRAME_IS_LEAF : 0));
	if (!is_stub && (found < 0 || !dotnet_step()))
		return RUNTIME_PUSHED;
	walk->is_exact = false;
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- the row ---- */

static const struct runtime_hooks dotnet_hooks = {
	.has_compiler = true,
	.claims_anonymous = dotnet_claims_anonymous,
	.leave_jit = dotnet_leave_jit,
};

#endif
