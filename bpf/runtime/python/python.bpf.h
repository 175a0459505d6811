/*
 * CPython, 3.6 to 3.15. A thread's state leads to the frame that runs, and each frame to its
 * caller. Until 3.10 the interpreter's loop calls itself for each frame; since 3.11 one loop runs
 * frame after frame, and goes on as long as they call each other without C code in between.
 *
 * Which frames belong to the loop at hand is not guessed: the record (3.11, 3.12) or the frame
 * (since 3.12) that ends them lies in the loop's own native frame. A loop that is just beginning or
 * ending has neither, and no script frames yet.
 *
 * Sources: Include/internal/pycore_frame.h, Include/cpython/{pystate,code}.h, Python/ceval.c of
 * CPython 3.6.15, 3.8.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0; Include/cpython/code.h and
 * Include/internal/pycore_interpframe.h of 3.14.10 for copies of code.
 */
#ifndef EBPROF_PYTHON_BPF_H
#define EBPROF_PYTHON_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/python/python_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct python_walk {
	__u64 state;    /* whose frames these are: of the thread in one of the interpreters */
	__u64 frame;    /* the next; 0: no more */
	__u64 cframe;   /* with PYTHON_HAS_CFRAME, that of the next loop */
	__u64 first;    /* of this loop */
	__u64 entering; /* a frame that the loop was called for and has not yet in hand; or 0 */
	__u64 code_address;
	__u64 frame_head[PYTHON_FRAME_BYTES / 8];
	__u64 code_head[PYTHON_CODE_BYTES / 8];
};

_Static_assert(sizeof(struct python_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct python_walk *python_walk(const struct runtime_walk *runtime)
{
	return (struct python_walk *)runtime->words;
}

static __always_inline const struct python_row *python_row(const struct runtime_walk *runtime)
{
	return (const struct python_row *)runtime->row.words;
}

/* ---- the thread ---- */

/* The thread that was interrupted: its pointer, and what pthread_self() is, of either library. */
struct python_thread {
	__u64 pointer, glibc, musl;
};

static __always_inline struct python_thread python_thread(void)
{
	__u64 thread = thread_pointer();
	return (struct python_thread){thread, glibc_self(thread), musl_self(thread)};
}

/* Whether it is the state of this very thread: it says which one itself. */
static __always_inline bool is_state_of(
	const struct python_row *row, __u64 state, const struct python_thread *thread)
{
	__u64 id;
	return state && read_word(state + row->thread_id, &id) && id &&
	       (id == thread->glibc || id == thread->musl);
}

/* The same from 3.15 on: in a variable of the thread. */
static __always_inline __u64 find_state_variable(
	const struct runtime_walk *runtime, const struct python_thread *thread)
{
	const struct python_row *row = python_row(runtime);
	__u64 slot = row->key - runtime->delta, state;
	if (row->flags & PYTHON_STATE_IS_AT)
		return read_word(thread->pointer + row->key, &state) &&
				       is_state_of(row, state, thread)
			       ? state
			       : 0;
	if (row->flags & PYTHON_STATE_IS_BY_DISTANCE)
		return distance_word(thread->pointer, slot, row->slot_more, &state) &&
				       is_state_of(row, state, thread)
			       ? state
			       : 0;
	if (slot_word(thread->pointer, slot, row->slot_more, GLIBC_MODULE_SHIFT, &state) &&
		is_state_of(row, state, thread))
		return state;
	return slot_word(thread->pointer, slot, row->slot_more, MUSL_MODULE_SHIFT, &state) &&
			       is_state_of(row, state, thread)
		       ? state
		       : 0;
}

/* The thread's first state, which it keeps in each interpreter that it runs (until 3.12). */
static __always_inline __u64 find_first_state(const struct runtime_walk *runtime)
{
	const struct python_row *row = python_row(runtime);
	struct python_thread thread = python_thread();
	__u64 state = 0;
	__u32 key = 0;
	if (row->flags &
		(PYTHON_STATE_IS_AT | PYTHON_STATE_IS_IN_SLOT | PYTHON_STATE_IS_BY_DISTANCE))
		return find_state_variable(runtime, &thread);
	const void *key_address = (const void *)(row->key - runtime->delta);
	if (bpf_probe_read_user(&key, sizeof(key), key_address) || key >= GLIBC_MAX_KEYS)
		return 0;
	if (glibc_value(thread.glibc, key, &state) && is_state_of(row, state, &thread))
		return state;
	return musl_value(thread.musl, key, &state) && is_state_of(row, state, &thread) ? state : 0;
}

/* The state that the thread runs with, when it has the lock of the interpreters. */
static __always_inline __u64 find_current_state(const struct runtime_walk *runtime)
{
	const struct python_row *row = python_row(runtime);
	struct python_thread thread = python_thread();
	__u64 state = 0;
	bool is_ours = row->current && read_word(row->current - runtime->delta, &state) &&
		       is_state_of(row, state, &thread);
	return is_ours ? state : 0;
}

static __always_inline bool take_state(struct runtime_walk *runtime, __u64 state)
{
	__u64 first = 0;
	if (!state || !read_word(state + python_row(runtime)->thread_frame, &first))
		return false;
	python_walk(runtime)->state = state;
	python_walk(runtime)->frame = python_walk(runtime)->cframe = first;
	runtime->has_thread = true;
	return true;
}

/*
 * A thread has a state for each interpreter that it runs. The frames of one are done: the loops
 * further out are those of the one it began with. A global function, since it is needed rarely.
 */
__noinline int python_leave_interpreter(void);
__noinline int python_leave_interpreter(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_PYTHON);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	__u64 state = find_first_state(runtime);
	return state != python_walk(runtime)->state && take_state(runtime, state);
}

/* A global function like that. */
__noinline int python_find_thread(void);
__noinline int python_find_thread(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_PYTHON);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	__u64 state = find_current_state(runtime);
	return take_state(runtime, state ? state : find_first_state(runtime));
}

