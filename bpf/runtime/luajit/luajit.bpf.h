/*
 * LuaJIT 2.1 with 64-bit references (GC64, as builds for x86-64 and arm64 are). The interpreter is
 * one piece of assembly, whose native frame has the state that it runs, where in the program it is,
 * and the frame before of the interpreter. Script frames are a list on the state's own stack, of
 * functions of the program as of those written in C; links say where C code called, which is what
 * ends the frames of one native frame.
 *
 * Code that the compiler made, a trace, runs in memory of no file, on top of the interpreter's
 * native frame, which is found by what it is: it holds a state, which points back to it. From there
 * the walk goes on. A trace may have functions in it that are on no stack: the trace's snapshot
 * for the place in its code says which, and where in them.
 *
 * Sources: lj_obj.h, lj_frame.h, lj_jit.h, lj_debug.c, lj_snap.c, lj_asm.c, vm_x64.dasc of LuaJIT
 * 2.1.0-beta3 (2022-03-20), 2.1 of OpenResty 2025-01-17 and 2025-10-30; offsets are the same in
 * all.
 */
#ifndef EBPROF_LUAJIT_BPF_H
#define EBPROF_LUAJIT_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/luajit/luajit_name.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
#include "bpf/runtime/luajit/luajit_x86_64.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "bpf/runtime/luajit/luajit_arm64.bpf.h"
#endif

enum {
	JIT_CFRAME_FLAGS = 3, /* in pointers to native frames of the interpreter */

	JIT_STATE_GLOBAL = 2, /* words of lua_State */
	JIT_STATE_BASE = 4,
	JIT_STATE_MAX = 6,
	JIT_STATE_STACK = 7,
	JIT_STATE_CFRAME = 10,
	JIT_STATE_BYTES = 88,
	JIT_STATE_TYPE = 6, /* what kind of object it is, byte 9 of each */

	/* Of links: the low bits. */
	JIT_LINK_TYPE = 3,
	JIT_LINK_FULL_TYPE = 7,
	JIT_LINK_LUA = 0,
	JIT_LINK_C = 1,
	JIT_LINK_CONTINUATION = 2,
	JIT_LINK_VARARG = 3,
	JIT_LINK_PROTECTED_C = 5,
	JIT_CONTINUE_CALLBACK = 1, /* C code called by the foreign function interface */
};

/* ---- states ---- */

static __always_inline bool is_jit_pointer(__u64 at)
{
	return !(at & 7) && at >= 0x10000 && !(at >> 47);
}

/* Whether it is a state; it is read. */
static __always_inline bool read_jit_state(struct luajit_walk *jit, __u64 at)
{
	if (!is_jit_pointer(at) ||
		bpf_probe_read_user(jit->head, JIT_STATE_BYTES, (const void *)at))
		return false;
	__u64 stack = jit->head[JIT_STATE_STACK], max = jit->head[JIT_STATE_MAX];
	return (__u8)(jit->head[1] >> 8) == JIT_STATE_TYPE &&
	       is_jit_pointer(jit->head[JIT_STATE_GLOBAL]) && is_jit_pointer(stack) &&
	       is_jit_pointer(max) && stack < max &&
	       jit->head[JIT_STATE_BASE] - stack <= max - stack;
}

/*
 * Whether a native frame of the interpreter begins here: it is the innermost of its state, or the
 * next one of the state whose frames were walked last. False: jit->head is anything.
 */
__noinline int is_jit_cframe(__u64 at);
__noinline int is_jit_cframe(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch)
		return 0;
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	if (bpf_probe_read_user(jit->cframe, sizeof(jit->cframe), (const void *)at))
		return false;
	__u64 previous = jit->cframe[JIT_CFRAME_PREVIOUS] & ~(__u64)JIT_CFRAME_FLAGS;
	if ((previous && (previous <= at || previous - at > 1 << 23)) ||
		!read_jit_state(jit, jit->cframe[JIT_CFRAME_STATE]))
		return false;
	return (jit->head[JIT_STATE_CFRAME] & ~(__u64)JIT_CFRAME_FLAGS) == at ||
	       (jit->cframe[JIT_CFRAME_STATE] == jit->state && at == jit->next_cframe);
}

/* The same where the stack's memory says that it may be one. Negative: that is at its end. */
__noinline int may_be_jit_cframe(__u64 at);
__noinline int may_be_jit_cframe(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	__u64 state;
	if (!scratch || read_stack(&scratch->walk, at + JIT_CFRAME_STATE * 8, &state))
		return -1;
	return is_jit_pointer(state) && is_jit_cframe(at);
}

