/* How many samples have stacks that are complete, reached by guesses, or truncated. */
#ifndef EBPROF_STACK_COUNTS_H
#define EBPROF_STACK_COUNTS_H

#include <stdint.h>

#include "format/base/str.h"
#include "format/unwind/unwind_rule.h"
#include "report/model/profile.h"
#include "report/model/slice.h"

/* Of samples; complete + by_guesses + kernel_only + truncated is all of them. */
struct stack_counts {
	uint64_t complete;    /* each step to the root of the user stack is proven */
	uint64_t by_guesses;  /* the root is reached, but a guessed step may skip callers */
	uint64_t kernel_only; /* there is no user stack */
	uint64_t truncated;   /* the user stack lacks callers */
	uint64_t truncated_by[LAYOUT_TRUNCATED_END];
	uint64_t guessed; /* with a frame that was guessed; they count above as well */
	/* At whose leaf it was guessed which of the functions inlined in each other it is. */
	uint64_t guessed_inlined;
	/* Frames of all samples' user stacks by how they were found; inlined ones are not counted.
	 */
	uint64_t frames[UNWIND_FOUND_KINDS];
	bool are_leaves; /* of an imported profile, whose samples all have one function */
};

/*
 * The same of one object: of the steps from its code to the callers. Steps over the frames of
 * scripts belong to the compiled code that they lead away from. Of the guesses of a stack only the
 * one next to the leaf counts its sample, so that the objects' add up to stack_counts.guessed.
 */
struct object_stacks {
	uint64_t callers[UNWIND_FOUND_KINDS]; /* by how they were found, over all samples */
	uint64_t guessed;                     /* samples whose first guess is a step from here */
	uint64_t truncated;                   /* samples whose user stack ends here early */
	uint64_t truncated_by[LAYOUT_TRUNCATED_END];
};

/* What is known of one stack, from the best to the worst. */
enum stack_proof {
	STACK_BY_RULES,
	STACK_BY_CODE,         /* ... and by reading code */
	STACK_GUESSED_INLINED, /* ... but which of the functions inlined at its leaf it is */
	STACK_BY_GUESSES,      /* the root is reached, but callers may be missing */
	STACK_TRUNCATED,
	STACK_OF_KERNEL, /* there is no user stack */
};

/* Of each stack of the profile, by number, one of enum stack_proof; the caller's. */
uint8_t *stack_proofs_of(const struct profile *profile);
/* Static: "rules", "code"... */
const char *stack_proof_word(enum stack_proof proof);

/* Static: the cause's word in JSON and in the manual. NULL of LAYOUT_COMPLETE. */
const char *stack_truncation_word(enum layout_truncation cause);

/* Takes time for the nodes, not for the lengths of the stacks. */
struct stack_counts stack_counts_of(const struct profile *profile);
/* Of the slice's samples. */
struct stack_counts stack_counts_of_slice(const struct profile *profile, const struct slice *slice);
/*
 * Of the slice's samples, by the profile's objects; the caller's, to be freed with mem_free().
 * Object 0 has what is cut ahead of the first frame of compiled code.
 */
struct object_stacks *object_stacks_of(const struct profile *profile, const struct slice *slice);
/* Appends the shares of `frames`, by enum unwind_found: "97.0% by rules, ..."; nothing of none. */
void stack_counts_put_found(const uint64_t *frames, struct str *out);
/* Appends the shares of frames by how they were found, without the end of the line; nothing where
 * all were found by rules. */
void stack_counts_put_frames(const struct stack_counts *stacks, struct str *out);
/* Appends what a guess of inlined functions means, and how there is none, without the end of the
 * line; nothing where there is none. */
void stack_counts_put_guessed_inlined(
	const struct stack_counts *stacks, uint64_t all, struct str *out);
/* Appends the shares of `all` samples, without the end of the line: "97.0% complete, ...". */
void stack_counts_put(const struct stack_counts *stacks, uint64_t all, struct str *out);

#endif
