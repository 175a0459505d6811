/*
 * .NET's CoreCLR. Methods run as code that was compiled ahead of time (ReadyToRun), which lies in
 * files and is unwound by their tables as any code of a file, and as code that is compiled at run
 * time, in memory of no file: that is what is done here. All of it keeps UNWIND_INFO of its
 * functions; its frame pointer skips frames.
 *
 * What is found of an address is kept for the next time, and good as long as the same header stands
 * ahead of its code.
 */
#ifndef EBPROF_DOTNET_BPF_H
#define EBPROF_DOTNET_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/dotnet/dotnet_row.h"
#include "bpf/runtime/known_slot.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

#define DOTNET_HOOK     static __always_inline
#define DOTNET_FUNCTION __noinline
#include "bpf/runtime/dotnet/dotnet_code.h"

enum {
	DOTNET_KNOWN_SHIFT = 12,
	DOTNET_MAX_PUSHED = 2, /* words that a stub has pushed above its return address */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << DOTNET_KNOWN_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct dotnet_known);
} dotnet_known_places SEC(".maps");

_Static_assert(sizeof(struct dotnet_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

/* ---- the walk at hand, for dotnet_code.h ---- */

static __always_inline struct dotnet_walk *dotnet_walk(const struct runtime_walk *runtime)
{
	return (struct dotnet_walk *)runtime->words;
}

static __always_inline const struct dotnet_row *dotnet_row(const struct runtime_walk *runtime)
{
	return (const struct dotnet_row *)runtime->row.words;
}

static __always_inline struct dotnet_walk *dotnet_at_hand(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	return scratch ? dotnet_walk(&scratch->walk.runtime) : 0;
}

static __always_inline unsigned long long dotnet_table(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	return dotnet_row(&scratch->walk.runtime)->dac_table - scratch->walk.runtime.delta;
}

static __always_inline _Bool dotnet_has_map_links(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	return scratch && dotnet_row(&scratch->walk.runtime)->has_map_links;
}

static __always_inline long dotnet_read(void *to, unsigned int bytes, unsigned long long address)
{
	return bpf_probe_read_user(to, bytes, (const void *)address);
}

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

/* ---- where that is said in memory that is not there ---- */

/* The next push of a prologue, if a frame `offset` bytes into the function has done it. 0: it is
 * none. A register's place is counted from the return address down until all of them are known. */
__noinline int dotnet_take_push(__u32 offset);
__noinline int dotnet_take_push(__u32 offset)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct dotnet_walk *dotnet = dotnet_walk(&scratch->walk.runtime);
	__u32 code = dotnet_u32(dotnet, dotnet->at), is_high = (code & 0xff) == 0x41;
	__u32 op = (is_high ? code >> 8 : code) & 0xff, next = dotnet->at + 1 + is_high;
	if ((op & 0xf8) != 0x50 || next > offset)
		return 0;
	if (op == 0x55 && !is_high)
		dotnet->state.rbp = dotnet->state.size;
	if (op == 0x53 && !is_high)
		dotnet->state.rbx = dotnet->state.size;
	dotnet->state.size += 8;
	dotnet->at = next;
	return 1;
}

/* sub rsp, then lea rbp, of rsp, or mov */
static __always_inline void dotnet_take_frame_begin(struct dotnet_walk *dotnet, __u32 offset)
{
	__u32 at = dotnet->at, code = dotnet_u32(dotnet, at);
	bool is_short = (code & 0xffffff) == 0xec8348, is_long = (code & 0xffffff) == 0xec8148;
	__u32 size = is_short ? code >> 24 : is_long ? dotnet_u32(dotnet, at + 3) : 0;
	at += is_short ? 4 : is_long ? 7 : 0;
	if (at > offset)
		return;
	dotnet->state.size += size;
	code = dotnet_u32(dotnet, at);
	bool is_near = code == 0x246c8d48, is_far = code == 0x24ac8d48;
	bool is_move = (code & 0xffffff) == 0xec8b48;
	__u32 above = is_far ? dotnet_u32(dotnet, at + 4) : dotnet_u32(dotnet, at + 4) & 0xff;
	at += is_near ? 5 : is_far ? 8 : 3;
	dotnet->state.is_by_fp = (is_near || is_far || is_move) && at <= offset;
	dotnet->above = is_move ? 0 : above;
}

/*
 * The rule by the instructions of the prologue: the process has run these, but the page with what
 * it says of them may not be there yet, see dotnet_number_code(). It is believed where it leads
 * behind a call. 0: it does not.
 */
__noinline int dotnet_take_prologue(__u32 offset);
__noinline int dotnet_take_prologue(__u32 offset)
{
	enum {
		MAX_PUSHES = 8,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	struct unwind_info_state *state = &dotnet->state;
	__u64 begin = dotnet->section[DOTNET_SECTION_BEGIN] + dotnet->function.begin, ra = 0;
	if (bpf_probe_read_user(dotnet->bytes, DOTNET_CODE_BYTES, (const void *)begin))
		return 0;
	dotnet_begin_state(dotnet);
	dotnet->at = 0;
	for (int i = 0; i < MAX_PUSHES; i++)
		if (!dotnet_take_push(offset))
			break;
	dotnet_take_frame_begin(dotnet, offset);
	if (state->is_by_fp)
		state->size -= dotnet->above;
	if (state->rbp != UNWIND_INFO_NOT_PUSHED)
		state->rbp = state->size - 8 - state->rbp;
	if (state->rbx != UNWIND_INFO_NOT_PUSHED)
		state->rbx = state->size - 8 - state->rbx;
	unwind_info_put_rule(state, &dotnet->known.rule);
	__u64 base = walk->regs.reg[state->is_by_fp ? UNWIND_FP : UNWIND_SP];
	return !read_stack(walk, base + (__s64)state->size, &ra) &&
	       !bpf_probe_read_user(
		       dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) &&
	       unwind_is_call(dotnet->bytes);
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

/* Returns to what stands that far above the top of the stack, if it is behind a call. */
__noinline int dotnet_try_return(__u32 above);
__noinline int dotnet_try_return(__u32 above)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_DOTNET);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct dotnet_walk *dotnet = dotnet_walk(&walk->runtime);
	__u64 ra = 0;
	if (read_stack(walk, walk->regs.reg[UNWIND_SP] + above, &ra) ||
		bpf_probe_read_user(
			dotnet->bytes, UNWIND_CALL_BYTES, (const void *)(ra - UNWIND_CALL_BYTES)) ||
		!unwind_is_call(dotnet->bytes))
		return 0;
	walk->regs.ip = ra;
	walk->regs.reg[UNWIND_SP] += above + 8;
	return 1;
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