/* ---- loops ---- */

/* To the frames of the loop at hand. False: it has none. */
static __always_inline bool enter_by_cframe(struct runtime_walk *runtime)
{
	enum {
		MAX_LOOPS_MISSED = 4
	};
	const struct python_row *row = python_row(runtime);
	struct python_walk *python = python_walk(runtime);
	for (int i = 0; i < MAX_LOOPS_MISSED; i++) {
		__u64 at = python->cframe;
		if (at >= runtime->high)
			return false;
		if (!read_word(at + row->cframe_frame, &python->frame) ||
			!read_word(at + row->cframe_previous, &python->cframe))
			return false;
		if (at >= runtime->low)
			return true;
	}
	return false;
}

static __always_inline bool is_code(const struct runtime_walk *runtime, __u64 code)
{
	const struct python_row *row = python_row(runtime);
	__u64 type;
	return read_word(code + row->code_type_offset, &type) &&
	       type == row->code_type - runtime->delta;
}

/*
 * The frame that the loop was called for, when the thread is in its first few instructions: nothing
 * that is in memory says so yet, or half of it does, but the argument is still in its register.
 */
static __always_inline __u64 find_entering(struct scratch *scratch)
{
	enum {
		PROLOGUE_BYTES = 128,
	};
	const struct walk *walk = &scratch->walk;
	const struct runtime_walk *runtime = &walk->runtime;
	const struct python_row *row = python_row(runtime);
	__u64 code = 0, frame;
	if (!walk->is_exact || scratch->user.head.nr_frames ||
		walk->regs.ip + runtime->delta - row->loop >= PROLOGUE_BYTES)
		return 0;
	frame = walk->regs.reg[row->flags & PYTHON_FRAME_IS_FIRST ? UNWIND_ARGUMENT_1
								  : UNWIND_ARGUMENT_2];
	if (!read_word(frame + row->frame_code, &code) || !is_code(runtime, code & ~7ULL))
		return 0;
	return frame;
}

static __always_inline bool python_enter(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!runtime->has_thread && !python_find_thread()) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_STATE);
		return false;
	}
	python_walk(runtime)->entering = find_entering(scratch);
	if (python_walk(runtime)->entering)
		return true;
	bool has_cframe = python_row(runtime)->flags & PYTHON_HAS_CFRAME;
	if (has_cframe && enter_by_cframe(runtime))
		return true;
	__u64 next = has_cframe ? python_walk(runtime)->cframe : python_walk(runtime)->frame;
	if (!next && python_leave_interpreter() && has_cframe)
		return enter_by_cframe(runtime);
	if (has_cframe)
		return false;
	python_walk(runtime)->first = python_walk(runtime)->frame;
	return python_walk(runtime)->frame != 0;
}

/* ---- trampolines ---- */

/* A trampoline calls: the leaf it is not. */
static __always_inline bool python_claims_anonymous(struct scratch *scratch)
{
	return !scratch->walk.is_exact;
}

/*
 * Out of code that has no rules, but whose last instructions, which come next, are known: it puts
 * back the stack pointer, or the frame pointer, and returns. Such is what `-X perf` has called
 * before each function, from 3.12 on (Python/asm_trampoline.S), and then says what a script frame
 * says already.
 */
