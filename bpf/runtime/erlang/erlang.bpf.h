/*
 * Erlang, as BEAM compiles it when modules are loaded (from OTP 25 on; there is no interpreter).
 * All of that is generated code, in no file. Each of Erlang's processes has a stack of its own, of
 * return addresses and terms, whose tags tell them apart: the low two bits of a return address are
 * 0, and those of no term on a stack are. So frames are found without their sizes. The stack ends
 * where the process returns to at its end.
 *
 * What is written in C (functions of the emulator, NIFs, drivers, the garbage collector) runs on
 * the stack of the scheduler, a thread: generated code switches to that stack ahead of a call, and
 * back behind it. So below such a call stand the frames of the process, whose stack pointer was
 * saved, and the way back says where: in the frame pointer, or in the process. Below the process
 * stand the frames of the scheduler itself, which has its registers at the end of its stack.
 *
 * Sources: erts/emulator/beam/jit/x86/{beam_asm.hpp,process_main.cpp,instr_common.cpp} and
 * beam/erl_process.[ch] of OTP 25 to 27; what these come to was seen in Debian's builds of OTP
 * 25.2.3, 27.3.4 and 29.1.2.
 */
#ifndef EBPROF_ERLANG_BPF_H
#define EBPROF_ERLANG_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/erlang/erlang_code.bpf.h"
#include "bpf/runtime/erlang/erlang_label.bpf.h"
#include "bpf/runtime/erlang/erlang_row.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

enum {
	ERLANG_PROCESS_TAG = 3, /* the low four bits of its first word */

	ERLANG_SCANNED = 32, /* words of the stack at once, ... */
	ERLANG_SCANS = 33,   /* ... so often: a frame has 1024 at most */
	ERLANG_FRAME_BYTES = 8192,
	ERLANG_RETURNS = 4,         /* places where a scheduler's return address may be */
	ERLANG_VALUES = 32,         /* of a thread, in glibc's first block */
	ERLANG_STACK_SEARCHED = 16, /* times ERLANG_SCANNED words of the scheduler's stack */
};

/* ---- the process ---- */

/* Whether an address is that of a process which a scheduler, `data`, has at hand. */
__noinline int erlang_is_process(__u64 address, __u64 data);
__noinline int erlang_is_process(__u64 address, __u64 data)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	const struct erlang_row *row = erlang_row(&scratch->walk.runtime);
	__u64 id = 0, scheduler = 0, stop = 0;
	return !(address & 7) && address >> 20 && !(address >> UNWIND_ADDRESS_BITS) &&
	       read_word(address + row->scheduler_at, &scheduler) && scheduler == data &&
	       read_word(address, &id) && (id & 15) == ERLANG_PROCESS_TAG &&
	       read_word(address + ERLANG_STOP, &stop) && stop;
}

/* The same of a word of the scheduler's stack: the process is taken then. */
__noinline int erlang_try_word(__u64 at, __u64 data);
__noinline int erlang_try_word(__u64 at, __u64 data)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	__u64 word = 0;
	if (read_stack(walk, at, &word) || word == erlang->process ||
		!erlang_is_process(word, data))
		return 0;
	erlang->process = word;
	return 1;
}

/* ... of ERLANG_SCANNED words. */
__noinline int erlang_search_words(__u64 from, __u64 to, __u64 data);
__noinline int erlang_search_words(__u64 from, __u64 to, __u64 data)
{
	int is_found = 0;
	for (int i = 0; i < ERLANG_SCANNED && from + i * 8 < to && !is_found; i++)
		is_found = erlang_try_word(from + i * 8, data);
	return is_found;
}

/*
 * The process that C code was called from, while the scheduler has a pseudo process at hand: in a
 * match program of ETS. Generated code had it in a register that callees preserve: so it still is
 * there, or on the stack.
 */
static __always_inline bool erlang_search_process(struct scratch *scratch, __u64 sp, __u64 data)
{
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u64 from = scratch->leaf.reg[UNWIND_SP];
	__u64 held = scratch->leaf.reg[ERLANG_PROCESS_REGISTER];
	if (erlang_is_process(held, data)) {
		erlang->process = held;
		return true;
	}
	for (int i = 0; i < ERLANG_STACK_SEARCHED && from < sp; i++) {
		if (erlang_search_words(from, sp, data))
			return true;
		from += ERLANG_SCANNED * 8;
	}
	return false;
}

