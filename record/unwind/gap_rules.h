/*
 * Rules for code that has no call frame information, derived from its instructions. For the gaps
 * between functions that have it: what follows the system call in clone() and clone3() of C
 * libraries, _init and _fini, the functions of crtbegin.o.
 *
 * Where the caller's frame is, is known at a `ret`, and at a jump to code that has rules. From
 * there it is carried along the instructions, backwards and forwards, over pushes and pops. So
 * nothing has to be known of where functions begin. What is not known exactly has no rule: after
 * an instruction that is not known, or where two ways contradict each other.
 */
#ifndef EBPROF_GAP_RULES_H
#define EBPROF_GAP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"

enum {
	GAP_RULES_MAX_BYTES = 4096, /* of a gap; larger ones are files without rules */
};

struct gap {
	const uint8_t *bytes; /* machine code of x86-64 */
	size_t len;
	uint64_t offset; /* of the first of them, in the file */
	/* The rule at an offset in the file outside of the gap; false: there is none. */
	bool (*rule_at)(void *context, uint64_t offset, struct unwind_rule *ret);
	/* From `offset` on; those of a gap come with ascending offsets. NULL: there is none. */
	void (*on_rule)(void *context, uint64_t offset, const struct unwind_rule *rule);
	void *context;
};

/* Calls on_rule for each instruction that was understood; never past the gap's end. */
void gap_rules_derive(const struct gap *gap);

#endif