static __always_inline enum runtime_leave python_leave_jit(struct scratch *scratch)
{
	static const __u64 add_ret = 0xc308c48348, pop_ret = 0xc35d;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	struct unwind_registers *regs = &scratch->walk.regs;
	__u64 sp = regs->reg[UNWIND_SP], code, caller, fp;
	if (!read_word(regs->ip, &code))
		return RUNTIME_STAYS;
	bool has_fp = (code & 0xffff) == pop_ret;
	if (!has_fp && (code & 0xffffffffff) != add_ret)
		return RUNTIME_STAYS;
	if (!read_word(sp, &fp) || !read_word(sp + 8, &caller))
		return RUNTIME_STAYS;
	regs->ip = caller;
	regs->reg[UNWIND_SP] = sp + 16;
	if (has_fp) {
		regs->reg[UNWIND_FP] = fp;
		regs->known |= 1ULL << UNWIND_FP;
	}
	bool is_ours = runtime->file && runtime->row.kind == RUNTIME_PYTHON;
	return is_ours ? RUNTIME_LEFT_UNSEEN : RUNTIME_LEFT;
}

/* ---- frames ---- */

static __always_inline __u64 word_of_frame(const struct python_walk *python, __u32 offset)
{
	return python->frame_head[offset / 8 & (PYTHON_FRAME_BYTES / 8 - 1)];
}

static __always_inline __u64 word_of_code(const struct python_walk *python, __u32 offset)
{
	return python->code_head[offset / 8 & (PYTHON_CODE_BYTES / 8 - 1)];
}

static __always_inline __u32 number_of_code(const struct python_walk *python, __u32 offset)
{
	return word_of_code(python, offset) >> (offset & 4) * 8;
}

static __always_inline bool is_last_of_loop(const struct runtime_walk *runtime)
{
	const struct python_row *row = python_row(runtime);
	__u32 at = row->frame_entry & (PYTHON_FRAME_BYTES - 1);
	__u8 entry = ((const __u8 *)python_walk(runtime)->frame_head)[at];
	return row->flags & PYTHON_IS_RECURSIVE || entry >= row->entry_least;
}

/*
 * The frame that ends a loop's frames was at `at`. True: there are more. When it lies above the
 * loop at hand, the frames were those of another loop, which is yet to come.
 */
static __always_inline bool leave_loop(struct scratch *scratch, __u64 at)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (at < runtime->low)
		return true;
	if (at >= runtime->high) {
		python_walk(runtime)->frame = python_walk(runtime)->first;
		scratch->user.head.nr_frames = runtime->nr_frames;
		scratch->walk.hash = runtime->hash;
	}
	return false;
}

/* The instructions that run: free-threaded builds have a copy for each thread, the first its own.
 */
static __always_inline __u64 instructions_of(const struct runtime_walk *runtime, __u64 code)
{
	const struct python_row *row = python_row(runtime);
	__u64 copies, start = code + row->code_start;
	if (!row->frame_copy)
		return start;
	__u32 copy =
		word_of_frame(python_walk(runtime), row->frame_copy) >> (row->frame_copy & 4) * 8;
	if (!copy)
		return start;
	bool is_read = read_word(code + row->code_copies, &copies) &&
		       read_word(copies + 8 + (__u64)copy * 8, &start);
	return is_read ? start : 0;
}

/* In units of its instructions; the one that runs, or that called. */
static __always_inline __u32 place_in_code(const struct runtime_walk *runtime, __u64 code)
{
	const struct python_row *row = python_row(runtime);
	__s64 place;
	if (row->flags & PYTHON_HAS_LASTI)
		place = (__s32)(word_of_frame(python_walk(runtime), row->frame_place) >>
				(row->frame_place & 4) * 8);
	else
		place = (__s64)(word_of_frame(python_walk(runtime), row->frame_place) -
				instructions_of(runtime, code)) >>
			1;
	return place < 0 || place >> RUNTIME_FRAME_CODE_SHIFT ? 0
							      : place; /* before the first one */
}

/* Of the code at an address: memory is used again for other code. */
static __always_inline __u64 identify_code(
	const struct scratch *scratch, const struct python_walk *python, __u32 words)
{
	__u64 sum = 0, factor = 0x9e3779b97f4a7c15ULL;
	for (int i = 0; i < PYTHON_CODE_BYTES / 8; i++) {
		sum += (python->code_head[i] & -(__u64)(words >> i & 1)) * factor;
		factor += 0xd1b54a32d192ed04ULL; /* odd all the same */
	}
	sum ^= sum >> 32;
	return mix(mix(scratch->walk.runtime.process, python->code_address), sum);
}