/* Whether a value of the thread's is what it keeps of its scheduler; its process is taken then. */
__noinline int erlang_try_value(__u32 number, __u64 base);
__noinline int erlang_try_value(__u32 number, __u64 base)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	const struct erlang_row *row = erlang_row(&scratch->walk.runtime);
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u64 data = erlang->block[(number * 2 + 1) & (ERLANG_VALUES * 2 - 1)], first = 0, of = 0;
	if (!data || data & 63 || !read_word(data, &first) ||
		!read_word(data + row->current_at, &erlang->process) ||
		!read_word(erlang->process + row->scheduler_at, &of))
		return 0;
	if (base)
		return first == base && of == data;
	/* What a dirty one has at hand says what function it began with. */
	return !of &&
	       !bpf_probe_read_user(erlang->mfa, sizeof(erlang->mfa),
		       (const void *)(erlang->process + row->initial_at)) &&
	       erlang_is_atom(erlang->mfa[0]) && erlang_is_atom(erlang->mfa[1]) &&
	       erlang->mfa[2] <= ERLANG_MAX_ARITY;
}

/*
 * The process that the thread's scheduler has at hand, by what the thread keeps of its scheduler.
 * `base` is where the scheduler's data begin on its stack; 0: it is a dirty one, which has none.
 * `self` is glibc_self(): the caller finds it, since calls may be nested 8 deep and no more. 0:
 * none is found.
 */
__noinline int erlang_find_process(__u64 base, __u64 self);
__noinline int erlang_find_process(__u64 base, __u64 self)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u32 number = 0;
	__u64 stop = 0;
	if (bpf_probe_read_user(
		    erlang->block, ERLANG_VALUES * 16, (const void *)(self + GLIBC_FIRST_BLOCK)))
		return 0;
	while (number < ERLANG_VALUES && !erlang_try_value(number, base))
		number++;
	if (number == ERLANG_VALUES || !read_word(erlang->process + ERLANG_STOP, &stop))
		return 0;
	__u64 data = erlang->block[(number * 2 + 1) & (ERLANG_VALUES * 2 - 1)];
	return stop || (base && erlang_search_process(scratch, base, data));
}

/* ---- the stack of a process ---- */

/*
 * Whether the word in a slot leads to the next frame, as programs have it that keep frame pointers:
 * a return address is behind where it points to. Where heaps lie between modules it may be an
 * address of code else, and 512 searches for whose code it is are all that a walk may make.
 */
static __always_inline bool erlang_is_frame_pointer(struct walk *walk, __u64 word, __u64 slot)
{
	__u64 behind = 0;
	return word - slot - 8 < ERLANG_FRAME_BYTES && !read_stack(walk, word + 8, &behind) &&
	       !(behind & 3) && erlang_may_be_code(walk, behind);
}

/*
 * Takes the next slot: its word is in erlang->word. 0: it is no address of code; negative: it
 * cannot be read. Shared code is called from anywhere, so that the low bits of the address on top
 * of the stack may be others.
 */
__noinline int erlang_take_slot(__u32 is_any);
__noinline int erlang_take_slot(__u32 is_any)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return -1;
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	if (read_stack(walk, erlang->stack, &erlang->word))
		return -1;
	erlang->stack += 8;
	return (is_any || !(erlang->word & 3)) && erlang_may_be_code(walk, erlang->word) &&
	       !erlang_is_frame_pointer(walk, erlang->word, erlang->stack - 8);
}

/* The same of up to ERLANG_SCANNED slots, to the first that holds one. */
__noinline int erlang_scan_slots(__u32 is_shared);
__noinline int erlang_scan_slots(__u32 is_shared)
{
	int found = erlang_take_slot(is_shared);
	for (int i = 1; i < ERLANG_SCANNED && !found; i++)
		found = erlang_take_slot(false);
	return found;
}

/*
 * To the next frame of the stack: its code is at hand, of kind ERLANG_FUNCTION or ERLANG_EXIT. 0:
 * there is none; negative: the stack cannot be read.
 */
