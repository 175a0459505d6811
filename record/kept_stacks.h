/*
 * Stacks that samples name once more when what they began is over, as allocations do when they are
 * freed, or were in use to the end: by hash.
 */
#ifndef EBPROF_KEPT_STACKS_H
#define EBPROF_KEPT_STACKS_H

#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/resolver.h"
#include "record/stack_table.h"

struct kept_stack {
	struct resolved_stack stack;
	uint32_t snapshot; /* what is left of it, ... */
	uint32_t epoch;    /* ... in the file of that epoch */
};

struct kept_stacks {
	struct map by_hash; /* index + 1 of: */
	VEC(struct kept_stack) stacks;
};

/* Equal stacks have equal hashes: what was kept by this one is replaced. */
void kept_stacks_put(struct kept_stacks *kept, uint64_t hash, const struct kept_stack *stack);
/* NULL: it is not there, or a part of it is left to the reader of another file. */
const struct kept_stack *kept_stacks_find(
	const struct kept_stacks *kept, uint64_t hash, uint32_t epoch);
/* Their nodes become those of another table. */
void kept_stacks_move(
	struct kept_stacks *kept, struct stack_table *to, const struct stack_table *from);
void kept_stacks_deinit(struct kept_stacks *kept);

#endif