/* ---- texts ---- */

/* Of a str object. */
static __always_inline __u32 append_string(struct runtime_record *record, __u32 at,
	enum runtime_text what, const struct python_row *row, __u64 object, __u64 max)
{
	__u64 length = 0;
	__u32 state = 0;
	record->head.unit[what & 1] = 1;
	if (!read_word(object + row->text_length, &length) ||
		bpf_probe_read_user(
			&state, sizeof(state), (const void *)(object + row->text_state)))
		return append_text(at, what, object, 0, max);
	state >>= row->text_kind_shift & 31;
	__u32 unit = state & 7;
	bool is_compact = state >> 3 & 1, is_ascii = state >> 4 & 1;
	__u64 start = object + (is_ascii ? row->text_ascii : row->text_compact);
	record->head.unit[what & 1] = unit;
	return append_text(at, what, start, is_compact ? length * unit : 0, max);
}

static __always_inline __u32 append_bytes(
	struct runtime_record *record, __u32 at, const struct python_row *row, __u64 object)
{
	__u64 length = 0;
	read_word(object + row->bytes_length, &length);
	return append_text(
		at, RUNTIME_TEXT_LINES, object + row->bytes_start, length, RUNTIME_MAX_LINE_BYTES);
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int python_send_code(__u64 identity);
__noinline int python_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_PYTHON);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct python_row *row = python_row(&scratch->walk.runtime);
	const struct python_walk *python = python_walk(&scratch->walk.runtime);
	record->head.version = row->version;
	record->head.first_line = number_of_code(python, row->code_first_line);
	__u32 at = append_string(record, 0, RUNTIME_TEXT_NAME, row,
		word_of_code(python, row->code_name), RUNTIME_MAX_NAME_BYTES);
	at = append_string(record, at, RUNTIME_TEXT_FILE, row, word_of_code(python, row->code_file),
		RUNTIME_MAX_FILE_BYTES);
	at = append_bytes(record, at, row, word_of_code(python, row->code_lines));
	const __u32 *bytes = record->head.bytes;
	bool is_whole = bytes[RUNTIME_TEXT_NAME] && bytes[RUNTIME_TEXT_FILE] &&
			bytes[RUNTIME_TEXT_LINES] == record->head.whole_bytes[RUNTIME_TEXT_LINES];
	return send_code(scratch, record, at, is_whole, identity);
}

/* ---- the step ---- */

static __always_inline void push_code(struct scratch *scratch, __u64 code)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct python_row *row = python_row(runtime);
	__u64 bytes = row->code_bytes;
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (PYTHON_CODE_BYTES - 1)) + 1;
	if (bpf_probe_read_user(python_walk(runtime)->code_head, bytes, (const void *)code)) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return;
	}
	if (word_of_code(python_walk(runtime), row->code_type_offset) !=
		row->code_type - runtime->delta) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_TORN);
		return;
	}
	python_walk(runtime)->code_address = code;
	__u64 identity = identify_code(scratch, python_walk(runtime), row->identity_words);
	__u32 number = find_code(identity);
	if (!number)
		number = python_send_code(identity);
	if (number)
		push_runtime_word(scratch, number, place_in_code(runtime, code));
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
}

/* The next frame of the loop at hand. False: there is none. */
static __always_inline bool python_step(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct python_row *row = python_row(runtime);
	struct python_walk *python = python_walk(runtime);
	__u64 entering = python->entering, bytes = row->frame_bytes;
	__u64 at = entering ? entering : python->frame;
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (PYTHON_FRAME_BYTES - 1)) + 1;
	if (!at)
		return false;
	if (bpf_probe_read_user(python->frame_head, bytes, (const void *)at)) {
		python->frame = 0;
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return false;
	}
	if (entering) {
		python->entering = 0;
		push_code(scratch, word_of_frame(python, row->frame_code) & ~7ULL);
		return false;
	}
	bool is_last = is_last_of_loop(runtime);
	python->frame = word_of_frame(python, row->frame_previous);
	if (is_last && row->flags & PYTHON_HAS_SHIM)
		return leave_loop(scratch, at);
	/* The low bits of a pointer may say something of it, since 3.14. */
	push_code(scratch, word_of_frame(python, row->frame_code) & ~7ULL);
	return !is_last;
}

/* ---- the row ---- */

static const struct runtime_hooks python_hooks = {
	.enter = python_enter,
	.step = python_step,
	.claims_anonymous = python_claims_anonymous,
	.leave_jit = python_leave_jit,
};

#endif
