/*
 * What the recorder gets of a function of Lua when it is first seen. Prototypes have no names: the
 * instruction that called says where the function came from, a variable, a field or a method of
 * that name; as the debug library does it. Where it was called from C, it is "function@file:line".
 *
 * Sources: getfuncname(), getobjname(), findsetreg() in ldebug.c and lopcodes.h of
 * Lua 5.1.5, 5.2.4, 5.3.6, 5.4.9, 5.5.1, symbexec() in that of 5.1.5.
 */
#ifndef EBPROF_LUA_NAME_BPF_H
#define EBPROF_LUA_NAME_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/lua/lua_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	LUA_HEAD_WORDS = 16,   /* a power of two */
	LUA_AROUND_WORDS = 38, /* of the native stack, where a state is looked for */
};

struct lua_walk {
	__u64 state;  /* of the loop before */
	__u64 global; /* a global state that was checked */
	__u64 call;   /* the next; 0: no more */
	__u64 next;   /* ... of the loop at hand, when something is left of the one before; or 0 */
	__u64 found, found_call, found_place; /* a state, its innermost call, and where that is */
	__u64 found_error;                    /* ... and where its errors are caught */
	__u64 innermost, place;               /* where calls do not say it themselves: likewise */
	__u64 function, function_proto; /* ... where one lies that was looked at, and its code */
	__u32 function_status;          /* ... and what it is */
	__u64 proto_address;
	__u32 status; /* of the call at hand */
	__u8 is_first;
	__u64 head[LUA_HEAD_WORDS]; /* of the call at hand */
	__u64 proto[LUA_PROTO_BYTES / 8];
	__u64 around[LUA_AROUND_WORDS];
};

