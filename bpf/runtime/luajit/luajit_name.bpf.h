/*
 * What the recorder gets of a function of LuaJIT when it is first seen; names as those of Lua's
 * functions.
 *
 * Sources: lj_debug.c, lj_bc.h of LuaJIT 2.1 of OpenResty 2025-10-30.
 */
#ifndef EBPROF_LUAJIT_NAME_BPF_H
#define EBPROF_LUAJIT_NAME_BPF_H

#include "bpf/runtime/lua/lua_name.bpf.h"
#include "bpf/runtime/luajit/luajit_row.h"

_Static_assert(
	__builtin_offsetof(struct lua_row, code) == __builtin_offsetof(struct luajit_row, code),
	"what names functions of Lua finds it in the same place");

enum {
	JIT_GLOBAL_BASE = 376, /* global_State: jit_base, which is 0 but while a trace runs */
	JIT_TRACE_BYTES = 120,
	JIT_MAX_ENTRIES = 64, /* a power of two */
};

/* SnapShot of LuaJIT. */
struct jit_snapshot {
	__u32 entries; /* where they are in the trace's map */
	__u16 reference;
	__u16 code; /* from where on it counts */
	__u8 nr_slots, top_slot, nr_entries, count;
};

struct luajit_walk {
	__u64 state, global;   /* whose frames they are */
	__u64 bottom, top;     /* of its stack */
	__u64 next_cframe;     /* the interpreter's native frame that is its next */
	__u64 frame;           /* on the state's stack: the link at its beginning; 0: none */
	__u64 function, place; /* of the next frame to be pushed, with the instruction */
	__u64 place_in_memory; /* likewise: where it may be if not there */
	__u64 caller, caller_place;
	__u64 proto_address;
	__u64 compiled;  /* where in a trace the thread is; 0: it is not in any */
	__u64 ir;        /* of the trace */
	__u32 link;      /* the number of the entry that is the frame's link; 0: not in a trace */
	__u8 is_called;  /* the function of the frame at hand, by an instruction of its caller */
	__u64 head[16];  /* of what is looked at, a state or a trace */
	__u64 cframe[5]; /* the interpreter's native frame, but for what it has saved */
	__u64 proto[16];
	struct jit_snapshot snapshot;
	__u32 entry[JIT_MAX_ENTRIES];
};

