#include "report/analyse/tree_growth.h"

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
static uint32_t tree_growth_find_child(const struct tree *tree, const struct tree_growth *growth,
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
	uint32_t node = tree_growth_find_child(tree, growth, child->parent, child->function);
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

/* How many nodes each node's branch has, itself among them. */
static uint32_t *find_sizes(const struct tree *tree)
{
	uint32_t *sizes = mem_zalloc_array(tree->nodes.len, sizeof(*sizes));
	for (size_t i = tree->nodes.len; i-- > 1;)
		sizes[tree->nodes.data[i].parent] += ++sizes[i];
	return sizes;
}

/*
 * In depth-first order, where a branch is in one piece, a node is recursive that lies in its
 * function's newest branch, of those that are in no other. All is done from one end of an array to
 * the other: the nodes lie wherever they were made.
 */
void tree_mark_recursion(struct tree *tree, size_t nr_functions)
{
	struct branch {
		uint32_t function, size;
	};
	size_t count = tree->nodes.len;
	CLEANUP_FREE uint32_t *sizes = find_sizes(tree);
	CLEANUP_FREE uint32_t *places = mem_zalloc_array(count, sizeof(*places));
	CLEANUP_FREE uint32_t *next = mem_zalloc_array(count, sizeof(*next));
	CLEANUP_FREE struct branch *branches = mem_zalloc_array(count, sizeof(*branches));
	places[0] = 0;
	next[0] = 1; /* where the next child's branch begins */
	for (size_t i = 1; i < count; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		uint32_t place = next[node->parent];
		next[node->parent] += sizes[i];
		places[i] = place;
		next[i] = place + 1;
		branches[place] = (struct branch){node->function, sizes[i]};
	}
	CLEANUP_FREE uint32_t *ends = mem_zalloc_array(nr_functions, sizeof(*ends));
	CLEANUP_FREE bool *is_within = mem_zalloc_array(count, sizeof(*is_within));
	for (uint32_t place = 1; place < count; place++) {
		uint32_t *end = &ends[branches[place].function];
		is_within[place] = place < *end;
		if (!is_within[place])
			*end = place + branches[place].size;
	}
	for (size_t i = 1; i < count; i++)
		tree->nodes.data[i].is_recursive = is_within[places[i]];
}
