/*
 * All stacks as one tree, for formats that tell a stack by its innermost call
 * and what that was called from: outermost calls first, inlined ones as calls.
 */
#ifndef EBPROF_STACK_TREE_H
#define EBPROF_STACK_TREE_H

#include <stdint.h>

#include "report/model/profile.h"

struct stack_tree_node {
	uint32_t parent; /* ahead of its children; 0: outermost */
	uint32_t name;   /* of the frame */
};

struct stack_tree {
	VEC(struct stack_tree_node) nodes; /* node 0 is a placeholder */
	uint32_t *stacks;                  /* node of each stack that has samples; never 0 there */
};

/*
 * `names`: what stands for each frame, with one more at the end for samples without a stack;
 * calls of equal names from equal stacks are one node. NULL: each frame stands for itself.
 */
void stack_tree_init(struct stack_tree *tree, const struct profile *profile, const uint32_t *names);
void stack_tree_deinit(struct stack_tree *tree);

#endif
