/*
 * Lua, 5.1 to 5.5. Each coroutine has a state of its own, with a list of its calls, the innermost
 * first, of functions of the program as of those written in C; a call leads to the function's
 * prototype and, as far as memory knows, to the instruction at hand.
 *
 * No variable leads to the state that runs: it is an argument of the interpreter's loop. But who
 * calls the loop keeps it in a register that calls preserve, and the loop, which needs all of
 * them, has saved all of them at the end of its native frame, on arm64 at its beginning. What is
 * taken for a state must look like one; and where another one is about, that of who resumed a
 * coroutine, it is the one whose errors are caught first.
 *
 * Which calls belong to one run of the loop, the calls say themselves: that which the loop was
 * entered for is marked as fresh. A coroutine that yielded out of a nested loop is resumed
 * without the loops around; what is left of its calls comes before those of who resumed it.
 *
 * In 5.1 they do not say it. There a call is one of the same loop if the one before it is of the
 * program, is at an instruction that calls, and the called function lies in just the register that
 * this instruction names: what a metamethod, an iterator, a finalizer or a hook calls lies
 * elsewhere. No coroutine yields out of a nested loop.
 *
 * Sources: lstate.h, lobject.h, ldo.c, lvm.c, ldebug.c of Lua 5.1.5, 5.2.4, 5.3.6, 5.4.2, 5.4.4,
 * 5.4.7, 5.4.9, 5.5.1.
 */
#ifndef EBPROF_LUA_BPF_H
#define EBPROF_LUA_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/lua/lua_name.bpf.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	LUA_FUNCTION = 6, /* what kind of object it is, byte 8 of each */
	LUA_THREAD = 8,
};

/* ---- the state ---- */

static __always_inline __u64 lua_state_word(const struct lua_walk *lua, __u32 offset)
{
	return lua->head[offset / 8 & (LUA_HEAD_WORDS - 1)];
}

/* The main coroutine's global state leads back to itself. */
static __always_inline bool is_lua_global(struct lua_walk *lua, const struct lua_row *row, __u64 at)
{
	__u64 main = at + row->state_main, global;
	if (at && at == lua->global)
		return true;
	if (!(row->flags & LUA_MAIN_IS_INSIDE) && !read_word(main, &main))
		return false;
	if (!read_word(main + row->state_global, &global) || global != at)
		return false;
	lua->global = at;
	return true;
}

/* Whether it is a state; its first words are read. */
static __always_inline bool is_lua_state(struct lua_walk *lua, const struct lua_row *row, __u64 at)
{
	enum {
		LEAST = 0x10000,
		MOST_SHIFT = 48, /* of a program's addresses */
		HEAD_BYTES = 96,
	};
	if (at & 7 || at < LEAST || at >> MOST_SHIFT ||
		bpf_probe_read_user(lua->head, HEAD_BYTES, (const void *)at))
		return false;
	return (__u8)lua->head[1] == LUA_THREAD &&
	       is_lua_global(lua, row, lua_state_word(lua, row->state_global));
}

/* Keeps where the state is, whose first words are read. */
static __always_inline void keep_lua_state(
	struct lua_walk *lua, const struct lua_row *row, __u64 at)
{
	lua->found = at;
	lua->found_call = lua_state_word(lua, row->state_call) - row->call_bytes;
	lua->found_place = lua_state_word(lua, row->state_place);
}

/*
 * Takes the state at the address, if it is one and better than what was found: its errors are
 * caught earlier. A global function, which the verifier looks at once and not for each word.
 */
__noinline int lua_consider_state(__u64 at);
__noinline int lua_consider_state(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct lua_walk *lua = lua_walk(runtime);
	const struct lua_row *row = lua_row(runtime);
	__u64 error = 0;
	if (at == lua->found || !is_lua_state(lua, row, at))
		return 0;
	if (!read_word(at + row->state_error, &error) || !error)
		error = -2ULL; /* no frame catches them */
	if (error >= lua->found_error)
		return 0;
	lua->found_error = error;
	keep_lua_state(lua, row, at);
	return 1;
}

/*
 * To the state that the loop runs and its innermost call. Returns 0: there is none to be found.
 * Mostly it is among the registers that the loop saved; behind a caller that jumped to the loop
 * instead of calling it, among those that the next one did.
 */
