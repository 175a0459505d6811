/*
 * The call trees of two recordings as one, path by path: what only one of them called stands in it,
 * too. A focus leads through it as through any tree, and tells what each path took on each side.
 */
#ifndef EBPROF_COMPARE_TREE_H
#define EBPROF_COMPARE_TREE_H

#include "report/compare.h"
#include "report/focus.h"

struct compare_tree {
	/* Functions are numbers of rows_of, frames those of compare_tree_frame(). */
	struct tree tree;
	/* Recordings differ in length: here, all of either is as much, namely 2^40. */
	struct tree_weight *both;
	struct tree_weight *sides[COMPARE_SIDES]; /* as they were */
};

/* Of the same sides as the comparison. */
void compare_tree_init(struct compare_tree *tree, const struct compare *compare,
	const struct compare_side *base, const struct compare_side *new);
void compare_tree_deinit(struct compare_tree *tree);

/* Frames of both sides as one kind of numbers; 0 stays 0. */
static inline uint32_t compare_tree_frame(enum compare_index side, uint32_t frame)
{
	return frame ? 2 * frame + (side == COMPARE_BASE) : 0;
}

/* The new side's frame; 0: it has none. */
static inline uint32_t compare_tree_new_frame(uint32_t frame)
{
	return frame % 2 ? 0 : frame / 2;
}

struct compare_twins {
	uint32_t nodes[COMPARE_SIDES]; /* of the side's focus, plus 1; 0: it has none */
	bool is_found;
};

/* What the nodes of a focus took on each side. */
struct compare_focus {
	struct focus *both; /* borrowed: of `both` */
	struct focus sides[COMPARE_SIDES];
	VEC(struct compare_twins) twins; /* for each node of `both` */
};

/* The focus leads through the tree from its root or its leaves; `sides` are those of the tree. */
void compare_focus_init(struct compare_focus *focus, struct focus *both,
	const struct tree_weight *const sides[COMPARE_SIDES]);
void compare_focus_deinit(struct compare_focus *focus);

/* A row without a name. Of its samples, all are counted; those of its own are not. */
struct compare_row compare_focus_row(struct compare_focus *focus, uint32_t node);

#endif
