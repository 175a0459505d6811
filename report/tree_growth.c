#include "report/tree_growth.h"

enum {
	/* Looking at that many siblings, lately made, is faster than a look into a large map. */
	FEW = 8,
};

void tree_begin(struct tree *tree, struct tree_growth *growth)
{
	*growth = (struct tree_growth){0};
	vec_push(&tree->nodes, (struct tree_node){0});
	vec_push(&growth->nr_children, 0);
}

void tree_growth_deinit(struct tree_growth *growth)
{
	vec_deinit(&growth->nr_children);
	map_deinit(&growth->children);
}

static uint64_t child_key(uint32_t parent, uint32_t function)
{
	return (uint64_t)parent << 32 | function;
}

/* 0: there is none. */
static uint32_t find_child(const struct tree *tree, const struct tree_growth *growth,
	uint32_t parent, uint32_t function)
{
	const struct tree_node *nodes = tree->nodes.data;
	if (growth->nr_children.data[parent] > FEW) {
		const uint64_t *node = map_get(&growth->children, child_key(parent, function));
		return node ? (uint32_t)*node : 0;
	}
	uint32_t at = nodes[parent].first_child;
	while (at && nodes[at].function != function)
		at = nodes[at].next_sibling;
	return at;
}

static void put_child(const struct tree *tree, struct tree_growth *growth, uint32_t node)
{
	const struct tree_node *it = &tree->nodes.data[node];
	*map_put(&growth->children, child_key(it->parent, it->function), NULL) = node;
}

static void count_child(const struct tree *tree, struct tree_growth *growth, uint32_t node)
{
	uint8_t *count = &growth->nr_children.data[tree->nodes.data[node].parent];
	if (*count > FEW) {
		put_child(tree, growth, node);
	} else if (++*count > FEW) {
		for (uint32_t at = node; at; at = tree->nodes.data[at].next_sibling)
			put_child(tree, growth, at);
	}
}

uint32_t tree_grow(struct tree *tree, struct tree_growth *growth, const struct tree_node *child)
{
	uint32_t node = find_child(tree, growth, child->parent, child->function);
	if (node)
		return node;
	struct tree_node fresh = *child;
	fresh.next_sibling = tree->nodes.data[child->parent].first_child;
	node = (uint32_t)tree->nodes.len;
	vec_push(&tree->nodes, fresh);
	vec_push(&growth->nr_children, 0);
	tree->nodes.data[child->parent].first_child = node;
	count_child(tree, growth, node);
	return node;
}
