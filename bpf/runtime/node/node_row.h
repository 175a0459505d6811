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
	unsigned char version, minor_version;    /* of V8; 0: of none */
	/* Code: its kinds; what its instructions begin behind; offsets in it. */
	unsigned char baseline_kind, code_header, code_start, code_size, code_flags, code_deopt,
		code_positions;
	unsigned char regexp_kind;
	/* What frames are marked with; 0: not known. Those that C++ enters V8 by, for functions and
	 * for constructors. */
	unsigned char wasm_frame, entry_frame, construct_entry_frame;
	unsigned short code_type, instructions_type; /* instance types */
	/* Of the data for deoptimization: where it has the outermost function. */
	unsigned char deopt_shared, deopt_shared_is_wrapped;
};

enum node_code_kind {
	NODE_CODE_NONE, /* of none of these, or not found */
	NODE_CODE_BASELINE,
	NODE_CODE_OPTIMIZED,
	/* These have names of ours, and no function: */
	NODE_CODE_REGEXP,
	NODE_CODE_WASM,
	NODE_CODE_OTHER, /* V8's own, of no file */
};

/* Where the recorder finds a function's name, file and lines: sent in place of lines. */
struct node_function {
	unsigned long long shared;          /* address of its SharedFunctionInfo, as a pointer */
	unsigned int script_id, literal_id; /* both identify it */
	struct node_row row;
};

/* Where the recorder finds the lines of compiled code and the functions inlined in it. */
struct node_code {
	/* Pointers. Of baseline code: to the bytecodes, and to where each of them begins. Of
	 * WebAssembly: to its instance, and no pointer, but how the code begins. */
	unsigned long long deopt_data, positions;
	unsigned long long start; /* of the instructions */
	unsigned int size;
	unsigned char kind; /* enum node_code_kind */
	unsigned char is_maglev;
	struct node_function function;
};

_Static_assert(sizeof(struct node_code) <= RUNTIME_MAX_GIVEN_BYTES, "it is sent whole");
_Static_assert(sizeof(struct node_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