__noinline int erlang_next_frame(__u32 is_shared);
__noinline int erlang_next_frame(__u32 is_shared)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	for (int i = 0; i < ERLANG_SCANS; i++) {
		if (i && !runtime_may_try_as(&scratch->walk.runtime, ERLANG_TRIES_A_SCAN))
			return 0;
		int found = erlang_scan_slots(is_shared && !i);
		if (found < 0)
			return found;
		if (!found)
			continue;
		enum erlang_code_kind kind = erlang_take_code(erlang->word - 1);
		if (kind == ERLANG_FUNCTION || kind == ERLANG_EXIT)
			return 1;
	}
	return 0;
}

/* ---- the leaf ---- */

/* How many words the function at hand has last made room for on its stack, ahead of an address. */
__noinline int erlang_frame_words(__u64 address);
__noinline int erlang_frame_words(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u64 bytes = address - (erlang->code.info + ERLANG_INFO_BYTES);
	if (bytes > ERLANG_FRAME_SEARCHED)
		bytes = ERLANG_FRAME_SEARCHED;
	if (bpf_probe_read_user(
		    erlang->block, ERLANG_FRAME_SEARCHED, (const void *)(address - bytes)))
		return 0;
	int words = 0;
	for (__u32 i = 0; i < ERLANG_FRAME_SEARCHED && i < bytes && !words; i += ERLANG_ROOM_BYTES)
		words = erlang_room_ahead(bytes - i);
	return words;
}

/* Whether the call ahead of a return address goes to another function than `info`. */
static __always_inline bool erlang_calls_other(
	struct erlang_walk *erlang, __u64 return_address, __u64 info)
{
	__u64 target = erlang_call_target(erlang, return_address);
	return target && erlang_take_code(target) == ERLANG_FUNCTION && erlang->code.info != info;
}

/* The return address behind the room that the function at hand has made; 0: there is none. */
static __always_inline __u64 erlang_own_return(
	struct walk *walk, struct erlang_walk *erlang, __u64 address, __u64 sp)
{
	__u64 *own = &erlang->mfa[1], words = erlang_frame_words(address);
	erlang->kept[2] = sp + words * 8;
	if (erlang->kept[1] - 8 >= erlang->kept[2] || read_stack(walk, erlang->kept[2], own))
		return 0;
	if (*own > sp && *own - sp < ERLANG_MAX_STACK) { /* a frame pointer comes first */
		erlang->kept[2] += 8;
		if (read_stack(walk, erlang->kept[2], own))
			return 0;
	}
	return !(*own & 3) && erlang_may_be_code(walk, *own) ? *own : 0;
}

/*
 * A function that has made room for its variables and has not filled it yet has there what calls
 * before have left: return addresses among it. Where a frame is found in that room, and the call
 * ahead of it was of another function, the frame's own return address is taken, behind the room.
 */
__noinline int erlang_skip_stale(__u64 address, __u64 sp, __u64 info);
__noinline int erlang_skip_stale(__u64 address, __u64 sp, __u64 info)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	erlang->kept[0] = erlang->word;
	erlang->kept[1] = erlang->stack;
	erlang->kept_code = erlang->code;
	erlang->code.info = info;
	__u64 own = erlang_own_return(walk, erlang, address, sp);
	if (own && erlang_calls_other(erlang, erlang->kept[0], info) &&
		erlang_take_code(own - 1) != ERLANG_NO_CODE) {
		erlang->word = own;
		erlang->stack = erlang->kept[2] + 8;
		return 1;
	}
	erlang->code = erlang->kept_code;
	return 0;
}

/* ---- the step ---- */

/* The row of the process's BEAM is the walk's from now on; false: it has none. */
static __always_inline bool erlang_take_row(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct erlang_walk *erlang = erlang_walk(runtime);
	if (!take_known_runtime(scratch, RUNTIME_ERLANG))
		return false;
	if (!erlang_row(runtime)->is_complete) {
		runtime->file = runtime->row.kind = 0; /* it is to be taken once more */
		ask_to_complete(scratch, RUNTIME_ERLANG);
		return false;
	}
	if (!runtime->has_thread) {
		erlang->expected = 0;
		if (!erlang_read_tables())
			return false;
	}
	runtime->has_thread = true;
	return true;
}

