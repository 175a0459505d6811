/* What the BPF programs have to know of a file with Lua in it. */
#ifndef EBPROF_LUA_ROW_H
#define EBPROF_LUA_ROW_H

#include "bpf/runtime/runtime_row.h"

enum lua_flag {
	/* The status has a bit for functions of the program, not for those written in C: before
	 * 5.4. */
	LUA_STATUS_TELLS_LUA = 1,
	/* ... and one for those that run in the loop of their caller, not for those that a loop was
	 * entered for: 5.2. */
	LUA_STATUS_TELLS_SAME_LOOP = 2,
	/* Lines are bytes, counted on from line to line, with a whole one now and then: 5.4. */
	LUA_LINES_ARE_DELTAS = 4,
	/* Calls lie one behind the other, without a status; the instruction of the innermost is in
	 * the state: 5.1. Such a call is read together with the one before it. */
	LUA_CALLS_IN_ARRAY = 8,
	/* What takes a global variable has nothing but its name: 5.1. */
	LUA_GLOBALS_HAVE_NAMES = 16,
	/* The main state is a part of the global one, not pointed at: 5.5. */
	LUA_MAIN_IS_INSIDE = 32,
	/* The bytes of a long string are elsewhere: 5.5. */
	LUA_STRINGS_MAY_POINT = 64,
	/* The name of a method is a constant always: 5.5. */
	LUA_METHODS_HAVE_NAMES = 128,
};

enum {
	LUA_CALL_BYTES = 80,   /* of what is read of a CallInfo */
	LUA_PROTO_BYTES = 128, /* ... of a Proto */
};

/* How instructions are packed, and the numbers of those that say what is called. */
struct lua_code {
	unsigned long long sets_a[2];    /* bit n: instruction n sets its register A */
	unsigned long long sets_from[2]; /* ... that and those behind it */
	unsigned char op_mask;
	unsigned char shift_a, shift_b, shift_c;
	unsigned short mask_b, mask_c; /* when shifted; of C, that of a constant's number */
	unsigned int jump_bias;
	unsigned char jump_shift;
	unsigned char move, call, get_upvalue, get_global, get_field, self, jump;
	unsigned char tail_call; /* where nothing else tells who was called in the same loop */
	unsigned char closure;   /* whose upvalues stand in instructions behind it; 0: none is */
	unsigned char zero[2];
};

/* Offsets are bytes in the struct that the name begins with. */
struct lua_row {
	unsigned long long loop; /* where it is entered: an offset in the file */
	struct lua_code code;
	unsigned char version; /* 10 * major + minor */
	unsigned char flags;   /* enum lua_flag */
	unsigned char state_global, state_call, state_place, state_error;
	unsigned char call_function, call_place, call_status;
	unsigned char call_bytes;                /* in an array, of each */
	unsigned char value_closure, value_name; /* types of values: a function, a short string */
	unsigned char closure_proto, upvalue_bytes;
	unsigned char proto_type, proto_constants, proto_code, proto_upvalues, proto_lines,
		proto_whole_lines, proto_locals, proto_source;
	unsigned char proto_nr_code, proto_nr_lines, proto_nr_whole_lines, proto_nr_locals,
		proto_first_line, zero8;
	unsigned short state_main; /* in global_State */
	unsigned short zero16;
	unsigned int status_kind, status_loop, status_tail;
	unsigned int zero;
};

_Static_assert(sizeof(struct lua_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
