/* The call tree: every distinct path of functions, from the outermost down or, inverted, from the
 * leaves up. */
#ifndef EBPROF_TREE_H
#define EBPROF_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "report/profile.h"

struct tree_node {
	uint32_t function;
	uint32_t parent, first_child, next_sibling; /* 0: none; node 0 is the root */
	uint64_t self, total;
	uint64_t samples; /* in total */
	bool is_kernel;
};

struct tree {
	VEC(struct tree_node) nodes; /* parents ahead of their children */
};

/* Children are in the order of falling total. Frames beyond max_depth (0: no limit) are left out.
 */
void tree_init(
	struct tree *tree, const struct profile *profile, bool is_inverted, uint32_t max_depth);
void tree_deinit(struct tree *tree);

#endif
