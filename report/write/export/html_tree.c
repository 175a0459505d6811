#include "report/write/export/html_tree.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct html_tree_source *source;
	struct tree_node *nodes;
	size_t nr_nodes;
	uint64_t *weights;          /* of each node, with all that it called */
	uint64_t threshold;         /* nodes below are folded */
	uint32_t *folded;           /* what was folded below each node: number, 0: nothing */
	uint32_t *function_numbers; /* + 1, 0: not met yet */
	uint32_t last_depth;
	struct html_tree *out;
};

static bool html_tree_is_kept(const struct walk *walk, uint32_t node)
{
	return !node || walk->weights[node] >= walk->threshold;
}

/* ---- which nodes ---- */

/* Stops at the largest number: no node may have less than one that it called. */
static void html_tree_add(uint64_t *sum, uint64_t weight)
{
	*sum = weight > UINT64_MAX - *sum ? UINT64_MAX : *sum + weight;
}

static bool is_end(const struct walk *walk, size_t node)
{
	for (size_t column = 0; column < walk->source->nr_columns; column++)
		if (walk->source->weights[column][node])
			return true;
	return false;
}

/* No node has less than one that it called by this either, and what has something keeps some. */
static uint64_t share(uint64_t part, uint64_t whole)
{
	static const unsigned __int128 most = UINT64_C(1) << 48;
	uint64_t scaled = (uint64_t)(part * most / whole);
	return scaled ? scaled : 1;
}

static void html_tree_add_column(struct walk *walk, size_t column)
{
	const uint64_t *own = walk->source->weights[column];
	CLEANUP_FREE uint64_t *sums = mem_zalloc_array(walk->nr_nodes, sizeof(*sums));
	memcpy(sums, own, walk->nr_nodes * sizeof(*sums));
	for (size_t i = walk->nr_nodes - 1; i > 0; i--)
		html_tree_add(&sums[walk->nodes[i].parent], sums[i]);
	for (size_t i = 0; i < walk->nr_nodes; i++)
		if (sums[i])
			html_tree_add(&walk->weights[i],
				walk->source->nr_columns == 1 ? sums[i] : share(sums[i], sums[0]));
}

static int html_tree_compare_siblings(const void *a, const void *b, void *context)
{
	const struct walk *walk = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (walk->weights[x] != walk->weights[y])
		return walk->weights[x] > walk->weights[y] ? -1 : 1;
	return strcmp(walk->source->functions[walk->nodes[x].function].name,
		walk->source->functions[walk->nodes[y].function].name);
}

/* By falling weight. */
static void order_siblings(struct walk *walk)
{
	VEC(uint32_t) siblings = {0};
	for (size_t i = 0; i < walk->nr_nodes; i++) {
		siblings.len = 0;
		for (uint32_t at = walk->nodes[i].first_child; at;
			at = walk->nodes[at].next_sibling)
			vec_push(&siblings, at);
		if (siblings.len < 2)
			continue;
		qsort_r(siblings.data, siblings.len, sizeof(*siblings.data),
			html_tree_compare_siblings, walk);
		walk->nodes[i].first_child = siblings.data[0];
		for (size_t k = 0; k < siblings.len; k++)
			walk->nodes[siblings.data[k]].next_sibling =
				k + 1 < siblings.len ? siblings.data[k + 1] : 0;
	}
	vec_deinit(&siblings);
}

static size_t count_from(const struct walk *walk, uint64_t threshold)
{
	size_t count = 0;
	for (size_t i = 0; i < walk->nr_nodes; i++)
		count += walk->weights[i] >= threshold;
	return count;
}