static __always_inline bool erlang_claims_anonymous(struct scratch *scratch)
{
	return find_known_runtime(scratch, RUNTIME_ERLANG);
}

/* To where a call returns, if the word there is such an address, and may be the one. Global, since
 * Linux 5.10 refuses the loop around it where clang has put its end ahead of its beginning. */
__noinline int erlang_returns_by(__u64 at);
__noinline int erlang_returns_by(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	unsigned char code[UNWIND_CALL_BYTES];
	__u64 word = 0;
	if (!scratch || !read_word(at, &word) || !(word >> 20) || word >> UNWIND_ADDRESS_BITS ||
		bpf_probe_read_user(code, sizeof(code), (const void *)(word - sizeof(code))) ||
		!unwind_is_call(code) || !erlang_is_own_return(&scratch->walk, word, at))
		return 0;
	scratch->walk.regs.ip = word;
	scratch->walk.regs.reg[UNWIND_SP] = at + 8;
	return 1;
}

/*
 * The walk goes on with the frames of the scheduler, below all of its process. What began that made
 * room for its data and aligned them to 64 bytes: so its return address stands at one of a few
 * places. What is ahead of that was left by others, and may look like one; behind it are the frames
 * of who called. The last one is taken, which leaves out process_main(), which does nothing but
 * call.
 */
__noinline int erlang_go_to_scheduler(void);
__noinline int erlang_go_to_scheduler(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_ERLANG);
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	__u64 at = erlang->base + erlang_row(&walk->runtime)->registers_bytes + 8;
	erlang->expected = 0;
	walk->regs.ip = 0;
	walk->regs.reg[UNWIND_SP] = at;
	walk->regs.known = 1ULL << UNWIND_SP;
	walk->is_exact = false;
	if (!erlang->base)
		return 0;
	for (int i = ERLANG_RETURNS - 1; i >= 0; i--)
		if (erlang_returns_by(at + i * 16))
			return 1;
	return 0;
}

/*
 * To the next frame, as erlang_next_frame() found it, or, behind the last one, to the scheduler's
 * frames.
 */
static __always_inline void erlang_go_on(struct scratch *scratch, int found)
{
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	if (found <= 0)
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
	if (found <= 0 || erlang->code.kind == ERLANG_EXIT) {
		erlang_go_to_scheduler();
		return;
	}
	erlang->expected = erlang->word;
	walk->regs.ip = erlang->word;
	walk->regs.reg[UNWIND_SP] = erlang->stack;
	walk->regs.known = 1ULL << UNWIND_SP;
	walk->is_exact = false;
}

/*
 * Finds the stack of the process whose code the frame at hand is of, and the scheduler's data.
 * False: it cannot be found, or there is no process, *is_idle.
 */
static __always_inline bool erlang_find_stack(
	struct walk *walk, struct erlang_walk *erlang, bool *is_idle)
{
	const struct unwind_registers *regs = &walk->regs;
	bool has_process = walk->is_exact && regs->known >> ERLANG_PROCESS_REGISTER & 1;
	erlang->process = has_process ? regs->reg[ERLANG_PROCESS_REGISTER] : 0;
	if (erlang_is_at_stack(walk, erlang))
		return true;
	enum erlang_switch way = erlang_switch_at(regs->ip);
	*is_idle = way == ERLANG_SWITCH_SCHEDULER;
	if (way == ERLANG_SWITCH_REGISTER) {
		erlang->stack = regs->reg[ERLANG_STACK_REGISTER];
		return regs->known >> ERLANG_STACK_REGISTER & 1;
	}
	if (way != ERLANG_SWITCH_PROCESS ||
		(!has_process && !erlang_find_process(erlang->base, glibc_self(thread_pointer()))))
		return false;
	return read_word(erlang->process + ERLANG_STOP, &erlang->stack);
}

/*
 * The stack cannot be read: the garbage collector has freed it just now. What the process goes on
 * with is where its caller is.
 */
static __always_inline void erlang_push_caller(struct scratch *scratch)
{
	const struct erlang_row *row = erlang_row(&scratch->walk.runtime);
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	__u64 word = 0;
	if (erlang->process && read_word(erlang->process + row->resume_at, &word) &&
		erlang_take_code(word - 1) == ERLANG_FUNCTION)
		erlang_push_code(word - 1, false);
}