/*
 * The interpreter's native frame above the stack pointer: of code that runs on top of it. Its
 * words are read. 0: there is none.
 */
__noinline __u64 luajit_find_cframe(__u64 from);
__noinline __u64 luajit_find_cframe(__u64 from)
{
	enum {
		MAX_STEPS = 72, /* 1,152 bytes: registers, and up to 255 that were spilled */
		STEP = 16,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch || from & 7)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct luajit_walk *jit = luajit_walk(runtime);
	if (!runtime->has_thread)
		jit->state = 0;
	/* Right behind a call from a trace or the interpreter it is a multiple of 16. */
	from = (from + STEP - 1) & ~(__u64)(STEP - 1);
	for (int i = 0; i < MAX_STEPS; i++) {
		__u64 at = from + i * STEP;
		int is_found = may_be_jit_cframe(at);
		if (is_found)
			return is_found > 0 ? at : 0;
	}
	return 0;
}

/* What allocates memory for the state that was read: the first word of global_State. */
static __always_inline __u64 jit_allocator(const struct luajit_walk *jit)
{
	__u64 function = 0;
	read_word(jit->head[JIT_STATE_GLOBAL], &function);
	return function;
}

/* The return address of the interpreter's native frame that begins there; 0: none does. */
static __always_inline __u64 jit_return_of(__u64 cframe)
{
	__u64 address = 0;
	cframe &= ~(__u64)JIT_CFRAME_FLAGS;
	if (cframe)
		read_word(cframe + JIT_CFRAME_RETURN * 8, &address);
	return address;
}

/* ---- traces as the frame at hand ---- */

static __always_inline void begin_luajit(struct runtime_walk *runtime)
{
	struct luajit_walk *jit = luajit_walk(runtime);
	if (runtime->has_thread)
		return;
	jit->state = jit->next_cframe = jit->frame = jit->function = jit->compiled = 0;
	runtime->has_thread = true;
}

/*
 * Nothing says whose a trace is but the interpreter's native frame below it. It is looked for where
 * the walk's own words are not another runtime's.
 */
static __always_inline bool luajit_claims_anonymous(struct scratch *scratch)
{
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	return !scratch->walk.mapping.file && !(runtime->searched >> RUNTIME_LUAJIT & 1) &&
	       (!runtime->file || runtime->row.kind == RUNTIME_LUAJIT);
}

/* Whether an address lies in a file with LuaJIT, whose row is taken then. */
static __always_inline bool take_luajit(struct scratch *scratch, __u64 address)
{
	struct walk *walk = &scratch->walk;
	find_mapping(address);
	return walk->mapping.kind == EVENT_FRAME_FILE &&
	       (walk->runtime.file == walk->mapping.file || take_row()) &&
	       walk->runtime.row.kind == RUNTIME_LUAJIT;
}

/*
 * A trace runs on top of the interpreter's native frame. Which file the interpreter is in, says who
 * called it, mostly its own library; where other C code did, in a callback, the allocator that
 * comes with it, or who called the interpreter before.
 */
static __always_inline bool luajit_resume(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct runtime_walk *runtime = &walk->runtime;
	struct luajit_walk *jit = luajit_walk(runtime);
	__u64 place = walk->regs.ip - !walk->is_exact;
	runtime->searched |= 1U << RUNTIME_LUAJIT;
	__u64 at = luajit_find_cframe(walk->regs.reg[UNWIND_SP]);
	if (!at)
		return false;
	if (!take_luajit(scratch, jit_return_of(at) - 1) &&
		!take_luajit(scratch, jit_allocator(jit)) &&
		!take_luajit(scratch, jit_return_of(jit->cframe[JIT_CFRAME_PREVIOUS]) - 1))
		return false;
	begin_luajit(runtime);
	jit->compiled = place;
	set_jit_registers(&walk->regs, at);
	walk->regs.ip = luajit_row(runtime)->loop - runtime->delta;
	walk->is_exact = true;
	return true;
}

/* ---- traces ---- */

enum {
	JIT_TRACE_HEAD = 1, /* words of GCtrace */
	JIT_TRACE_IR = 4,
	JIT_TRACE_SNAPSHOTS = 6,
	JIT_TRACE_MAP = 7,
	JIT_TRACE_START = 9,
	JIT_TRACE_SIZE = 10, /* the upper half */
	JIT_TRACE_CODE = 11,
	JIT_TRACE_NUMBER = 13,
	JIT_SNAPSHOT_BYTES = 12,
	JIT_ENTRY_FRAME = 1 << 16,
	JIT_ENTRY_CONSTANTS = 0x8000, /* references below this are constants */
};

