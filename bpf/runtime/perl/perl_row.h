/* What the BPF programs have to know of a file with Perl in it. */
#ifndef EBPROF_PERL_ROW_H
#define EBPROF_PERL_ROW_H

#include "bpf/runtime/runtime_row.h"

enum {
	PERL_CONTEXT_BYTES = 104, /* of a PERL_CONTEXT, at most */
	PERL_WINDOW_CONTEXTS = 4, /* are read at once */
	PERL_FILE_BYTES = 256,    /* by which files are told apart */

	/* Offsets of struct cv and its body that all versions share. */
	PERL_BODY_START = 32, /* of what is read of an XPVCV: stash, start, root, gv, file, ... */
	PERL_BODY_WORDS = 9,  /* ... padlist, outside, its sequence and the flags, depth */
};

/* Offsets are bytes in the struct that the name begins with. */
struct perl_row {
	/* As offsets in the file, as the mapping of the interpreter's loop continues. */
	unsigned long long key;       /* PL_thr_key: of the interpreter that the thread runs */
	unsigned long long nextstate; /* Perl_pp_nextstate: what begins a statement */
	unsigned char version;        /* minor */
	unsigned char context_bytes;  /* a PERL_CONTEXT */
	unsigned char context_cv, context_depth; /* of a CXt_SUB */
	unsigned char context_module;            /* of a CXt_EVAL: the name that is required */
	unsigned char stack_type;                /* of a PERL_SI */
	unsigned char saved_op;                  /* SAVEt_OP */
	unsigned char stash_name_is_inside;      /* behind the stash's head, not its array */
	unsigned short cop, stack, environment;  /* PL_curcop, PL_curstackinfo, PL_top_env */
	unsigned char zero[2];
};

_Static_assert(sizeof(struct perl_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