/* The least one that leaves so many nodes, or 1: what other events ran is no part of it. */
static uint64_t find_threshold(const struct walk *walk, size_t nodes_max)
{
	uint64_t low = 1, high = 1;
	if (count_from(walk, 1) > nodes_max)
		high = UINT64_MAX;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (count_from(walk, middle) > nodes_max)
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

/* The caller that is kept of a node that is not. */
static uint32_t kept_caller(const struct walk *walk, uint32_t node)
{
	while (!html_tree_is_kept(walk, node))
		node = walk->nodes[node].parent;
	return node;
}

static void mark_folded(struct walk *walk)
{
	for (uint32_t i = 1; i < walk->nr_nodes; i++) {
		if (html_tree_is_kept(walk, i))
			continue;
		walk->out->nr_folded += walk->weights[i] > 0;
		if (is_end(walk, i))
			walk->folded[kept_caller(walk, i)] = 1;
		for (size_t column = 0; column < walk->source->nr_columns; column++)
			html_tree_add(&walk->out->folded_weights[column],
				walk->source->weights[column][i]);
	}
}

/* ---- numbers ---- */

static uint32_t function_number(struct walk *walk, uint32_t function)
{
	struct html_tree *out = walk->out;
	uint32_t *number = &walk->function_numbers[function];
	if (!*number) {
		uint32_t object = walk->source->functions[function].object;
		vec_push(&out->functions, function);
		*number = (uint32_t)out->functions.len;
		if (object && !out->object_numbers[object]) {
			out->object_numbers[object] = (uint32_t)out->objects.len;
			vec_push(&out->objects, object);
		}
	}
	return *number - 1;
}

static uint32_t html_tree_put_node(struct walk *walk, uint32_t depth, uint64_t reference)
{
	bytes_put_varint(&walk->out->callers, walk->last_depth + 1 - depth);
	bytes_put_varint(&walk->out->references, reference);
	walk->last_depth = depth;
	return walk->out->nr_nodes++;
}

static void html_tree_put_function(struct walk *walk, uint32_t node, uint32_t depth)
{
	size_t met = walk->out->functions.len;
	uint32_t number = function_number(walk, walk->nodes[node].function);
	uint64_t back = number == met ? 0 : met - number;
	bool is_inlined = walk->source->frames[walk->nodes[node].frame].outer;
	walk->out->numbers[node] = html_tree_put_node(walk, depth, back << 1 | is_inlined);
}

static void html_tree_put_folded(struct walk *walk, uint32_t node, uint32_t depth)
{
	uint64_t back = walk->out->functions.len - HTML_TREE_FOLDED;
	if (walk->folded[node])
		walk->folded[node] = html_tree_put_node(walk, depth + 1, back << 1);
}

static uint32_t next_kept(const struct walk *walk, uint32_t node)
{
	while (node && !html_tree_is_kept(walk, node))
		node = walk->nodes[node].next_sibling;
	return node;
}

/* Each node before its callees; what was folded is the last of them. */
static void html_tree_put_nodes(struct walk *walk)
{
	uint32_t node = next_kept(walk, walk->nodes[0].first_child), depth = 1;
	bytes_put_varint(&walk->out->callers, 0);
	bytes_put_varint(&walk->out->references, 0); /* the root has none */
	walk->out->nr_nodes = 1;
	while (node) {
		html_tree_put_function(walk, node, depth);
		uint32_t next = next_kept(walk, walk->nodes[node].first_child);
		if (next) {
			depth++;
		} else {
			html_tree_put_folded(walk, node, depth);
			next = next_kept(walk, walk->nodes[node].next_sibling);
		}
		while (!next && walk->nodes[node].parent) {
			node = walk->nodes[node].parent;
			html_tree_put_folded(walk, node, --depth);
			next = next_kept(walk, walk->nodes[node].next_sibling);
		}
		node = next;
	}
	html_tree_put_folded(walk, 0, 0);
}

/* What ended in a branch that was folded ended there. */
static void number_folded(struct walk *walk)
{
	for (uint32_t i = 1; i < walk->nr_nodes; i++)
		if (!html_tree_is_kept(walk, i) && is_end(walk, i))
			walk->out->numbers[i] = walk->folded[kept_caller(walk, i)];
}

void html_tree_init(
	struct html_tree *tree, const struct html_tree_source *source, uint32_t nodes_max)
{
	struct walk walk = {
		.source = source,
		.nodes = source->tree->nodes.data,
		.nr_nodes = source->tree->nodes.len,
		.out = tree,
	};
	*tree = (struct html_tree){
		.object_numbers = mem_zalloc_array(source->nr_objects, sizeof(uint32_t)),
		.numbers = mem_zalloc_array(walk.nr_nodes, sizeof(uint32_t)),
	};
	walk.weights = mem_zalloc_array(walk.nr_nodes, sizeof(uint64_t));
	walk.folded = mem_zalloc_array(walk.nr_nodes, sizeof(uint32_t));
	walk.function_numbers = mem_zalloc_array(source->nr_functions, sizeof(uint32_t));
	vec_push(&tree->functions, 0); /* HTML_TREE_FOLDED */
	vec_push(&tree->objects, 0);
	for (size_t column = 0; column < source->nr_columns; column++)
		html_tree_add_column(&walk, column);
	order_siblings(&walk);
	walk.threshold = find_threshold(&walk, nodes_max);
	mark_folded(&walk);
	html_tree_put_nodes(&walk);
	number_folded(&walk);
	mem_free(walk.weights);
	mem_free(walk.folded);
	mem_free(walk.function_numbers);
}

void html_tree_deinit(struct html_tree *tree)
{
	bytes_buf_deinit(&tree->callers);
	bytes_buf_deinit(&tree->references);
	vec_deinit(&tree->functions);
	vec_deinit(&tree->objects);
	mem_free(tree->object_numbers);
	mem_free(tree->numbers);
}
