/* One tree of two profiles, and how much of it each side has: what tests of diff_tree compare. */
#ifndef EBPROF_DIFF_PAIR_H
#define EBPROF_DIFF_PAIR_H

#include "format/base/mem.h"
#include "report/diff/diff_tree.h"
#include "report/slice.h"

struct diff_pair {
	struct diff_tree diff;
	struct tree_weight *weights[MATCH_SIDES]; /* of the diff's nodes */
};

static inline struct tree_weight *diff_pair_weigh(const struct diff_tree *diff,
	enum match_side side, const struct profile *profile, const struct tree *tree)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	CLEANUP_FREE struct tree_weight *own = tree_weigh(tree, &slice);
	slice_deinit(&slice);
	return diff_tree_weigh(diff, side, own);
}

/* Borrows nothing from the profiles. */
static inline void diff_pair_init(
	struct diff_pair *pair, const struct profile *base, const struct profile *new)
{
	const struct profile *profiles[MATCH_SIDES] = {base, new};
	struct tree trees[MATCH_SIDES];
	for (int i = 0; i < MATCH_SIDES; i++)
		tree_init(&trees[i], profiles[i], &(struct tree_options){0});
	diff_tree_init(&pair->diff, &(struct diff_tree_side){base, &trees[MATCH_BASE]},
		&(struct diff_tree_side){new, &trees[MATCH_NEW]});
	for (int i = 0; i < MATCH_SIDES; i++) {
		pair->weights[i] =
			diff_pair_weigh(&pair->diff, (enum match_side)i, profiles[i], &trees[i]);
		tree_deinit(&trees[i]);
	}
}

static inline void diff_pair_deinit(struct diff_pair *pair)
{
	diff_tree_deinit(&pair->diff);
	for (int i = 0; i < MATCH_SIDES; i++)
		mem_free(pair->weights[i]);
}

#endif
