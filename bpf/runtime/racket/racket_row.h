/* What the BPF programs have to know of a file with Racket CS in it. */
#ifndef EBPROF_RACKET_ROW_H
#define EBPROF_RACKET_ROW_H

#include "bpf/runtime/runtime_row.h"

/* Places are offsets in the file, as the mapping with its code continues. */
struct racket_row {
	unsigned long long key;    /* S_tc_key: of the context that the thread has */
	unsigned long long invoke; /* S_G.invoke_code_object: what C enters Scheme by */
	/* S_call_help(), which jumps there by a call: [help_start, help_end). */
	unsigned long long help_start, help_end;
};

_Static_assert(sizeof(struct racket_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