__noinline int lua_find_state(void);
__noinline int lua_find_state(void)
{
	enum {
#if defined(__TARGET_ARCH_x86)
		SAVED = 6,
		SAVED_BYTES = 56, /* with the return address */
#elif defined(__TARGET_ARCH_arm64)
		SAVED = 12, /* with x29 and x30 ahead of the ten */
		SAVED_BYTES = 96,
#endif
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct lua_walk *lua = lua_walk(runtime);
#if defined(__TARGET_ARCH_x86)
	const void *from = (const void *)(runtime->high - SAVED_BYTES);
#elif defined(__TARGET_ARCH_arm64)
	const void *from = (const void *)runtime->low;
#endif
	if (bpf_probe_read_user(lua->around, sizeof(lua->around), from)) {
		__builtin_memset(lua->around, 0, sizeof(lua->around));
		bpf_probe_read_user(lua->around, SAVED_BYTES, from);
	}
	lua->found = 0;
	lua->found_error = -1ULL;
	for (int i = 0; i < LUA_AROUND_WORDS; i++) {
		if (i > SAVED && lua->found)
			break;
		lua_consider_state(lua->around[i]);
	}
	return lua->found != 0;
}

/* The loop's argument, when the thread is in its first instructions: nothing is saved yet. */
static __always_inline bool find_lua_argument(struct scratch *scratch)
{
	enum {
		PROLOGUE_BYTES = 24,
	};
	struct walk *walk = &scratch->walk;
	struct lua_walk *lua = lua_walk(&walk->runtime);
	const struct lua_row *row = lua_row(&walk->runtime);
	if (!walk->is_exact || scratch->user.head.nr_frames ||
		walk->regs.ip + walk->runtime.delta - row->loop >= PROLOGUE_BYTES)
		return false;
	__u64 at = walk->regs.reg[UNWIND_ARGUMENT_1];
	if (!is_lua_state(lua, row, at))
		return false;
	keep_lua_state(lua, row, at);
	return true;
}

/* ---- calls ---- */

/* Of 5.1, two calls as they lie in the array: that before the one at hand, and that. */
enum {
	LUA_BEFORE_BASE = 0, /* words */
	LUA_BEFORE_FUNCTION = 1,
	LUA_BEFORE_PLACE = 3,
	LUA_CALL_FUNCTION = 6,
	LUA_CALL_PLACE = 8,
	LUA_CALL_TAIL_CALLS = 9, /* the upper half */

	LUA_CLOSURE_KIND = 1, /* words of a closure: what it is, whether of C */
	LUA_CLOSURE_PROTO = 4,
	LUA_CLOSURE_WORDS = 5,
};

/* What a call of 5.1 does not say itself. */
enum lua_status {
	LUA_OF_PROGRAM = 1,
	LUA_IN_SAME_LOOP = 2,
	LUA_CALLED_BY_TAIL = 4,
	LUA_OF_NOTHING = 8, /* what every state's calls begin with */
};

/* What the function on Lua's stack is; LUA_OF_PROGRAM, without a prototype, also if it is none. */
static __always_inline __u32 judge_lua_function(struct lua_walk *lua, __u64 function)
{
	__u64 value[2] = {}, closure[LUA_CLOSURE_WORDS];
	if (lua->function == function)
		return lua->function_status;
	lua->function = function;
	lua->function_status = LUA_OF_PROGRAM;
	lua->function_proto = 0;
	if (bpf_probe_read_user(value, sizeof(value), (const void *)function))
		return LUA_OF_PROGRAM;
	if (!(__u32)value[1])
		return lua->function_status = LUA_OF_NOTHING;
	if ((__u32)value[1] != LUA_FUNCTION ||
		bpf_probe_read_user(closure, sizeof(closure), (const void *)value[0]) ||
		(__u8)closure[LUA_CLOSURE_KIND] != LUA_FUNCTION)
		return LUA_OF_PROGRAM;
	if ((__u8)(closure[LUA_CLOSURE_KIND] >> 16))
		return lua->function_status = 0;
	lua->function_proto = closure[LUA_CLOSURE_PROTO];
	return LUA_OF_PROGRAM;
}

/* Whether the call before is at an instruction that calls just this function. */
static __always_inline bool was_called_in_loop(const struct lua_row *row, const __u64 *head)
{
	const struct lua_code *code = &row->code;
	__u32 by = 0;
	if (bpf_probe_read_user(&by, sizeof(by), (const void *)(head[LUA_BEFORE_PLACE] - 4)))
		return false;
	__u32 op = by & code->op_mask;
	return (op == code->call || op == code->tail_call) &&
	       head[LUA_BEFORE_BASE] + 16ULL * lua_a(code, by) == head[LUA_CALL_FUNCTION];
}

/* The status of the call at hand, of 5.1. The next is the one before it, if it is one. */
__noinline int judge_lua_call(void);
__noinline int judge_lua_call(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	if (!scratch)
		return 0;
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	struct lua_walk *lua = lua_walk(&scratch->walk.runtime);
	__u64 *head = lua->head, at = lua->call;
	lua->call = 0;
	if (at == lua->innermost)
		head[LUA_CALL_PLACE] = lua->place;
	__u32 what = judge_lua_function(lua, head[LUA_CALL_FUNCTION]);
	lua->proto_address = lua->function_proto;
	if (what == LUA_OF_NOTHING)
		return 0;
	__u32 before = judge_lua_function(lua, head[LUA_BEFORE_FUNCTION]);
	if (before != LUA_OF_NOTHING)
		lua->call = at - row->call_bytes;
	if (what != LUA_OF_PROGRAM)
		return 0;
	if (head[LUA_CALL_TAIL_CALLS] >> 32)
		what |= LUA_CALLED_BY_TAIL;
	if (before == LUA_OF_PROGRAM && was_called_in_loop(row, head))
		what |= LUA_IN_SAME_LOOP;
	return what;
}

/* Reads the next call; from then on, the one before it is the next. */
static __always_inline bool take_lua_call(const struct lua_row *row, struct lua_walk *lua)
{
	__u32 at = row->call_status;
	if (bpf_probe_read_user(lua->head, LUA_CALL_BYTES, (const void *)lua->call))
		return false;
	if (row->flags & LUA_CALLS_IN_ARRAY) {
		lua->status = judge_lua_call();
		return true;
	}
	lua->proto_address = 0;
	lua->status = lua->head[at / 8 & (LUA_HEAD_WORDS - 1)] >> at % 8 * 8;
	lua->call = lua->head[LUA_CALL_PREVIOUS];
	return true;
}

static __always_inline bool lua_call_is_c(const struct lua_row *row, __u32 status)
{
	return !(status & row->status_kind) == !!(row->flags & LUA_STATUS_TELLS_LUA);
}

static __always_inline bool lua_call_ends_loop(const struct lua_row *row, __u32 status)
{
	return !(status & row->status_loop) == !!(row->flags & LUA_STATUS_TELLS_SAME_LOOP);
}

/* ---- loops ---- */

/* Whether the loop itself runs, though the innermost call is of C: it has left its last one. */
static __always_inline bool has_left_lua(const struct scratch *scratch, struct lua_walk *lua)
{
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	__u64 at = lua->call;
	if (!scratch->walk.is_exact || scratch->user.head.nr_frames || !take_lua_call(row, lua))
		return false;
	lua->call = at;
	return lua_call_is_c(row, lua->status);
}

static __always_inline bool lua_enter(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct lua_walk *lua = lua_walk(runtime);
	if (!runtime->has_thread)
		lua->state = lua->global = lua->call = lua->function = 0;
	if (!find_lua_argument(scratch) && !lua_find_state()) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_STATE);
		return false;
	}
	lua->next = 0;
	lua->is_first = !runtime->has_thread;
	runtime->has_thread = true;
	if (lua->found != lua->state) {
		lua->state = lua->found;
		lua->next = lua->innermost = lua->found_call;
		lua->place = lua->found_place;
	}
	if (!lua->call) {
		lua->call = lua->next;
		lua->next = 0;
	}
	return !has_left_lua(scratch, lua);
}

