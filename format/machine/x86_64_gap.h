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
#ifndef EBPROF_X86_64_GAP_H
#define EBPROF_X86_64_GAP_H

#include "format/machine/machine.h"

enum {
	X86_64_GAP_MAX_BYTES = 4096, /* larger ones are files without rules */
};

/* Calls on_rule for each instruction that was understood. */
void x86_64_find_gap_rules(const struct machine_gap *gap);

#endif