_Static_assert(sizeof(struct lua_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct lua_walk *lua_walk(const struct runtime_walk *runtime)
{
	return (struct lua_walk *)runtime->words;
}

static __always_inline const struct lua_row *lua_row(const struct runtime_walk *runtime)
{
	return (const struct lua_row *)runtime->row.words;
}

enum {
	LUA_CALL_PREVIOUS = 2, /* a word of CallInfo */
	LUA_STRING_BYTES = 24, /* where the bytes of a TString begin */
	LUA_WINDOW = 64,       /* instructions that are looked at; local variables likewise */
	LUA_MAX_NAME_BYTES = 256,
	LUA_MAX_LINE_BYTES = 3072, /* that are sent at once; of whole lines the rest */
	LUA_MAX_WHOLE_LINES = 127,
};

static __always_inline __u64 lua_proto_word(const __u64 *proto, __u32 offset)
{
	return proto[offset / 8 & (LUA_PROTO_BYTES / 8 - 1)];
}

static __always_inline __u32 lua_proto_number(const __u64 *proto, __u32 offset)
{
	return lua_proto_word(proto, offset) >> (offset & 4) * 8;
}

/* 0: it is there. */
static __always_inline enum layout_script_failure read_lua_proto_at(
	const struct lua_row *row, __u64 *proto, __u64 address)
{
	if (bpf_probe_read_user(proto, LUA_PROTO_BYTES, (const void *)address))
		return LAYOUT_SCRIPT_UNREADABLE;
	return (__u8)proto[1] == row->proto_type ? 0 : LAYOUT_SCRIPT_TORN;
}

/* The same of a call that is not of C. */
static __always_inline enum layout_script_failure read_lua_proto(
	const struct lua_row *row, const __u64 *call, __u64 *proto, __u64 *address)
{
	__u64 value[2] = {}; /* its pointer, its type */
	__u64 function = call[row->call_function / 8 & (LUA_HEAD_WORDS - 1)];
	if (bpf_probe_read_user(value, sizeof(value), (const void *)function))
		return LAYOUT_SCRIPT_UNREADABLE;
	if ((__u8)value[1] != row->value_closure)
		return LAYOUT_SCRIPT_TORN;
	if (!read_word(value[0] + row->closure_proto, address))
		return LAYOUT_SCRIPT_UNREADABLE;
	return read_lua_proto_at(row, proto, *address);
}

/*
 * Where a string would begin if its bytes were behind its head, as mostly they are: of a long one
 * of 5.5 they are elsewhere, and its short length is negative.
 */
static __always_inline __u64 lua_string(const struct lua_row *row, __u64 string)
{
	__u64 head[4] = {};
	if (row->flags & LUA_STRINGS_MAY_POINT && string &&
		!bpf_probe_read_user(head, sizeof(head), (const void *)string) &&
		(__s8)(head[1] >> 24) < 0)
		return head[3] - LUA_STRING_BYTES;
	return string;
}

/* ---- names ---- */

/* The function that called, and what it did: room for it is behind a record's texts. */
struct lua_caller {
	__u64 call[LUA_HEAD_WORDS];
	__u64 proto[LUA_PROTO_BYTES / 8];
	__u32 code[LUA_WINDOW];
	struct {
		__u64 name;
		__u32 first, end; /* instructions */
	} local[LUA_WINDOW];
	__u32 place, first, count; /* of the instruction that called, of code[], how many */
	__u32 target;              /* how far a jump before an instruction leads */
	__u32 tells_upvalues;      /* an instruction stands behind one that makes a function */
	__u32 set_at;              /* the instruction that set the register of the function */
	__u64 set_by;              /* ... and where that is; NOBODY: not known */
	__u64 name;                /* where the bytes of the function's name are; 0: it has none */
};

enum {
	LUA_NOBODY_SHIFT = 32,
};

_Static_assert(sizeof(struct lua_caller) <= RUNTIME_MAX_LINE_BYTES, "fits behind the texts");

/* Of what both Lua and LuaJIT need. */
static __always_inline struct scratch *scratch_of_lua(void)
{
	return has_runtime(RUNTIME_LUA) || has_runtime(RUNTIME_LUAJIT) ? get_scratch() : 0;
}

/* NULL without a scratch alone. */
static __always_inline struct lua_caller *get_lua_caller(const struct scratch *scratch)
{
	struct runtime_record *record = get_runtime_record(scratch);
	return record ? (struct lua_caller *)(record->text + RUNTIME_MAX_TEXT_BYTES) : 0;
}

/* Without branches, of which the verifier would follow both ways each time; of small numbers. */
static __always_inline __u64 is_less(__u64 a, __u64 b)
{
	__u64 difference = a - b;
	asm volatile("" : "+r"(difference));
	return difference >> 63;
}

static __always_inline __u64 is_equal(__u64 a, __u64 b)
{
	__u64 difference = a ^ b;
	difference |= -difference; /* bit 63: there is one */
	asm volatile("" : "+r"(difference));
	return ~difference >> 63;
}

/* Not by a mask: since Linux 6.18 the verifier follows both ways there, too. */
static __always_inline __u64 choose(__u64 condition, __u64 yes, __u64 no)
{
	asm volatile("" : "+r"(condition));
	return no + condition * (yes - no);
}

static __always_inline __u32 lua_a(const struct lua_code *code, __u32 instruction)
{
	return instruction >> (code->shift_a & 31) & 255;
}

static __always_inline __u64 lua_bit(const unsigned long long *bits, __u32 op)
{
	return choose(op >> 6 & 1, bits[1] >> (op & 63), bits[0] >> (op & 63)) & 1;
}

/* 1: it sets the register. */
static __always_inline __u64 lua_sets(const struct lua_code *code, __u32 instruction, __u32 set)
{
	__u32 op = instruction & code->op_mask, a = lua_a(code, instruction);
	return (lua_bit(code->sets_a, op) & is_equal(a, set)) |
	       (lua_bit(code->sets_from, op) & (1 ^ is_less(set, a)));
}

static __always_inline __u64 lua_makes_closure(const struct lua_code *code, __u32 instruction)
{
	return is_equal(instruction & code->op_mask, code->closure) &
	       (1 ^ is_equal(code->closure, 0));
}

/* Behind one that makes a function, it tells an upvalue, where that is told so; it then does not
 * set register 0. */
static __always_inline __u64 lua_tells_upvalue(const struct lua_code *code, __u32 instruction)
{
	__u32 op = instruction & code->op_mask;
	return (is_equal(op, code->move) | is_equal(op, code->get_upvalue)) &
	       is_equal(lua_a(code, instruction), 0) & (1 ^ is_equal(code->closure, 0));
}

/* How far a jump before the call leads; nothing if it goes back, or none is there. */
static __always_inline __u64 lua_jump_target(const struct lua_code *code,
	const struct lua_caller *caller, __u64 place, __u32 instruction)
{
	__u64 to = place + 1 + (instruction >> (code->jump_shift & 31)) - code->jump_bias;
	__u64 is_jump =
		is_less(place, caller->place) & is_equal(instruction & code->op_mask, code->jump);
	/* `to` may be negative: such a jump skips nothing here */
	__u64 skips = is_jump & (1 ^ is_less(caller->place, to)) & is_less(caller->target, to);
	return choose(skips & (1 ^ to >> 63), to, caller->target);
}

/*
 * Looks at the instruction of this number in the window. A global function, which the verifier
 * looks at once and not for each instruction. What is known stays in memory: there is little left
 * of the stack.
 */
__noinline int follow_lua_setter(__u32 i, __u32 set);
__noinline int follow_lua_setter(__u32 i, __u32 set)
{
	struct scratch *scratch = scratch_of_lua();
	struct lua_caller *caller = get_lua_caller(scratch);
	if (!scratch || !caller)
		return 0;
	const struct lua_code *code =
		&lua_row(&scratch->walk.runtime)->code; /* where LuaJIT's is, too */
	volatile __u32 *instruction = &caller->code[i & (LUA_WINDOW - 1)];
	__u64 place = caller->first + i;
	caller->target = lua_jump_target(code, caller, place, *instruction);
	asm volatile("" ::: "memory");
	__u32 tells = caller->tells_upvalues & lua_tells_upvalue(code, *instruction);
	caller->tells_upvalues = tells | lua_makes_closure(code, *instruction);
	asm volatile("" ::: "memory");
	if (tells || place >= caller->place || !lua_sets(code, *instruction, set))
		return 0;
	caller->set_by = place < caller->target ? 1ULL << LUA_NOBODY_SHIFT : *instruction;
	caller->set_at = place;
	return 0;
}

/*
 * Which instruction set the register, in the straight line up to the call: none, if one that may
 * have been jumped over did.
 */
__noinline int find_lua_setter(__u32 set);
__noinline int find_lua_setter(__u32 set)
{
	struct lua_caller *caller = get_lua_caller(scratch_of_lua());
	if (!caller)
		return 0;
	caller->set_by = 1ULL << LUA_NOBODY_SHIFT;
	caller->set_at = caller->target = 0;
	caller->tells_upvalues = caller->first != 0; /* not known */
	for (__u32 i = 0; i < LUA_WINDOW - 1; i++)
		follow_lua_setter(i, set);
	return 0;
}

/* The name of the local variable in a register where the instruction is; 0: it has none. */
static __always_inline __u64 lua_local_name(
	const struct lua_row *row, struct lua_caller *caller, __u32 variable, __u32 place)
{
	__u64 locals = lua_proto_word(caller->proto, row->proto_locals), name = 0;
	__u64 count = lua_proto_number(caller->proto, row->proto_nr_locals);
	if (count > LUA_WINDOW)
		count = LUA_WINDOW;
	asm volatile("" : "+r"(count));
	count &= 2 * LUA_WINDOW - 1;
	if (!count || count > LUA_WINDOW ||
		bpf_probe_read_user(caller->local, count * 16, (const void *)locals))
		return 0;
	__u64 left = variable + 1;
	for (__u32 i = 0; i < LUA_WINDOW; i++) {
		__u64 is_alive = is_less(i, count) & (1 ^ is_less(place, caller->local[i].first)) &
				 is_less(place, caller->local[i].end);
		left -= is_alive;
		name = choose(is_alive & is_equal(left, 0), caller->local[i].name, name);
	}
	return name;
}

/* A constant, if it is a name. */
static __always_inline __u64 lua_constant_name(
	const struct lua_row *row, const struct lua_caller *caller, __u32 number)
{
	__u64 value[2] = {};
	__u64 constants = lua_proto_word(caller->proto, row->proto_constants);
	if (bpf_probe_read_user(value, sizeof(value), (const void *)(constants + number * 16ULL)))
		return 0;
	return (__u8)value[1] == row->value_name ? value[0] : 0;
}

/* Until 5.3, bit 8 of C says that it is a constant; in 5.4, the bit in front of B does, in SELF,
 * and the others have nothing else; nor has it since. */
static __always_inline bool lua_c_is_constant(
	const struct lua_row *row, __u32 instruction, __u32 op)
{
	const struct lua_code *code = &row->code;
	if (row->flags & LUA_STATUS_TELLS_LUA)
		return instruction >> (code->shift_c & 31) & 256;
	return row->flags & LUA_METHODS_HAVE_NAMES || op != code->self ||
	       instruction >> ((code->shift_b - 1) & 31) & 1;
}

/* What the caller knows the function by; 0: nothing. */
static __always_inline __u64 lua_name_of_setter(
	const struct lua_row *row, struct lua_caller *caller)
{
	const struct lua_code *code = &row->code;
	__u32 by = caller->set_by, op = by & code->op_mask;
	__u32 b = by >> (code->shift_b & 31) & code->mask_b;
	__u64 name = 0;
	if (caller->set_by >> LUA_NOBODY_SHIFT)
		return 0;
	if (op == code->move)
		return b < lua_a(code, by) ? lua_local_name(row, caller, b, caller->set_at) : 0;
	if (op == code->get_upvalue) {
		__u64 upvalues = lua_proto_word(caller->proto, row->proto_upvalues);
		read_word(upvalues + b * (__u64)row->upvalue_bytes, &name);
		return name;
	}
	if (op == code->get_global && row->flags & LUA_GLOBALS_HAVE_NAMES)
		return lua_constant_name(row, caller, by >> (code->shift_c & 31));
	if ((op == code->get_global || op == code->get_field || op == code->self) &&
		lua_c_is_constant(row, by, op))
		return lua_constant_name(row, caller, by >> (code->shift_c & 31) & code->mask_c);
	return 0;
}

/* Reads the caller's instructions, of so many, up to the one that called: it is before `next`. */
static __always_inline bool read_lua_window(
	struct lua_caller *caller, __u64 code, __u64 next, __u32 nr_code)
{
	__u64 count = (next - code) / 4;
	if (!count || count > nr_code)
		return false;
	caller->place = count - 1;
	if (count > LUA_WINDOW)
		count = LUA_WINDOW;
	caller->count = count;
	caller->first = caller->place + 1 - count;
	asm volatile("" : "+r"(count));
	count &= 2 * LUA_WINDOW - 1;
	return count && count <= LUA_WINDOW &&
	       !bpf_probe_read_user(
		       caller->code, count * 4, (const void *)(code + caller->first * 4ULL));
}

/* Reads the caller of the call at hand, with the instructions up to its own. */
static __always_inline bool read_lua_caller(struct scratch *scratch, struct lua_caller *caller)
{
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	const struct lua_walk *lua = lua_walk(&scratch->walk.runtime);
	__u64 ignored = 0;
	if (!lua->call ||
		bpf_probe_read_user(caller->call, LUA_CALL_BYTES, (const void *)lua->call) ||
		read_lua_proto(row, caller->call, caller->proto, &ignored))
		return false;
	return read_lua_window(caller, lua_proto_word(caller->proto, row->proto_code),
		caller->call[row->call_place / 8 & (LUA_HEAD_WORDS - 1)],
		lua_proto_number(caller->proto, row->proto_nr_code));
}

/* Reads the caller. The register that it called; negative: it did not call one. */
__noinline int lua_called_register(void);
__noinline int lua_called_register(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	struct lua_caller *caller = get_lua_caller(scratch);
	if (!scratch || !caller || !read_lua_caller(scratch, caller))
		return -1;
	const struct lua_code *code = &lua_row(&scratch->walk.runtime)->code;
	__u32 call = caller->code[(caller->count - 1) & (LUA_WINDOW - 1)];
	return (call & code->op_mask) == code->call ? (int)lua_a(code, call) : -1;
}

/* Keeps the name that the instruction which set the register says. */
__noinline int lua_keep_name(void);
__noinline int lua_keep_name(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	struct lua_caller *caller = get_lua_caller(scratch);
	if (!scratch || !caller)
		return 0;
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	__u64 name = lua_name_of_setter(row, caller);
	caller->name = name ? lua_string(row, name) + LUA_STRING_BYTES : 0;
	return 0;
}

/* Looks for the name by which the function at hand was called; each step is a function by itself,
 * since little of the stack is left. */
static __always_inline void find_lua_name(const struct scratch *scratch, bool is_called)
{
	struct lua_caller *caller = get_lua_caller(scratch);
	if (!caller)
		return;
	caller->name = 0;
	int set = is_called ? lua_called_register() : -1;
	if (set < 0)
		return;
	find_lua_setter(set);
	lua_keep_name();
}

/* 0: it has none, or it cannot be read. */
static __always_inline __u32 put_called_name(struct runtime_record *record)
{
	const struct lua_caller *caller =
		(const struct lua_caller *)(record->text + RUNTIME_MAX_TEXT_BYTES);
	if (!caller->name)
		return 0;
	long len = bpf_probe_read_user_str(
		record->text, LUA_MAX_NAME_BYTES, (const void *)caller->name);
	return len > 1 && len <= LUA_MAX_NAME_BYTES ? len - 1 : 0;
}

/* "function@file:line"; how many bytes that is. A global function, which the verifier looks at
 * once. */
#ifdef WALKS_SLEEPERS /* there, one more on the stack is one too many */
static __always_inline int put_place_as_name(__u64 source, __u32 line);
#else
__noinline int put_place_as_name(__u64 source, __u32 line);
#endif
int put_place_as_name(__u64 source, __u32 line)
{
	enum {
		FUNCTION_BYTES = 9,
		MAX_DIGITS = 8,
	};
	static const __u32 powers[MAX_DIGITS] = {
		10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
	struct runtime_record *record = get_runtime_record(scratch_of_lua());
	__u8 first = 0;
	if (!record)
		return 0;
	bpf_probe_read_user(&first, 1, (const void *)(source + LUA_STRING_BYTES));
	__builtin_memcpy(record->text, "function@[string]", FUNCTION_BYTES + 8);
	long len = 9;
	if (first == '@' || first == '=')
		len = bpf_probe_read_user_str(record->text + FUNCTION_BYTES, LUA_MAX_NAME_BYTES,
			(const void *)(source + LUA_STRING_BYTES + 1));
	if (len < 1 || len > LUA_MAX_NAME_BYTES)
		return 0;
	__u32 at = FUNCTION_BYTES + len, has_digit = 0;
	record->text[(at - 1) & (RUNTIME_MAX_NAME_BYTES - 1)] = ':';
	for (int i = 0; i < MAX_DIGITS; i++) {
		__u32 digit = line / powers[i] % 10;
		record->text[at & (RUNTIME_MAX_NAME_BYTES - 1)] = '0' + digit;
		has_digit |= digit;
		at += !!has_digit;
	}
	return at;
}

/* The function's own name, or what stands for one. */
static __always_inline __u32 put_lua_name(struct runtime_record *record, __u64 source, __u32 line)
{
	__u32 len = 0;
	if (!line) {
		__builtin_memcpy(record->text, "main chunk", 10);
		len = 10;
	} else {
		len = put_called_name(record);
	}
	if (!len)
		len = put_place_as_name(source, line);
	record->head.bytes[RUNTIME_TEXT_NAME] = len;
	record->head.whole_bytes[RUNTIME_TEXT_NAME] = len;
	record->head.address[RUNTIME_TEXT_NAME] = source;
	return len;
}

/* ---- the file and the lines ---- */

/* A source begins with what it is: @ a file, = something else with a name; or it is the program. */
static __always_inline __u32 put_lua_file(struct runtime_record *record, __u32 at, __u64 source)
{
	struct event_code *head = &record->head;
	__u8 first = 0;
	__u64 start = at;
	head->bytes[RUNTIME_TEXT_FILE] = head->whole_bytes[RUNTIME_TEXT_FILE] = 0;
	head->address[RUNTIME_TEXT_FILE] = source;
	asm volatile("" : "+r"(start));
	if (start > RUNTIME_MAX_NAME_BYTES ||
		bpf_probe_read_user(&first, 1, (const void *)(source + LUA_STRING_BYTES)))
		return at;
	if (first != '@' && first != '=') {
		__builtin_memcpy(record->text + start, "[string]", 8);
		head->bytes[RUNTIME_TEXT_FILE] = 8;
		return at + 8;
	}
	long len = bpf_probe_read_user_str(record->text + start, RUNTIME_MAX_FILE_BYTES,
		(const void *)(source + LUA_STRING_BYTES + 1));
	if (len <= 1 || len > RUNTIME_MAX_FILE_BYTES)
		return at;
	head->bytes[RUNTIME_TEXT_FILE] = len - 1;
	return at + len - 1;
}

/*
 * How many entries there are, how many whole lines, and both. What is too long to be sent here is
 * left to the recorder, by the prototype's address.
 */
static __always_inline __u32 put_lua_lines(struct runtime_record *record, __u32 at,
	const struct lua_row *row, const struct lua_walk *lua)
{
	enum {
		COUNT_BYTES = 8,
	};
	struct event_code *head = &record->head;
	bool is_deltas = row->flags & LUA_LINES_ARE_DELTAS;
	__u64 lines = lua_proto_word(lua->proto, row->proto_lines);
	__u64 count = lua_proto_number(lua->proto, row->proto_nr_lines);
	__u64 whole = is_deltas ? lua_proto_number(lua->proto, row->proto_nr_whole_lines) : 0;
	__u64 from_whole = lua_proto_word(lua->proto, row->proto_whole_lines);
	__u64 bytes = count * (is_deltas ? 1 : 4), start = at;
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	head->address[RUNTIME_TEXT_LINES] = lua->proto_address;
	asm volatile("" : "+r"(bytes), "+r"(start), "+r"(whole));
	if (start > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES || bytes > LUA_MAX_LINE_BYTES ||
		whole > LUA_MAX_WHOLE_LINES)
		return at;
	__u8 *to = record->text + start;
	const __u32 counts[] = {count, whole};
	__builtin_memcpy(to, counts, COUNT_BYTES); /* behind text: not aligned */
	if (bytes && bpf_probe_read_user(to + COUNT_BYTES, bytes, (const void *)lines))
		return at;
	to += COUNT_BYTES + bytes;
	if (whole && bpf_probe_read_user(to, whole * 8, (const void *)from_whole))
		return at;
	bytes += COUNT_BYTES + whole * 8;
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = bytes;
	return at + bytes;
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int lua_send_code(__u64 identity);
__noinline int lua_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_LUA);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct lua_row *row = lua_row(&scratch->walk.runtime);
	const struct lua_walk *lua = lua_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = row->version;
	head->first_line = lua_proto_number(lua->proto, row->proto_first_line);
	__u64 source = lua_string(row, lua_proto_word(lua->proto, row->proto_source));
	__u32 at = put_lua_name(record, source, head->first_line);
	at = put_lua_file(record, at, source);
	at = put_lua_lines(record, at, row, lua);
	bool is_whole = head->bytes[RUNTIME_TEXT_NAME] && head->bytes[RUNTIME_TEXT_FILE] &&
			head->bytes[RUNTIME_TEXT_LINES];
	return send_code(scratch, record, at, is_whole, identity);
}

#endif
