/*
 * The call trees of two recordings as one: every path that either of them has, once. Functions are
 * the same where function_match.h says so; clones of one function are one.
 *
 * It is made once of all stacks, as trees are. What each path took in one recording and in the
 * other, in the samples that are looked at, are two sets of weights of the same tree; a path is
 * new or vanished where one of them is 0. Everything that is made of a tree and weights (focus,
 * flame, tree_weigh_functions()) can be made of these.
 *
 * A baseline that had to become small has marks in its stacks (slim_stack.h): what its caller calls
 * besides the callees that are there is known as a whole only. What the other side has of that
 * stands below the mark, too, so that both have all of it there, which can be compared; of what
 * stands below it is not known whether it is new, vanished or more.
 */
#ifndef EBPROF_DIFF_TREE_H
#define EBPROF_DIFF_TREE_H

#include "format/base/str.h"
#include "report/analyse/tree.h"
#include "report/compare/function_match.h"

#define DIFF_TREE_LEFT_OUT "[left out of the baseline]" /* what a mark is called */

/*
 * A symbolized profile and the tree of all its stacks. With the weights of both sides, functions
 * that by these got another name (rename_match.h) are the same, too, and are called
 * "new, was old".
 */
struct diff_tree_side {
	const struct profile *profile;
	const struct tree *tree;
	const struct tree_weight
		*weights; /* of that tree; NULL: names alone say what is the same */
};

/* Tables have a placeholder at 0, as a profile's. */
struct diff_tree {
	struct tree tree; /* without ends; functions and frames are these: */
	VEC(struct profile_function) functions;
	/* Of each name one, the new side's where it has it; of its info there is the kind alone. */
	VEC(struct profile_object) objects;
	/*
	 * By diff_tree_frame(). Those of the tree's functions have functions and objects of these
	 * tables, and say whether they were inlined.
	 */
	VEC(struct profile_frame) frames;
	struct strtab texts;
	/* Of each side: for each node of its tree the one of this tree, for each function one here,
	 * 0: none. */
	uint32_t *nodes[MATCH_SIDES], *function_of[MATCH_SIDES];
	size_t nr_nodes[MATCH_SIDES];
	uint32_t left_out; /* the function of marks; 0: neither side has any */
};

/* Nothing is borrowed: the sides may go. */
void diff_tree_init(struct diff_tree *diff, const struct diff_tree_side *base,
	const struct diff_tree_side *new);
void diff_tree_deinit(struct diff_tree *diff);

/* A side's frame. It keeps its number when names arrive, which add frames. 0 stays 0. */
static inline uint32_t diff_tree_frame(enum match_side side, uint32_t frame)
{
	return frame ? 2 * frame + (side == MATCH_BASE) : 0;
}

/* The side's frame that it is; 0: it is one of the other side's. */
static inline uint32_t diff_tree_frame_of(enum match_side side, uint32_t frame)
{
	return frame % 2 == (side == MATCH_BASE) ? frame / 2 : 0;
}

/* One of the other side's frames of the function that the side's frame is of; 0: there is none. */
uint32_t diff_tree_frame_across(const struct diff_tree *diff, enum match_side side, uint32_t frame);

/* A side's weights, of its own tree, as weights of this one; to be freed with mem_free(). */
struct tree_weight *diff_tree_weigh(
	const struct diff_tree *diff, enum match_side side, const struct tree_weight *weights);

/*
 * The mean of both shares at each node, so that recordings of any length count the same and a graph
 * of it shows what is new as well as what vanished. Of DIFF_TREE_WHOLE in all, half of it where
 * one side is empty. To be freed with mem_free().
 */
#define DIFF_TREE_WHOLE (UINT64_C(1) << 40)
struct tree_weight *diff_tree_mean(const struct diff_tree *diff, const struct tree_weight *base,
	const struct tree_weight *new);

#endif
