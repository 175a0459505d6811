#include "report/compare_tree.h"

#include "format/base/map.h"

/* ---- the tree ---- */

struct merging {
	struct compare_tree *into;
	const struct compare *compare;
	struct map children; /* node << 32 | function -> child */
};

static uint32_t child_of(struct merging *merging, uint32_t parent, const struct tree_node *like,
	enum compare_index side)
{
	struct tree *tree = &merging->into->tree;
	uint32_t function = merging->compare->rows_of[side][like->function];
	uint64_t *child = map_put(&merging->children, (uint64_t)parent << 32 | function, NULL);
	if (*child)
		return (uint32_t)*child;
	struct tree_node node = {
		.function = function,
		.frame = compare_tree_frame(side, like->frame),
		.parent = parent,
		.next_sibling = tree->nodes.data[parent].first_child,
		.is_kernel = like->is_kernel,
		.is_recursive = like->is_recursive,
	};
	*child = tree->nodes.len;
	tree->nodes.data[parent].first_child = (uint32_t)tree->nodes.len;
	vec_push(&tree->nodes, node);
	return (uint32_t)*child;
}

static void add_side(
	struct merging *merging, enum compare_index side, const struct compare_side *from)
{
	struct tree_weight *weights = merging->into->sides[side];
	size_t count = from->tree->nodes.len;
	CLEANUP_FREE uint32_t *places = mem_zalloc_array(count, sizeof(*places));
	for (size_t i = 0; i < count; i++) {
		const struct tree_node *node = &from->tree->nodes.data[i];
		const struct tree_weight *weight = &from->weights[i];
		if (!weight->samples)
			continue;
		if (i)
			places[i] = child_of(merging, places[node->parent], node, side);
		struct tree_weight *sum = &weights[places[i]];
		sum->self += weight->self;
		sum->total += weight->total;
		sum->samples += weight->samples;
	}
}

static uint64_t share_of(uint64_t value, uint64_t whole)
{
	return whole ? (uint64_t)(((unsigned __int128)value << 40) / whole) : 0;
}

/* Totals are sums of what was rounded, so that they are exact. */
static void weigh_both(struct compare_tree *tree, const struct compare *compare)
{
	for (size_t i = tree->tree.nodes.len; i-- > 0;) {
		const struct tree_weight *base = &tree->sides[COMPARE_BASE][i];
		const struct tree_weight *new = &tree->sides[COMPARE_NEW][i];
		struct tree_weight *both = &tree->both[i];
		both->self = share_of(base->self, compare->base.value) +
			     share_of(new->self, compare->new.value);
		both->total += both->self;
		both->samples = base->samples + new->samples;
		if (i)
			tree->both[tree->tree.nodes.data[i].parent].total += both->total;
	}
}

void compare_tree_init(struct compare_tree *tree, const struct compare *compare,
	const struct compare_side *base, const struct compare_side *new)
{
	size_t most = base->tree->nodes.len + new->tree->nodes.len;
	*tree = (struct compare_tree){.both = mem_zalloc_array(most, sizeof(*tree->both))};
	for (int side = 0; side < COMPARE_SIDES; side++)
		tree->sides[side] = mem_zalloc_array(most, sizeof(**tree->sides));
	vec_push(&tree->tree.nodes, (struct tree_node){0});
	struct merging merging = {.into = tree, .compare = compare};
	add_side(&merging, COMPARE_NEW, new); /* first, so that its frames are what is selected */
	add_side(&merging, COMPARE_BASE, base);
	map_deinit(&merging.children);
	weigh_both(tree, compare);
}

void compare_tree_deinit(struct compare_tree *tree)
{
	tree_deinit(&tree->tree);
	mem_free(tree->both);
	for (int side = 0; side < COMPARE_SIDES; side++)
		mem_free(tree->sides[side]);
}

/* ---- the sides of a focus ---- */

void compare_focus_init(struct compare_focus *focus, struct focus *both,
	const struct tree_weight *const sides[COMPARE_SIDES])
{
	*focus = (struct compare_focus){.both = both};
	for (int side = 0; side < COMPARE_SIDES; side++)
		focus_init(&focus->sides[side], both->tree, sides[side], both->functions,
			both->direction);
	vec_push(&focus->twins, (struct compare_twins){{1, 1}, true});
}

void compare_focus_deinit(struct compare_focus *focus)
{
	for (int side = 0; side < COMPARE_SIDES; side++)
		focus_deinit(&focus->sides[side]);
	vec_deinit(&focus->twins);
}

/* All children of a node whose own twins are known. */
static void find_twins(struct compare_focus *focus, uint32_t parent)
{
	const struct focus_node *nodes = focus->both->nodes.data;
	if (focus->twins.len < focus->both->nodes.len)
		vec_resize(&focus->twins, focus->both->nodes.len);
	struct map children = {0}; /* of a side, by function: node + 1 */
	for (int side = 0; side < COMPARE_SIDES; side++) {
		struct focus *of = &focus->sides[side];
		uint32_t twin = focus->twins.data[parent].nodes[side];
		map_clear(&children);
		if (twin)
			focus_expand(of, twin - 1);
		for (uint32_t at = twin ? of->nodes.data[twin - 1].first_child : 0; at;
			at = of->nodes.data[at].next_sibling)
			*map_put(&children, of->nodes.data[at].function, NULL) = at + 1;
		for (uint32_t at = nodes[parent].first_child; at; at = nodes[at].next_sibling) {
			const uint64_t *found = map_get(&children, nodes[at].function);
			focus->twins.data[at].nodes[side] = found ? (uint32_t)*found : 0;
			focus->twins.data[at].is_found = true;
		}
	}
	map_deinit(&children);
}

static bool is_found(const struct compare_focus *focus, uint32_t node)
{
	return node < focus->twins.len && focus->twins.data[node].is_found;
}

static void put_value(const struct focus_node *node, struct compare_value *ret)
{
	ret->self = node->self;
	ret->total = node->total;
	ret->samples = node->samples;
}

struct compare_row compare_focus_row(struct compare_focus *focus, uint32_t node)
{
	const struct focus_node *nodes = focus->both->nodes.data;
	VEC(uint32_t) path = {0}; /* from the node up to one whose children's twins are known */
	for (uint32_t at = node; !is_found(focus, at); at = nodes[at].parent)
		vec_push(&path, nodes[at].parent);
	while (path.len)
		find_twins(focus, path.data[--path.len]);
	vec_deinit(&path);
	struct compare_row row = {0};
	const uint32_t *twins = focus->twins.data[node].nodes;
	if (twins[COMPARE_BASE])
		put_value(
			&focus->sides[COMPARE_BASE].nodes.data[twins[COMPARE_BASE] - 1], &row.base);
	if (twins[COMPARE_NEW])
		put_value(&focus->sides[COMPARE_NEW].nodes.data[twins[COMPARE_NEW] - 1], &row.new);
	return row;
}