/* ---- frames ---- */

/*
 * The loop has the instruction in a register, and keeps it in memory only as far as something may
 * fail or call: where the loop is the leaf, or what it called has not needed the register yet,
 * there it is. Of two that look like it the one further on is the next to be fetched, as it is in
 * memory.
 */
static __always_inline __u64 lua_place_in_registers(
	const struct unwind_registers *leaf, __u64 code, __u64 bytes)
{
#if defined(__TARGET_ARCH_x86)
	static const __u8 kept[] = {3, 6, 12, 13, 14, 15}; /* rbx, rbp, r12 to r15 */
#elif defined(__TARGET_ARCH_arm64)
	static const __u8 kept[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
#endif
	__u64 best = 0;
	for (__u32 i = 0; i < sizeof(kept); i++) {
		__u64 at = leaf->reg[kept[i]] - code;
		if (at <= bytes && !(at & 3) && at > best)
			best = at;
	}
	return best;
}

static __always_inline __u32 lua_place(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct lua_row *row = lua_row(runtime);
	struct lua_walk *lua = lua_walk(runtime);
	__u64 code = lua_proto_word(lua->proto, row->proto_code);
	__u64 bytes = 4ULL * lua_proto_number(lua->proto, row->proto_nr_code);
	__u64 at = lua->head[row->call_place / 8 & (LUA_HEAD_WORDS - 1)] - code;
	if (lua->is_first) {
		__u64 exact = lua_place_in_registers(&scratch->leaf, code, bytes);
		at = exact ? exact : at;
	}
	return at > bytes || !at || at / 4 >> RUNTIME_FRAME_CODE_SHIFT ? 0 : at / 4 - 1;
}

/* Of the prototype at an address: memory is used again. */
static __always_inline __u64 identify_lua(const struct scratch *scratch)
{
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	const struct lua_walk *lua = lua_walk(&scratch->walk.runtime);
	const __u64 *proto = lua->proto;
	__u64 hash = mix(scratch->walk.runtime.process, lua->proto_address);
	hash = mix(hash, lua_proto_word(proto, row->proto_code));
	hash = mix(hash, lua_proto_word(proto, row->proto_constants));
	hash = mix(hash, lua_proto_word(proto, row->proto_source));
	hash = mix(hash, lua_proto_word(proto, row->proto_lines));
	__u64 first_line = lua_proto_number(proto, row->proto_first_line);
	return mix(hash, first_line << 32 | lua_proto_number(proto, row->proto_nr_code));
}

/*
 * A function that was first seen where its name is not known is numbered again when it is
 * called by one.
 */
static __always_inline __u32 number_lua(struct scratch *scratch, const struct lua_row *row)
{
	__u64 identity = identify_lua(scratch), named = mix(identity, 1);
	__u32 status = lua_walk(&scratch->walk.runtime)->status, number = find_code(named);
	if (number)
		return number;
	bool is_called = !lua_call_ends_loop(row, status) && !(status & row->status_tail);
	if (!is_called)
		number = find_code(identity);
	if (number)
		return number;
	find_lua_name(scratch, is_called);
	return lua_send_code(is_called ? named : identity);
}

/*
 * Until 5.2 a call seems to begin a loop of its own while it is made, before that is entered. The
 * loop at hand is not its own if nothing says that one of its instructions was fetched: not memory,
 * nor the registers, nor what the function that this loop called has saved of them.
 */
__noinline int lua_waits_for_loop(void);
__noinline int lua_waits_for_loop(void)
{
	enum {
		SAVED = 16,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct lua_row *row = lua_row(runtime);
	struct lua_walk *lua = lua_walk(runtime);
	__u64 code = lua_proto_word(lua->proto, row->proto_code);
	__u64 bytes = 4ULL * lua_proto_number(lua->proto, row->proto_nr_code);
	const void *saved = (const void *)(runtime->low - SAVED * 8);
	if (lua->head[row->call_place / 8 & (LUA_HEAD_WORDS - 1)] - code - 1 < bytes ||
		lua_place_in_registers(&scratch->leaf, code, bytes) ||
		bpf_probe_read_user(lua->around, SAVED * 8, saved))
		return 0;
	for (int i = 0; i < SAVED; i++)
		if (lua->around[i] - code - 1 < bytes)
			return 0;
	return 1;
}

/* 0: nothing is known of it, or it has not begun. By itself, to have a stack of its own. */
__noinline int push_lua(bool may_wait);
__noinline int push_lua(bool may_wait)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	if (!scratch)
		return 0;
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	struct lua_walk *lua = lua_walk(&scratch->walk.runtime);
	enum layout_script_failure failure =
		lua->proto_address
			? read_lua_proto_at(row, lua->proto, lua->proto_address)
			: read_lua_proto(row, lua->head, lua->proto, &lua->proto_address);
	if (may_wait && (failure == LAYOUT_SCRIPT_TORN || (!failure && lua_waits_for_loop())))
		return 0;
	if (failure) {
		push_runtime_failure(scratch, failure);
		return 0;
	}
	__u32 place = lua_place(scratch);
	__u32 number = number_lua(scratch, row);
	if (number)
		push_runtime_word(scratch, number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
	return 1;
}

/* The next call of the loop at hand. False: there is none. */
static __always_inline bool lua_step(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct lua_row *row = lua_row(runtime);
	struct lua_walk *lua = lua_walk(runtime);
	if (!lua->call) { /* that was what was left of the coroutine before */
		lua->call = lua->next;
		lua->next = 0;
		return lua->call != 0;
	}
	if (!take_lua_call(row, lua)) {
		lua->call = 0;
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return lua->next != 0;
	}
	bool is_c = lua_call_is_c(row, lua->status);
	bool ends = !is_c && lua_call_ends_loop(row, lua->status);
	/* Where the loop is the leaf, it has been entered. */
	bool may_wait = ends && row->flags & LUA_STATUS_TELLS_SAME_LOOP && lua->is_first &&
			runtime->nr_frames;
	if (!is_c && !push_lua(may_wait) && may_wait)
		ends = false;
	lua->is_first = false;
	return !ends || lua->next;
}

/* ---- the row ---- */

static const struct runtime_hooks lua_hooks = {
	.enter = lua_enter,
	.step = lua_step,
};

#endif
