/*
 * The call tree: every distinct path of functions, from the outermost down. It is made once of all
 * stacks; how much time each path took, in the samples that are looked at, are its weights.
 */
#ifndef EBPROF_TREE_H
#define EBPROF_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "report/model/profile.h"
#include "report/model/slice.h"

struct tree_node {
	uint32_t function;
	uint32_t frame; /* one of those that stand here; 0 for the root */
	uint32_t parent, first_child, next_sibling; /* 0: none; node 0 is the root */
	bool is_kernel;
	bool is_recursive; /* its function is among its callers, too */
};

struct tree {
	VEC(struct tree_node) nodes; /* parents ahead of their children */
	uint32_t *ends;              /* for each stack of the profile: the node of its leaf */
	size_t nr_stacks;
	bool has_groups; /* the nodes below the root are no functions, but whose the samples are */
};

struct tree_options {
	/* Of namesakes_group(); NULL: functions of one name that begin elsewhere are others. */
	const uint32_t *groups;
	bool hides_inlined;
	bool has_groups; /* every stack has one root: see roots_plant_beside() */
};

/* Needs a symbolized profile. Stacks share what they have in common, also while this runs. */
void tree_init(
	struct tree *tree, const struct profile *profile, const struct tree_options *options);
void tree_deinit(struct tree *tree);

/* ---- other trees: node by node, with each function once below each caller ---- */

struct tree_growth {
	VEC(uint8_t) nr_children; /* of each node of the tree, as far as they are counted */
	struct map children;      /* where there are many: parent << 32 | function -> node */
};

/* A tree of a root alone. */
void tree_begin(struct tree *tree, struct tree_growth *growth);
/*
 * The node of child->function below child->parent: as it is there, or a copy of `child`, whose
 * references to others but its parent are 0.
 */
uint32_t tree_grow(struct tree *tree, struct tree_growth *growth, const struct tree_node *child);
void tree_growth_deinit(struct tree_growth *growth);
/* When all nodes are there: says of each whether it is recursive. */
void tree_mark_recursion(struct tree *tree, size_t nr_functions);

/* ---- weights ---- */

struct tree_weight {          /* there are many: 24 bytes */
	uint64_t self, total; /* in the event's unit (ns) */
	/* 32 bits: as many samples in memory would be 128 GiB. */
	uint32_t self_samples, samples;
};

/* Adds what each node has to all that it is in. */
void tree_add_up(const struct tree *tree, struct tree_weight *weights);
/* For each node of the tree, to be freed with mem_free(). */
struct tree_weight *tree_weigh(const struct tree *tree, const struct slice *slice);

struct function_weight {
	uint32_t function, frame; /* one of its frames */
	uint32_t group;           /* where there are groups: the function of that node; else 0 */
	uint64_t self, total;
	uint64_t self_samples, samples;
};

struct function_weights {
	struct function_weight *data;
	size_t len, cap;
};

/*
 * Of all functions that took any time, in no order; groups are none. A recursive function counts
 * once a sample in its total. The marker of a truncated stack is no function, unless there is
 * nothing else.
 */
void tree_weigh_functions(const struct tree *tree, const struct tree_weight *weights,
	const struct profile_frame *frames, size_t nr_functions, struct function_weights *ret);
/* The same of each group by itself, in a tree that has some. */
void tree_weigh_groups(const struct tree *tree, const struct tree_weight *weights,
	const struct profile_frame *frames, size_t nr_functions, struct function_weights *ret);

#endif