_Static_assert(sizeof(struct luajit_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct luajit_walk *luajit_walk(const struct runtime_walk *runtime)
{
	return (struct luajit_walk *)runtime->words;
}

static __always_inline const struct luajit_row *luajit_row(const struct runtime_walk *runtime)
{
	return (const struct luajit_row *)runtime->row.words;
}

enum {
	JIT_FUNCTION_TAG = (1 << 17) - 9, /* above the 47 bits of a pointer */
	JIT_FUNCTION_TYPE = 8,
	JIT_FUNCTION_PLACE = 4, /* words of GCfuncL: where its instructions are */
	JIT_PROTO_TYPE = 7,
	JIT_PROTO_BYTES = 104, /* its instructions follow */
	JIT_PROTO_NR_CODE = 12,
	JIT_PROTO_CONSTANTS = 32,
	JIT_PROTO_SOURCE = 64,
	JIT_PROTO_FIRST_LINE = 72,
	JIT_PROTO_NR_LINES = 76,
	JIT_PROTO_LINES = 80,
	JIT_PROTO_UPVALUES = 88,
	JIT_PROTO_LOCALS = 96,
	JIT_TEXT_BYTES = 256, /* of the longest name, and one */
};

/* Of a function that is written in C, *address is 0. 0: it is read. */
static __always_inline enum layout_script_failure read_jit_proto(
	__u64 function, __u64 *proto, __u64 *address)
{
	__u64 head[5];
	*address = 0;
	if (bpf_probe_read_user(head, sizeof(head), (const void *)function))
		return LAYOUT_SCRIPT_UNREADABLE;
	if ((__u8)(head[1] >> 8) != JIT_FUNCTION_TYPE)
		return 0; /* what stands for an operator's operands */
	if ((__u8)(head[1] >> 16))
		return 0;
	__u64 at = head[JIT_FUNCTION_PLACE] - JIT_PROTO_BYTES;
	if (bpf_probe_read_user(proto, JIT_PROTO_BYTES, (const void *)at))
		return LAYOUT_SCRIPT_UNREADABLE;
	if ((__u8)(proto[1] >> 8) != JIT_PROTO_TYPE)
		return LAYOUT_SCRIPT_TORN;
	*address = at;
	return 0;
}

/* ---- names ---- */

/* Behind a record's texts, behind the caller. */
struct jit_names {
	struct lua_caller caller;
	/* The next of the local variables, where it begins, how many at a place are not the one,
	 * and the name of the last one that was taken. */
	__u64 local_at, local_begin, nr_local_left, local_name;
	__u8 text[JIT_TEXT_BYTES];
};

_Static_assert(sizeof(struct jit_names) <= RUNTIME_MAX_LINE_BYTES, "fits behind the texts");

static __always_inline struct jit_names *get_jit_names(void)
{
	return (struct jit_names *)get_lua_caller(scratch_of_runtime(RUNTIME_LUAJIT));
}

/* Reads a text. How many bytes it has, with the one that ends it; 0: too many, or unreadable. */
static __always_inline __u32 read_jit_text(struct jit_names *names, __u64 from)
{
	long len = bpf_probe_read_user_str(names->text, JIT_TEXT_BYTES, (const void *)from);
	return len > 0 && len < JIT_TEXT_BYTES ? len : 0;
}

/* The name of an upvalue: the n-th of texts that follow each other. 0: it has none. */
__noinline __u64 jit_upvalue_name(__u32 number);
__noinline __u64 jit_upvalue_name(__u32 number)
{
	enum {
		MAX_UPVALUES = 60, /* LJ_MAX_UPVAL */
	};
	struct jit_names *names = get_jit_names();
	if (!names)
		return 0;
	__u64 at = names->caller.proto[JIT_PROTO_UPVALUES / 8];
	for (__u32 i = 0; i < MAX_UPVALUES && at; i++) {
		if (i == number)
			return at;
		__u32 len = read_jit_text(names, at);
		if (!len)
			return 0;
		at += len;
	}
	return 0;
}

/* A number of seven bits a byte, of three bytes at most; *bytes and *at are behind it then. */
static __always_inline __u64 take_jit_number(__u64 *bytes, __u64 *at)
{
	__u64 first = *bytes & 255, second = *bytes >> 8 & 255, third = *bytes >> 16 & 255;
	__u64 has_second = first >> 7, has_third = has_second & second >> 7;
	__u64 used = 1 + has_second + has_third;
	*bytes >>= 8 * used;
	*at += used;
	return (first & 127) | choose(has_second, (second & 127) << 7, 0) |
	       choose(has_third, (third & 127) << 14, 0);
}

enum jit_local {
	JIT_LOCAL_OTHER, /* it goes on behind this one */
	JIT_LOCAL_FOUND,
	JIT_LOCAL_END, /* there is none, or memory makes no sense */
};

/*
 * Takes the next entry of the local variables; it is the one if it lives at the place and no other
 * before it is to be left out. Entries are a name, or a small number for what has none in the
 * program, and two numbers: where it begins, from where the one before did, and how long it lives.
 * A global function, which the verifier looks at once and not for each entry.
 */
__noinline int take_jit_local(__u32 place);
__noinline int take_jit_local(__u32 place)
{
	enum {
		INTERNAL_NAMES = 7, /* VARNAME__MAX */
	};
	struct jit_names *names = get_jit_names();
	if (!names)
		return JIT_LOCAL_END;
	__u64 at = names->local_at, bytes = 0;
	__u64 len = at ? read_jit_text(names, at) : 0, first = names->text[0];
	if (!len || !first)
		return JIT_LOCAL_END;
	__u64 is_internal = is_less(first, INTERNAL_NAMES);
	names->local_name = choose(is_internal, 0, at);
	at += choose(is_internal, 1, len);
	if (!read_word(at, &bytes))
		return JIT_LOCAL_END;
	__u64 begin = names->local_begin + take_jit_number(&bytes, &at);
	__u64 end = begin + take_jit_number(&bytes, &at);
	names->local_at = at;
	names->local_begin = begin;
	if (place < begin || place >= end)
		return JIT_LOCAL_OTHER;
	return names->nr_local_left-- ? JIT_LOCAL_OTHER : JIT_LOCAL_FOUND;
}

/* The name of the local variable in a register at a place. 0: it has none. */
__noinline __u64 jit_local_name(__u32 variable, __u32 place);
__noinline __u64 jit_local_name(__u32 variable, __u32 place)
{
	struct jit_names *names = get_jit_names();
	if (!names)
		return 0;
	names->local_at = names->caller.proto[JIT_PROTO_LOCALS / 8];
	names->local_begin = 0;
	names->nr_local_left = variable;
	for (__u32 i = 0; i < LUA_WINDOW; i++) {
		int local = take_jit_local(place);
		if (local != JIT_LOCAL_OTHER)
			return local == JIT_LOCAL_FOUND ? names->local_name : 0;
	}
	return 0;
}

/* That of a global variable or a field; 0: it is none, or cannot be read. */
static __always_inline __u64 jit_constant_name(
	const struct lua_code *code, const struct lua_caller *caller)
{
	__u64 constants = caller->proto[JIT_PROTO_CONSTANTS / 8], text = 0;
	__u32 by = caller->set_by, op = by & 255;
	if (op != code->get_global && op != code->get_field)
		return 0;
	__u32 number = op == code->get_global ? by >> 16 : by >> 16 & 255;
	if (!read_word(constants - 8ULL * (number + 1), &text) || !text)
		return 0;
	return text + LUA_STRING_BYTES;
}

/* As read_lua_caller(). */
static __always_inline bool read_jit_caller(
	const struct luajit_walk *jit, struct lua_caller *caller)
{
	__u64 address = 0;
	if (!jit->is_called || read_jit_proto(jit->caller, caller->proto, &address) || !address)
		return false;
	return read_lua_window(caller, address + JIT_PROTO_BYTES, jit->caller_place,
		lua_proto_number(caller->proto, JIT_PROTO_NR_CODE));
}

/* As lua_called_register(). */
__noinline int luajit_called_register(void);
__noinline int luajit_called_register(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	struct lua_caller *caller = get_lua_caller(scratch);
	if (!scratch || !caller || !read_jit_caller(luajit_walk(&scratch->walk.runtime), caller))
		return -1;
	const struct lua_code *code = &luajit_row(&scratch->walk.runtime)->code;
	__u32 call = caller->code[(caller->count - 1) & (LUA_WINDOW - 1)], op = call & 255;
	/* `self`: a call with all that another one returned. */
	return op == code->call || op == code->self ? (int)lua_a(code, call) : -1;
}

/* As find_lua_name(). */
static __always_inline void find_jit_name(
	const struct scratch *scratch, const struct lua_code *code, bool is_called)
{
	struct lua_caller *caller = get_lua_caller(scratch);
	if (!caller)
		return;
	caller->name = 0;
	int set = is_called ? luajit_called_register() : -1;
	if (set < 0)
		return;
	find_lua_setter(set);
	__u64 by = caller->set_by;
	__u32 op = by & 255;
	if (by >> LUA_NOBODY_SHIFT)
		return;
	if (op == code->move)
		caller->name = jit_local_name(by >> 16, caller->set_at);
	else if (op == code->get_upvalue)
		caller->name = jit_upvalue_name(by >> 16);
	else
		caller->name = jit_constant_name(code, caller);
}

/*
 * How many instructions there are, how many lines, and the line of each from the first one on, in
 * as many bytes as it takes.
 */
static __always_inline __u32 put_jit_lines(
	struct runtime_record *record, __u32 at, const struct luajit_walk *jit)
{
	enum {
		COUNT_BYTES = 8,
	};
	struct event_code *head = &record->head;
	__u32 count = lua_proto_number(jit->proto, JIT_PROTO_NR_CODE);
	__u32 nr_lines = lua_proto_number(jit->proto, JIT_PROTO_NR_LINES);
	__u64 lines = jit->proto[JIT_PROTO_LINES / 8];
	__u64 bytes = count - 1, start = at;
	bytes <<= nr_lines < 256 ? 0 : nr_lines < 65536 ? 1 : 2;
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	head->address[RUNTIME_TEXT_LINES] = jit->proto_address;
	asm volatile("" : "+r"(bytes), "+r"(start));
	if (start > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES ||
		bytes > RUNTIME_MAX_LINE_BYTES - COUNT_BYTES)
		return at;
	__u8 *to = record->text + start;
	const __u32 counts[] = {count, nr_lines};
	__builtin_memcpy(to, counts, COUNT_BYTES); /* behind text: not aligned */
	if (!lines || !bytes || bpf_probe_read_user(to + COUNT_BYTES, bytes, (const void *)lines))
		return at;
	bytes += COUNT_BYTES;
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = bytes;
	return at + bytes;
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int luajit_send_code(__u64 identity);
__noinline int luajit_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUAJIT);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct luajit_walk *jit = luajit_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = luajit_row(&scratch->walk.runtime)->version;
	head->first_line = lua_proto_number(jit->proto, JIT_PROTO_FIRST_LINE);
	__u64 source = jit->proto[JIT_PROTO_SOURCE / 8];
	__u32 at = put_lua_name(record, source, head->first_line);
	at = put_lua_file(record, at, source);
	at = put_jit_lines(record, at, jit);
	bool is_whole = head->bytes[RUNTIME_TEXT_NAME] && head->bytes[RUNTIME_TEXT_FILE] &&
			head->bytes[RUNTIME_TEXT_LINES];
	return send_code(scratch, record, at, is_whole, identity);
}

#endif
