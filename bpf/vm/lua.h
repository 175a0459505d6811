/* What the BPF programs have to know of a file with Lua in it. */
#ifndef EBPROF_VM_LUA_H
#define EBPROF_VM_LUA_H

enum lua_flag {
	/* The status has a bit for functions of the program, not for those written in C: before
	 * 5.4. */
	LUA_STATUS_TELLS_LUA = 1,
	/* ... and one for those that run in the loop of their caller, not for those that a loop was
	 * entered for: 5.2. */
	LUA_STATUS_TELLS_SAME_LOOP = 2,
	/* Lines are bytes, counted on from line to line, with a whole one now and then: 5.4. */
	LUA_LINES_ARE_DELTAS = 4,
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
	unsigned char zero[4];
};

/* Offsets are bytes in the struct that the name begins with. */
struct lua_vm {
	unsigned long long loop; /* where it is entered: an offset in the file */
	struct lua_code code;
	unsigned char version; /* 10 * major + minor */
	unsigned char flags;   /* enum lua_flag */
	unsigned char state_error;
	unsigned char call_place, call_status;
	unsigned char proto_type, proto_constants, proto_code, proto_upvalues, proto_lines,
		proto_whole_lines, proto_locals, proto_source;
	unsigned char proto_nr_code, proto_nr_lines, proto_nr_whole_lines, proto_nr_locals,
		proto_first_line;
	unsigned short state_main; /* in global_State */
	unsigned short status_kind, status_loop, status_tail;
	unsigned short zero16;
	unsigned int zero[7];
};

_Static_assert(sizeof(struct lua_vm) == 120, "fills a row");

#endif
