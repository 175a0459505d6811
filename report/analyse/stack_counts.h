/* How many samples have stacks that are complete, reached by guesses, or truncated. */
#ifndef EBPROF_STACK_COUNTS_H
#define EBPROF_STACK_COUNTS_H

#include <stdint.h>

#include "format/base/str.h"
#include "format/unwind/unwind_rule.h"
#include "report/model/profile.h"

/* Of samples; complete + by_guesses + kernel_only + truncated is all of them. */
struct stack_counts {
	uint64_t complete;    /* each step to the root of the user stack is proven */
	uint64_t by_guesses;  /* the root is reached, but a guessed step may skip callers */
	uint64_t kernel_only; /* there is no user stack */
	uint64_t truncated;   /* the user stack lacks callers */
	uint64_t truncated_by[LAYOUT_TRUNCATED_END];
	uint64_t guessed; /* with a frame that was guessed; they count above as well */
	/* Frames of all samples' user stacks by how they were found; inlined ones are not counted.
	 */
	uint64_t frames[UNWIND_FOUND_KINDS];
};

/* What is known of one stack, from the best to the worst. */
enum stack_proof {
	STACK_BY_RULES,
	STACK_BY_CODE,    /* ... and by reading code */
	STACK_BY_GUESSES, /* the root is reached, but callers may be missing */
	STACK_TRUNCATED,
	STACK_OF_KERNEL, /* there is no user stack */
};

/* Of each stack of the profile, by number, one of enum stack_proof; the caller's. */
uint8_t *stack_proofs_of(const struct profile *profile);
/* Static: "rules", "code"... */
const char *stack_proof_word(enum stack_proof proof);

/* Takes time for the nodes, not for the lengths of the stacks. */
struct stack_counts stack_counts_of(const struct profile *profile);
/* Appends the shares of frames by how they were found, without the end of the line; nothing where
 * all were found by rules. */
void stack_counts_put_frames(const struct stack_counts *stacks, struct str *out);
/* Appends the shares of `all` samples, without the end of the line: "97.0% complete, ...". */
void stack_counts_put(const struct stack_counts *stacks, uint64_t all, struct str *out);

#endif
