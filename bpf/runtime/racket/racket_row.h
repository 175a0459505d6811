/* What the BPF programs have to know of a file with Racket CS in it. */
#ifndef EBPROF_RACKET_ROW_H
#define EBPROF_RACKET_ROW_H

#include "bpf/runtime/runtime_row.h"

/* Places are offsets in the file, as the mapping with its code continues. */
struct racket_row {
	unsigned long long key; /* S_tc_key: of the context that the thread has */
	/* S_G.invoke_code_object: what C enters Scheme by; or what leads to S_G, in which it is so
	 * many bytes behind the beginning. */
	unsigned long long invoke, invoke_in_globals;
	/* S_call_help(), which jumps there by a call: [help_start, help_end), and what that returns
	 * to. */
	unsigned long long help_start, help_end, help_return;
};

_Static_assert(sizeof(struct racket_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
