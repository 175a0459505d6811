/* One tree of two profiles, and how much of it each side has: what tests of diff_tree compare. */
#ifndef EBPROF_DIFF_PAIR_H
#define EBPROF_DIFF_PAIR_H

#include "format/base/mem.h"
#include "report/compare/diff_tree.h"
#include "report/model/slice.h"

struct diff_pair {
	struct diff_tree diff;
	struct tree_weight *weights[MATCH_SIDES]; /* of the diff's nodes */
};

static inline struct tree_weight *diff_pair_weigh(
	const struct profile *profile, const struct tree *tree)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	struct tree_weight *own = tree_weigh(tree, &slice);
	slice_deinit(&slice);
	return own;
}

/* Borrows nothing from the profiles. */
static inline void diff_pair_init_as(struct diff_pair *pair, const struct profile *base,
	const struct profile *new, bool joins_renames)
{
	const struct profile *profiles[MATCH_SIDES] = {base, new};
	struct tree trees[MATCH_SIDES];
	struct tree_weight *own[MATCH_SIDES];
	struct diff_tree_side sides[MATCH_SIDES];
	for (int i = 0; i < MATCH_SIDES; i++) {
		tree_init(&trees[i], profiles[i], &(struct tree_options){0});
		own[i] = diff_pair_weigh(profiles[i], &trees[i]);
		sides[i] = (struct diff_tree_side){
			profiles[i], &trees[i], joins_renames ? own[i] : NULL};
	}
	diff_tree_init(&pair->diff, &sides[MATCH_BASE], &sides[MATCH_NEW]);
	for (int i = 0; i < MATCH_SIDES; i++) {
		pair->weights[i] = diff_tree_weigh(&pair->diff, (enum match_side)i, own[i]);
		mem_free(own[i]);
		tree_deinit(&trees[i]);
	}
}

static inline void diff_pair_init(
	struct diff_pair *pair, const struct profile *base, const struct profile *new)
{
	diff_pair_init_as(pair, base, new, false);
}

static inline void diff_pair_deinit(struct diff_pair *pair)
{
	diff_tree_deinit(&pair->diff);
	for (int i = 0; i < MATCH_SIDES; i++)
		mem_free(pair->weights[i]);
}

#endif
