/*
 * What a call tree looks like from somewhere: the paths that lead away from its root, from its
 * leaves or from a function, merged wherever they pass through the same functions. A node's
 * children are found when it is opened, so what is not opened costs nothing.
 */
#ifndef EBPROF_FOCUS_H
#define EBPROF_FOCUS_H

#include "report/analyse/tree.h"

enum focus_direction {
	FOCUS_CALLEES, /* from callers to what they call */
	FOCUS_CALLERS, /* from what is called to its callers */
};

struct focus_node {
	uint32_t function, frame; /* one of its frames; 0 for a root that is no function */
	uint32_t parent, depth;   /* node 0 is the root, of depth 0 */
	uint32_t first_child, next_sibling; /* 0: none, or not expanded; see `rank` */
	bool is_expanded, is_kernel;
	uint64_t self, total, samples;
	uint32_t levels; /* of calls of the function by itself that are merged here; 1: none */
	size_t first_place, nr_places; /* in the tree */
};

struct focus_place {
	uint32_t node; /* of the tree */
	uint64_t value, samples;
};

struct focus {
	const struct tree *tree;
	const struct tree_weight *weights;
	const struct profile_function *functions;
	enum focus_direction direction;
	uint32_t top; /* where callers end; 0: at the root */
	bool merges_recursion;
	/*
	 * What siblings are ordered by, the greatest first, instead of total; NULL: by that. Asked
	 * for all of them once, when they have their places in `nodes`, which stay by total.
	 */
	double (*rank)(void *context, uint32_t node);
	void *rank_context;
	VEC(struct focus_node) nodes;
	VEC(struct focus_place) places;
};

/*
 * From the root down, or from all leaves up; where the tree has groups, these stand ahead of the
 * leaves. What it is made of is borrowed.
 */
void focus_init(struct focus *focus, const struct tree *tree, const struct tree_weight *weights,
	const struct profile_function *functions, enum focus_direction direction);
/* From all leaves below a node of the tree, up to that node. */
void focus_init_leaves(struct focus *focus, const struct tree *tree,
	const struct tree_weight *weights, const struct profile_function *functions, uint32_t node);
/* From all places of one function: node 0 is that function. */
void focus_init_function(struct focus *focus, const struct tree *tree,
	const struct tree_weight *weights, const struct profile_function *functions,
	enum focus_direction direction, uint32_t function);
/*
 * Calls of a function by itself are one node from now on: it has the total of the outermost one,
 * the self of all, and what any of them calls, or is called by, as children. For a focus that
 * focus_init_function() has just made.
 */
void focus_merge_recursion(struct focus *focus);
void focus_deinit(struct focus *focus);

/* Whether paths go from the root through groups to leaves, and from there to their callers. */
bool focus_has_leaves_in_groups(const struct focus *focus);
/* Finds the children of a node, unless that was done. Pointers to nodes are invalid afterwards. */
void focus_expand(struct focus *focus, uint32_t node);
/* The outermost of the calls of a function by itself that `place` is one of, or `place`. */
uint32_t focus_outermost_place(const struct focus *focus, uint32_t place);
/* The child of that function; 0: there is none. Expands the node. */
uint32_t focus_child(struct focus *focus, uint32_t node, uint32_t function);
/*
 * The child that takes nearly all of the node's time, in the kernel if the node is: what the node
 * does nothing but call. Of a caller, from the leaves on, the one that calls it; a leaf has none.
 * 0: there is none. Expands the node.
 */
uint32_t focus_only_child(struct focus *focus, uint32_t node);
/*
 * The node that shows a node of the tree, where paths lead from the tree's root; *is_whole: it is
 * there, and not only the deepest on the way to it.
 */
uint32_t focus_find(struct focus *focus, uint32_t place, bool *is_whole);
/* The place where the node takes most; 0 for the root that is no function. */
uint32_t focus_hottest_place(const struct focus *focus, uint32_t node);

#endif
