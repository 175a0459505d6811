/* What the BPF programs have to know of a file with LuaJIT in it. */
#ifndef EBPROF_LUAJIT_ROW_H
#define EBPROF_LUAJIT_ROW_H

#include "bpf/runtime/lua/lua_row.h"
#include "bpf/runtime/runtime_row.h"

struct luajit_row {
	unsigned long long
		loop; /* the interpreter, all of which is one piece: offset in the file */
	struct lua_code code;
	unsigned int traces;   /* in global_State and what follows: the traces' array; 0: none */
	unsigned char version; /* 10 * major + minor */
	unsigned char zero8[3];
};

_Static_assert(sizeof(struct luajit_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
