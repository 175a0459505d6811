/*
 * Stacks that come before the samples that name them: of who ended a wait, or began a request to a
 * disk, as ids in the file at hand, by the number that both have.
 */
#ifndef EBPROF_EARLY_STACKS_H
#define EBPROF_EARLY_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"

enum {
	EARLY_STACKS_MAX = 64 * 1024, /* whose samples have not arrived */
};

struct early_stack {
	uint32_t epoch;  /* of the emitter: the file that these ids hold in */
	uint32_t thread; /* an id, as the others */
	uint32_t user, kernel;
	uint32_t snapshot; /* of what is left of the user stack; 0: nothing */
	uint64_t *outcome; /* what counts samples with such a stack, or NULL; borrowed */
};

struct early_stacks {
	struct map places; /* number -> index of: */
	VEC(struct early_stack) stacks;
	VEC(uint32_t) free; /* indices that are not in use */
};

/* Where there are too many all are forgotten, and so many samples will not find theirs. */
void early_stacks_put(struct early_stacks *early, uint64_t number, const struct early_stack *stack);
/* Takes one out. False: there is none of that number. */
bool early_stacks_take(struct early_stacks *early, uint64_t number, struct early_stack *ret);
void early_stacks_deinit(struct early_stacks *early);

#endif