/* The walk has come to code of BEAM, which is at hand: Erlang's innermost frame. */
static __always_inline void erlang_begin(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	__u64 ip = walk->regs.ip;
	bool is_leaf = walk->is_exact, is_idle = false;
	bool has_stack = erlang_find_stack(walk, erlang, &is_idle);
	if (is_leaf && erlang_is_jump(erlang, ip)) {
		erlang->code.kind = ERLANG_SHARED;
		erlang->code.number = 0;
		erlang->code.place = 0; /* what is known of the address stays */
	}
	enum erlang_code_kind kind = erlang->code.kind;
	__u64 info = erlang->code.info;
	if (kind == ERLANG_FUNCTION || is_leaf || is_idle)
		erlang_push_code(ip - !is_leaf, is_leaf);
	if (is_idle) {
		erlang_go_to_scheduler();
		return;
	}
	__u64 from = erlang->stack;
	enum erlang_code_kind linked = ERLANG_NO_CODE;
	if (ERLANG_HAS_LINK && has_stack)
		linked = erlang_take_linked(kind == ERLANG_FUNCTION ? info : 0);
	if (linked == ERLANG_FUNCTION)
		erlang_push_code(erlang->link - 1, false);
	int found = 0;
	if (linked == ERLANG_EXIT)
		found = 1;
	else if (has_stack)
		found = erlang_next_frame(ERLANG_HAS_ANY_LOW_BITS && kind != ERLANG_FUNCTION);
	if (found < 0 && !linked)
		erlang_push_caller(scratch);
	if (found > 0 && !linked && is_leaf && kind == ERLANG_FUNCTION &&
		erlang->stack > from + 8 && erlang->stack - from < 1024 * 8)
		erlang_skip_stale(ip, from, info);
	erlang_go_on(scratch, found);
}

/* Whether the code at hand is BEAM's, and not that of something else which it runs. */
static __always_inline bool erlang_is_own(const struct walk *walk, const struct erlang_walk *erlang)
{
	__u64 place = walk->regs.ip - !walk->is_exact;
	return place >= erlang->low && place < erlang->high &&
	       erlang_take_code(place) != ERLANG_NO_CODE;
}

static __always_inline enum runtime_leave erlang_leave_jit(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct erlang_walk *erlang = erlang_walk(&walk->runtime);
	if (!erlang_take_row(scratch))
		return RUNTIME_STAYS;
	if (!walk->is_exact && erlang->expected == walk->regs.ip) {
		erlang_push_code(walk->regs.ip - 1, false);
		erlang_go_on(scratch, erlang_next_frame(false));
		return RUNTIME_LEFT_UNSEEN;
	}
	if (!erlang_is_own(walk, erlang))
		return RUNTIME_STAYS;
	erlang_begin(scratch);
	return RUNTIME_LEFT_UNSEEN;
}

/* ---- dirty schedulers ---- */

/*
 * What takes long, or waits, is run by threads of its own, in a loop that is written in C. Whose
 * work that is, is a process whose stack pointer was saved.
 */
static __always_inline bool erlang_enter(struct scratch *scratch)
{
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	if (!erlang_take_row(scratch) || !erlang_find_process(0, glibc_self(thread_pointer())) ||
		!read_word(erlang->process + ERLANG_STOP, &erlang->stack))
		return false;
	erlang->expected = 0;
	if (erlang_next_frame(true) > 0)
		return erlang->code.kind == ERLANG_FUNCTION;
	erlang_push_caller(scratch);
	push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
	return false;
}

static __always_inline bool erlang_step(struct scratch *scratch)
{
	struct erlang_walk *erlang = erlang_walk(&scratch->walk.runtime);
	erlang_push_code(erlang->word - 1, false);
	if (erlang_next_frame(false) > 0)
		return erlang->code.kind == ERLANG_FUNCTION;
	push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
	return false;
}

/* ---- the row ---- */

static const struct runtime_hooks erlang_hooks = {
	.has_compiler = true,
	.enter = erlang_enter,
	.step = erlang_step,
	.claims_anonymous = erlang_claims_anonymous,
	.leave_jit = erlang_leave_jit,
	.labels = erlang_labels,
};

#endif