/* A snapshot of the trace at hand, jit->snapshot then. A global function: it is verified once. */
__noinline int luajit_take_snapshot(__u32 number);
__noinline int luajit_take_snapshot(__u32 number)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch)
		return 0;
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	return !bpf_probe_read_user(&jit->snapshot, JIT_SNAPSHOT_BYTES,
		(const void *)(jit->head[JIT_TRACE_SNAPSHOTS] +
			       (__u64)number * JIT_SNAPSHOT_BYTES));
}

/* The last snapshot at or before a place in the trace's code. The first is at its beginning. */
static __always_inline bool read_jit_snapshot(struct luajit_walk *jit, __u64 offset)
{
	enum {
		MAX_STEPS = 10, /* a trace has at most 500, unless the program sets more */
	};
	__u32 low = 0, high = (__u16)(jit->head[JIT_TRACE_HEAD] >> 16);
	for (int i = 0; i < MAX_STEPS && high - low > 1; i++) {
		__u32 mid = (low + high) / 2;
		if (!luajit_take_snapshot(mid))
			return false;
		if (jit->snapshot.code <= offset)
			low = mid;
		else
			high = mid;
	}
	return high && luajit_take_snapshot(low);
}

/* The constant that an entry of a snapshot refers to; 0: it is none. */
static __always_inline __u64 jit_constant(const struct luajit_walk *jit, __u32 entry)
{
	__u64 value = 0;
	__u32 reference = entry & 0xffff;
	if (reference < JIT_ENTRY_CONSTANTS)
		read_word(jit->ir + 8ULL * (reference + 1), &value);
	return value;
}

/* The next outer function of the trace that is on no stack: the number of its link's entry, 0:
 * none. */
__noinline int find_jit_entry(__u32 below);
__noinline int find_jit_entry(__u32 below)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch)
		return 0;
	const struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	for (int i = 0; i < JIT_MAX_ENTRIES; i++) {
		if (below < 2)
			return 0;
		if (jit->entry[(below - 1) & (JIT_MAX_ENTRIES - 1)] & JIT_ENTRY_FRAME)
			return below;
		below--;
	}
	return 0;
}

/* The function that an entry is the link of. */
static __always_inline __u64 jit_entry_function(const struct luajit_walk *jit, __u32 number)
{
	__u32 link = jit->entry[(number - 1) & (JIT_MAX_ENTRIES - 1)];
	__u32 function = jit->entry[(number - 2) & (JIT_MAX_ENTRIES - 1)];
	return function >> 24 == (link >> 24) - 1 ? jit_constant(jit, function) : 0;
}

/*
 * Where in the program a trace is, and the entries of its snapshot that may be frames. Nothing is
 * found where the trace's number and its code do not fit each other.
 */
__noinline int luajit_read_trace(__u64 place);
__noinline int luajit_read_trace(__u64 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch)
		return 0;
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	__u64 *trace = jit->head, at = 0, array = 0;
	__u32 number = jit_trace_number(jit, place);
	if (!number ||
		!read_word(jit->global + luajit_row(&scratch->walk.runtime)->traces, &array) ||
		!read_word(array + number * 8ULL, &at) ||
		bpf_probe_read_user(trace, JIT_TRACE_BYTES, (const void *)at))
		return 0;
	__u64 offset = place - trace[JIT_TRACE_CODE];
	if (offset >= trace[JIT_TRACE_SIZE] >> 32 || (__u16)trace[JIT_TRACE_NUMBER] != number)
		return 0;
	jit->place = trace[JIT_TRACE_START];
	jit->ir = trace[JIT_TRACE_IR];
	if (!read_jit_snapshot(jit, offset / JIT_CODE_UNIT))
		return 0;
	__u32 count = jit->snapshot.nr_entries, skipped = 0;
	if (count > JIT_MAX_ENTRIES) {
		skipped = count - JIT_MAX_ENTRIES;
		count = JIT_MAX_ENTRIES;
	}
	__u64 from = trace[JIT_TRACE_MAP] + 4ULL * (jit->snapshot.entries + skipped), end = 0;
	__u64 bytes = count * 4ULL;
	asm volatile("" : "+r"(bytes));
	if (bytes > sizeof(jit->entry) ||
		(bytes && bpf_probe_read_user(jit->entry, bytes, (const void *)from)) ||
		!read_word(from + bytes, &end))
		return 0;
	jit->place = end >> 8; /* below it the number of slots */
	jit->link = find_jit_entry(count);
	return 1;
}

