/* How many samples have complete, truncated and guessed stacks. */
#ifndef EBPROF_STACK_COUNTS_H
#define EBPROF_STACK_COUNTS_H

#include <stdint.h>

#include "report/model/profile.h"

struct stack_counts { /* of samples; complete + kernel_only + truncated is all of them */
	uint64_t complete;
	uint64_t kernel_only; /* there is no user stack */
	uint64_t truncated;   /* the user stack lacks callers */
	uint64_t truncated_by[LAYOUT_TRUNCATED_END];
	uint64_t guessed; /* with a frame that no unwind rule led to; they count above as well */
};

/* Takes time for the nodes, not for the lengths of the stacks. */
struct stack_counts stack_counts_of(const struct profile *profile);

#endif
