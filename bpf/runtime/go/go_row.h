/* What is known of a Go program. */
#ifndef EBPROF_GO_ROW_H
#define EBPROF_GO_ROW_H

#include "bpf/runtime/runtime_row.h"

enum go_labels {
	GO_LABELS_NONE = 0,  /* the program sets none */
	GO_LABELS_MAP = 1,   /* a map[string]string: up to 1.23 */
	GO_LABELS_SLICE = 2, /* of pairs of a key and a value: from 1.24 on */
};

/* Offsets, found in the program's own code. */
struct go_row {
	unsigned int is_known; /* how to come to a thread's goroutine; else the rest is 0 */
	int tls; /* of the thread's g, from its pointer; 0: it is in a register, x28 */
	unsigned short m, curg, goid, labels, creator; /* in g, m, g, g, g; creator: 0: unknown */
	unsigned short layout;                         /* enum go_labels */
} __attribute__((may_alias));

_Static_assert(sizeof(struct go_row) <= sizeof(((struct runtime_row *)0)->words), "it fits a row");

#endif
