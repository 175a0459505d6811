/*
 * Real stacks to unwind: functions of known names that call each other, built
 * without frame pointers and sanitizers (see the Makefile), and that record
 * what they stand on.
 */
#ifndef EBPROF_UNWIND_SUBJECT_H
#define EBPROF_UNWIND_SUBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "format/file/layout.h"

struct unwind_subject {
	struct layout_snapshot snapshot; /* of the function that was called last */
	uint8_t stack[LAYOUT_MAX_SNAPSHOT_BYTES];
	/* What libgcc's unwinder says, from the same function on: instructions, or inside calls. */
	uintptr_t callers[256];
	size_t nr_callers;
	uintptr_t interrupted_ip; /* where the signal came, 0 when there was none */
};

/* subject_calls > subject_middle > subject_leaf */
void subject_calls(struct unwind_subject *subject);
/* subject_sorts > qsort > subject_compare */
void subject_sorts(struct unwind_subject *subject);
/* subject_realigns (whose frame stands at an address of its own) > subject_leaf */
void subject_realigns(struct unwind_subject *subject, size_t bytes);
/* subject_is_interrupted > subject_waits > [signal] > subject_handler */
void subject_is_interrupted(struct unwind_subject *subject);
/* subject_recurses, so many times */
void subject_recurses(struct unwind_subject *subject, unsigned depth);

#endif
