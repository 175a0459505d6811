/* The call tree of one event, numbered as html_data.h has it, with small branches folded. */
#ifndef EBPROF_HTML_TREE_H
#define EBPROF_HTML_TREE_H

#include "format/base/bytes.h"
#include "report/profile.h"
#include "report/tree.h"

enum {
	HTML_TREE_FOLDED = 0, /* the function of folded branches */
};

struct html_tree {
	struct bytes_buf callers, references; /* the two columns of nodes */
	uint32_t nr_nodes;
	VEC(uint32_t) functions, objects; /* by their new numbers: those of the profile */
	uint32_t *object_numbers;         /* of each object of the profile */
	uint64_t nr_folded, folded_weight;
	uint32_t *numbers; /* of each stack: the node where it ends */
};

/* Where there are more than `nodes_max`, those of the least weight are folded. */
void html_tree_init(
	struct html_tree *tree, const struct profile *profile, uint32_t event, uint32_t nodes_max);
void html_tree_deinit(struct html_tree *tree);

static inline uint32_t html_tree_number(const struct html_tree *tree, uint32_t stack)
{
	return tree->numbers[stack];
}

#endif
