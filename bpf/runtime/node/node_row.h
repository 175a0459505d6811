/* What the BPF programs have to know of a file with V8 in it, as Node.js shows it to debuggers. */
#ifndef EBPROF_NODE_ROW_H
#define EBPROF_NODE_ROW_H

#include "bpf/runtime/runtime_row.h"

struct node_row {
	/* Instance types: of functions, from the first to the last; of others. */
	unsigned short first_function, last_function;
	unsigned short shared_type, script_type, scope_info_type, bytecode_array_type;
	/* Offsets in objects, whose pointers are one more than their addresses. */
	unsigned char function_shared;                          /* JSFunction */
	unsigned char shared_name, shared_script, shared_flags; /* SharedFunctionInfo */
	unsigned char bytecode_data, bytecode_positions;        /* BytecodeArray */
	unsigned char scope_first, scope_locals; /* words of a ScopeInfo, behind its map */
	unsigned char version;                   /* of V8: the major one; 0: of none */
	/* Code: its kind for baseline code, which those of the optimizing compilers follow; what
	 * its instructions begin behind; offsets in it. */
	unsigned char baseline_kind, code_header, code_start, code_size, code_flags, code_deopt,
		code_positions;
	unsigned short code_type, instructions_type; /* instance types */
};

/* What of a function leads to its name, file and lines: sent in place of lines. */
struct node_function {
	unsigned long long shared;          /* address of its SharedFunctionInfo, as a pointer */
	unsigned int script_id, literal_id; /* what tells it apart */
	struct node_row row;
};

/* What of optimized code leads to the functions that are inlined in it. */
struct node_code {
	unsigned long long deopt_data, positions; /* pointers */
	struct node_function function;            /* the outermost */
};

_Static_assert(sizeof(struct node_code) <= RUNTIME_MAX_GIVEN_BYTES, "it is sent whole");
_Static_assert(sizeof(struct node_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");
_Static_assert(sizeof(struct node_function) <= RUNTIME_MAX_GIVEN_BYTES, "it is sent whole");

#endif
