/* Making a call tree, node by node, with each function once below each caller. */
#ifndef EBPROF_TREE_GROWTH_H
#define EBPROF_TREE_GROWTH_H

#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "report/analyse/tree.h"

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

#endif
