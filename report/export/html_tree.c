#include "report/export/html_tree.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct profile *profile;
	struct tree_node *nodes;
	struct tree tree;
	uint64_t *stack_weights;
	uint64_t *weights;          /* of each node, with all that it called */
	uint64_t threshold;         /* nodes below are folded */
	uint32_t *numbers;          /* of each node that is kept */
	uint32_t *folded;           /* what was folded below each node: number, 0: nothing */
	uint32_t *function_numbers; /* + 1, 0: not met yet */
	uint32_t last_depth;
	struct html_tree *out;
};

static bool is_kept(const struct walk *walk, uint32_t node)
{
	return !node || walk->weights[node] >= walk->threshold;
}

/* ---- which nodes ---- */

/* Stops at the largest number: no node may have less than one that it called. */
static void add(uint64_t *sum, uint64_t weight)
{
	*sum = weight > UINT64_MAX - *sum ? UINT64_MAX : *sum + weight;
}

static void add_weights(struct walk *walk, uint32_t event)
{
	vec_each(&walk->profile->samples, sample)
		if (sample->event == event)
			add(&walk->stack_weights[sample->stack], sample->weight);
	for (size_t i = 0; i < walk->profile->stacks.len; i++)
		add(&walk->weights[walk->tree.ends[i]], walk->stack_weights[i]);
	for (size_t i = walk->tree.nodes.len - 1; i > 0; i--)
		add(&walk->weights[walk->nodes[i].parent], walk->weights[i]);
}

static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct walk *walk = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (walk->weights[x] != walk->weights[y])
		return walk->weights[x] > walk->weights[y] ? -1 : 1;
	return strcmp(walk->profile->functions.data[walk->nodes[x].function].name,
		walk->profile->functions.data[walk->nodes[y].function].name);
}

/* By falling weight. */
static void order_siblings(struct walk *walk)
{
	VEC(uint32_t) siblings = {0};
	for (size_t i = 0; i < walk->tree.nodes.len; i++) {
		siblings.len = 0;
		for (uint32_t at = walk->nodes[i].first_child; at;
			at = walk->nodes[at].next_sibling)
			vec_push(&siblings, at);
		if (siblings.len < 2)
			continue;
		qsort_r(siblings.data, siblings.len, sizeof(*siblings.data), compare_siblings,
			walk);
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
	for (size_t i = 0; i < walk->tree.nodes.len; i++)
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
	while (!is_kept(walk, node))
		node = walk->nodes[node].parent;
	return node;
}

static void mark_folded(struct walk *walk)
{
	for (size_t i = 1; i < walk->tree.nodes.len; i++)
		walk->out->nr_folded += walk->weights[i] && !is_kept(walk, (uint32_t)i);
	for (size_t i = 0; i < walk->profile->stacks.len; i++) {
		uint32_t end = walk->tree.ends[i];
		if (!walk->stack_weights[i] || is_kept(walk, end))
			continue;
		walk->folded[kept_caller(walk, end)] = 1;
		add(&walk->out->folded_weight, walk->stack_weights[i]);
	}
}

/* ---- numbers ---- */

static uint32_t function_number(struct walk *walk, uint32_t function)
{
	struct html_tree *out = walk->out;
	uint32_t *number = &walk->function_numbers[function];
	if (!*number) {
		uint32_t object = walk->profile->functions.data[function].object;
		vec_push(&out->functions, function);
		*number = (uint32_t)out->functions.len;
		if (object && !out->object_numbers[object]) {
			out->object_numbers[object] = (uint32_t)out->objects.len;
			vec_push(&out->objects, object);
		}
	}
	return *number - 1;
}

static uint32_t put_node(struct walk *walk, uint32_t depth, uint64_t reference)
{
	bytes_put_varint(&walk->out->callers, walk->last_depth + 1 - depth);
	bytes_put_varint(&walk->out->references, reference);
	walk->last_depth = depth;
	return walk->out->nr_nodes++;
}

static void put_function(struct walk *walk, uint32_t node, uint32_t depth)
{
	size_t met = walk->out->functions.len;
	uint32_t number = function_number(walk, walk->nodes[node].function);
	uint64_t back = number == met ? 0 : met - number;
	bool is_inlined = walk->profile->frames.data[walk->nodes[node].frame].outer;
	walk->numbers[node] = put_node(walk, depth, back << 1 | is_inlined);
}

static void put_folded(struct walk *walk, uint32_t node, uint32_t depth)
{
	uint64_t back = walk->out->functions.len - HTML_TREE_FOLDED;
	if (walk->folded[node])
		walk->folded[node] = put_node(walk, depth + 1, back << 1);
}

static uint32_t next_kept(const struct walk *walk, uint32_t node)
{
	while (node && !is_kept(walk, node))
		node = walk->nodes[node].next_sibling;
	return node;
}

/* Each node before its callees; what was folded is the last of them. */
static void put_nodes(struct walk *walk)
{
	uint32_t node = next_kept(walk, walk->nodes[0].first_child), depth = 1;
	bytes_put_varint(&walk->out->callers, 0);
	bytes_put_varint(&walk->out->references, 0); /* the root has none */
	walk->out->nr_nodes = 1;
	while (node) {
		put_function(walk, node, depth);
		uint32_t next = next_kept(walk, walk->nodes[node].first_child);
		if (next) {
			depth++;
		} else {
			put_folded(walk, node, depth);
			next = next_kept(walk, walk->nodes[node].next_sibling);
		}
		while (!next && walk->nodes[node].parent) {
			node = walk->nodes[node].parent;
			put_folded(walk, node, --depth);
			next = next_kept(walk, walk->nodes[node].next_sibling);
		}
		node = next;
	}
	put_folded(walk, 0, 0);
}

static void number_stacks(struct walk *walk)
{
	for (size_t i = 0; i < walk->profile->stacks.len; i++) {
		uint32_t end = walk->tree.ends[i];
		if (walk->stack_weights[i])
			walk->out->numbers[i] = is_kept(walk, end)
							? walk->numbers[end]
							: walk->folded[kept_caller(walk, end)];
	}
}

void html_tree_init(
	struct html_tree *tree, const struct profile *profile, uint32_t event, uint32_t nodes_max)
{
	*tree = (struct html_tree){
		.object_numbers = mem_zalloc_array(profile->objects.len, sizeof(uint32_t)),
		.numbers = mem_zalloc_array(profile->stacks.len, sizeof(uint32_t)),
	};
	struct walk walk = {.profile = profile, .out = tree};
	tree_init(&walk.tree, profile, &(struct tree_options){0});
	size_t count = walk.tree.nodes.len;
	walk.nodes = walk.tree.nodes.data;
	walk.stack_weights = mem_zalloc_array(profile->stacks.len, sizeof(uint64_t));
	walk.weights = mem_zalloc_array(count, sizeof(uint64_t));
	walk.numbers = mem_zalloc_array(count, sizeof(uint32_t));
	walk.folded = mem_zalloc_array(count, sizeof(uint32_t));
	walk.function_numbers = mem_zalloc_array(profile->functions.len, sizeof(uint32_t));
	vec_push(&tree->functions, 0); /* HTML_TREE_FOLDED */
	vec_push(&tree->objects, 0);
	add_weights(&walk, event);
	order_siblings(&walk);
	walk.threshold = find_threshold(&walk, nodes_max);
	mark_folded(&walk);
	put_nodes(&walk);
	number_stacks(&walk);
	mem_free(walk.stack_weights);
	mem_free(walk.weights);
	mem_free(walk.numbers);
	mem_free(walk.folded);
	mem_free(walk.function_numbers);
	tree_deinit(&walk.tree);
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
