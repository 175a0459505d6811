/*
 * The stacks of a baseline: a tree of places, and the samples of each thread in it. Where the whole
 * is too large the rarest are cut: of a stack that was seen seldom the outer part stays that others
 * share, and the place where it was sampled, below a mark for what lay between them.
 *
 * What is rare is asked of paths of functions, not of places: a path without a mark has all of its
 * samples. So a caller's callees are known in full but for those below its mark, and two recordings
 * can be compared wherever no mark is.
 */
#ifndef EBPROF_SLIM_STACK_H
#define EBPROF_SLIM_STACK_H

#include "report/compare/baseline/slim_place.h"

struct slim_node {
	uint32_t parent; /* 0: outermost */
	uint32_t place;
	uint64_t samples; /* that passed here */
	/* ... and through places of the same functions; the most where what it calls is inlined,
	 * too: that stays as long as its caller does. */
	uint64_t path_samples;
};

/* Samples that differ in their times alone. */
struct slim_group {
	uint32_t thread, event;
	uint32_t user, kernel; /* nodes */
	uint32_t syscall;      /* as the profile's stacks have it */
	uint64_t samples, weight;
};

struct slim_stacks {
	struct slim_places *places;
	VEC(struct slim_node) nodes;   /* 0: none; callers stand before */
	struct map index;              /* parent << 32 | place -> node */
	VEC(struct slim_group) groups; /* sorted, none twice */
};

void slim_stacks_init(struct slim_stacks *stacks, struct slim_places *places);
void slim_stacks_deinit(struct slim_stacks *stacks);

/* All stacks of the places' profile; `threads` leads from its threads to those of the groups. */
void slim_stacks_take(struct slim_stacks *stacks, const uint32_t *threads);

struct slim_cut {
	uint64_t below; /* paths of functions with fewer samples are left out; places have no lines
			 */
	uint64_t self;  /* ... and places that were sampled more seldom have no lines, or go, too */
};

/* What is left of `all` goes to `to`, which is empty. Returns how many samples lost frames. */
uint64_t slim_stacks_cut(
	const struct slim_stacks *all, const struct slim_cut *cut, struct slim_stacks *to);

/* Numbers nodes so that a callee stands right behind its caller, which is written in few bytes. */
void slim_stacks_arrange(struct slim_stacks *stacks);

#endif