/* ---- frames ---- */

static __always_inline __u64 jit_function_at(__u64 frame)
{
	__u64 value = 0;
	read_word(frame - 8, &value);
	return value & ((1ULL << 47) - 1);
}

/* Whether a frame can be there: a function lies below its link. */
static __always_inline bool is_jit_frame(const struct luajit_walk *jit, __u64 frame)
{
	__u64 value = 0, head = 0;
	return !(frame & 7) && frame > jit->bottom && frame < jit->top &&
	       read_word(frame - 8, &value) && value >> 47 == JIT_FUNCTION_TAG &&
	       read_word((value & ((1ULL << 47) - 1)) + 8, &head) &&
	       (__u8)(head >> 8) == JIT_FUNCTION_TYPE;
}

/*
 * From the frame at hand to its caller: its function, and where in it. False: it is for another
 * run of the interpreter, or there is none.
 */
static __always_inline bool advance_on_jit_stack(struct luajit_walk *jit)
{
	__u64 words[4] = {}, link, previous;
	__u32 instruction = 0;
	jit->caller_place = 0;
	for (int i = 0; i < 2; i++) {
		if (!jit->frame ||
			bpf_probe_read_user(words, sizeof(words), (const void *)(jit->frame - 24)))
			break;
		link = words[3];
		previous = jit->frame - (link & ~(__u64)JIT_LINK_FULL_TYPE);
		jit->is_called = (link & JIT_LINK_TYPE) == JIT_LINK_LUA;
		if (jit->is_called) {
			jit->caller_place = link;
			bpf_probe_read_user(
				&instruction, sizeof(instruction), (const void *)(link - 4));
			previous = jit->frame - 8ULL * (2 + (instruction >> 8 & 255));
		}
		if (previous <= jit->bottom || previous >= jit->frame)
			break;
		jit->frame = previous;
		if ((link & JIT_LINK_FULL_TYPE) == JIT_LINK_VARARG)
			continue; /* the same function again, below its variable arguments */
		jit->caller = jit_function_at(previous);
		__u32 type = link & JIT_LINK_FULL_TYPE;
		if (type == JIT_LINK_CONTINUATION)
			jit->caller_place = words[1];
		return type != JIT_LINK_C && type != JIT_LINK_PROTECTED_C &&
		       (type != JIT_LINK_CONTINUATION || words[0] != JIT_CONTINUE_CALLBACK);
	}
	jit->frame = jit->caller = 0;
	jit->is_called = false;
	return false;
}

static __always_inline bool advance_in_jit_trace(struct luajit_walk *jit)
{
	__u64 link = jit_constant(jit, jit->entry[(jit->link - 1) & (JIT_MAX_ENTRIES - 1)]);
	jit->is_called = link && (link & JIT_LINK_TYPE) == JIT_LINK_LUA;
	jit->caller_place = jit->is_called ? link : 0;
	jit->link = find_jit_entry(jit->link - 1);
	jit->caller = jit->link ? jit_entry_function(jit, jit->link) : jit_function_at(jit->frame);
	return true;
}

__noinline int luajit_advance(void);
__noinline int luajit_advance(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	if (!scratch)
		return 0;
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	return jit->link ? advance_in_jit_trace(jit) : advance_on_jit_stack(jit);
}

/* ---- entering ---- */

/* What is known of the state in jit->head. */
static __always_inline void take_jit_state(struct luajit_walk *jit)
{
	jit->state = jit->cframe[JIT_CFRAME_STATE];
	jit->global = jit->head[JIT_STATE_GLOBAL];
	jit->bottom = jit->head[JIT_STATE_STACK] + 8;
	jit->top = jit->head[JIT_STATE_MAX] + 8 * 64;
	jit->frame = jit->head[JIT_STATE_BASE] - 8;
}

/* The innermost frame: where the interpreter is the leaf, its base is in a register. */
static __always_inline void find_jit_frame(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct luajit_walk *jit = luajit_walk(&walk->runtime);
	__u64 base = 0;
	if (jit->compiled)
		read_word(jit->global + JIT_GLOBAL_BASE, &base);
	else if (walk->is_exact && !scratch->user.head.nr_frames)
		base = scratch->leaf.reg[JIT_BASE_REGISTER];
	if (base && is_jit_frame(jit, base - 8))
		jit->frame = base - 8;
}

