/* The call tree of one event, numbered as html_data.h has it, with small branches folded. */
#ifndef EBPROF_HTML_TREE_H
#define EBPROF_HTML_TREE_H

#include "format/base/bytes.h"
#include "report/analyse/tree.h"
#include "report/model/profile.h"

enum {
	HTML_TREE_FOLDED = 0, /* the function of folded branches */
};

enum {
	HTML_COLUMNS_MAX = 2, /* of weights: of a recording, and of one that it is compared with */
};

struct html_tree_source {
	struct tree *tree; /* siblings get sorted */
	const struct profile_function *functions;
	const struct profile_frame *frames;
	size_t nr_functions, nr_objects;
	size_t nr_columns;
	uint64_t *weights[HTML_COLUMNS_MAX]; /* of each node itself */
};

struct html_tree {
	struct bytes_buf callers, references; /* the two columns of nodes */
	uint32_t nr_nodes;
	VEC(uint32_t) functions, objects; /* by their new numbers: those of the source */
	uint32_t *object_numbers;         /* of each object of the source */
	uint64_t nr_folded, folded_weights[HTML_COLUMNS_MAX];
	uint32_t *numbers; /* of each node of the source where something ended */
};

/*
 * Where there are more than `nodes_max`, those of the least weight are folded. Of two columns the
 * shares count, not what they are shares of.
 */
void html_tree_init(
	struct html_tree *tree, const struct html_tree_source *source, uint32_t nodes_max);
void html_tree_deinit(struct html_tree *tree);

#endif