static __always_inline bool luajit_enter(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct runtime_walk *runtime = &walk->runtime;
	struct luajit_walk *jit = luajit_walk(runtime);
	begin_luajit(runtime);
	jit->link = 0;
	__u64 at = runtime->low;
	if (!is_jit_cframe(at)) {
		at = luajit_find_cframe(at);
		if (!at) {
			push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_STATE);
			return false;
		}
		walk->regs.reg[UNWIND_SP] = at; /* what is below it is the interpreter's, too */
	}
	bool is_new = jit->cframe[JIT_CFRAME_STATE] != jit->state || !jit->frame;
	if (is_new)
		take_jit_state(jit);
	if (is_new && !jit->compiled)
		jit->compiled = jit_place_in_caller(scratch, jit);
	jit->place = jit_place_in_register(scratch);
	jit->place_in_memory = jit->cframe[JIT_CFRAME_PLACE];
	jit->next_cframe = jit->cframe[JIT_CFRAME_PREVIOUS] & ~(__u64)JIT_CFRAME_FLAGS;
	if (is_new)
		find_jit_frame(scratch);
	if (is_new || !jit->function)
		jit->function = jit_function_at(jit->frame);
	if (jit->compiled) {
		jit->place = jit->place_in_memory = 0;
		if (luajit_read_trace(jit->compiled) && jit->link)
			jit->function = jit_entry_function(jit, jit->link);
	}
	jit->compiled = 0;
	return true;
}

/* ---- functions ---- */

static __always_inline __u32 luajit_place(const struct luajit_walk *jit, __u64 place)
{
	__u64 code = jit->proto_address + JIT_PROTO_BYTES;
	__u64 bytes = 4ULL * lua_proto_number(jit->proto, JIT_PROTO_NR_CODE);
	__u64 at = place - code;
	return at & 3 || at > bytes || !at || at / 4 >> RUNTIME_FRAME_CODE_SHIFT ? 0 : at / 4 - 1;
}

static __always_inline __u64 identify_luajit(const struct scratch *scratch)
{
	const struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	__u64 hash = mix(scratch->walk.runtime.process, jit->proto_address);
	hash = mix(hash, jit->proto[JIT_PROTO_CONSTANTS / 8]);
	hash = mix(hash, jit->proto[JIT_PROTO_SOURCE / 8]);
	hash = mix(hash, jit->proto[JIT_PROTO_FIRST_LINE / 8]); /* and how many */
	hash = mix(hash, jit->proto[JIT_PROTO_LINES / 8]);
	return mix(hash, lua_proto_number(jit->proto, JIT_PROTO_NR_CODE));
}

static __always_inline __u32 number_luajit(struct scratch *scratch)
{
	__u64 identity = identify_luajit(scratch), named = mix(identity, 1);
	__u32 number = find_code(named);
	if (number)
		return number;
	bool is_called = luajit_walk(&scratch->walk.runtime)->is_called;
	if (!is_called)
		number = find_code(identity);
	if (number)
		return number;
	find_jit_name(scratch, &luajit_row(&scratch->walk.runtime)->code, is_called);
	return luajit_send_code(is_called ? named : identity);
}

/* Nothing is pushed for functions written in C, whose native frames are there. */
static __always_inline void push_luajit(struct scratch *scratch, __u64 function)
{
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	enum layout_script_failure failure =
		read_jit_proto(function, jit->proto, &jit->proto_address);
	if (failure) {
		push_runtime_failure(scratch, failure);
		return;
	}
	if (!jit->proto_address)
		return;
	__u32 place = luajit_place(jit, jit->place);
	if (!place)
		place = luajit_place(jit, jit->place_in_memory);
	__u32 number = number_luajit(scratch);
	if (number)
		push_runtime_word(scratch, number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
}

/* The next function of the interpreter's run at hand. False: there is none. */
static __always_inline bool luajit_step(struct scratch *scratch)
{
	struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	__u64 function = jit->function;
	if (!function)
		return false;
	bool has_more = luajit_advance();
	push_luajit(scratch, function);
	jit->function = jit->caller;
	jit->place = jit->caller_place;
	jit->place_in_memory = 0;
	return has_more;
}

/* ---- the row ---- */

static const struct runtime_hooks luajit_hooks = {
	.enter = luajit_enter,
	.step = luajit_step,
	.claims_anonymous = luajit_claims_anonymous,
	.resume = luajit_resume,
};

#endif
