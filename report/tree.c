#include "report/tree.h"

#include <stdlib.h>
#include <string.h>

struct builder {
	const struct profile *profile;
	struct tree *tree;
	struct map children; /* parent << 32 | function -> node */
	bool is_inverted;
	uint32_t max_depth;
	VEC(uint32_t) path; /* frames of one stack, leaf first */
};

static uint32_t child_of(struct builder *builder, uint32_t parent, uint32_t frame)
{
	uint32_t function = builder->profile->frames.data[frame].function;
	bool added;
	uint64_t *node = map_put(&builder->children, (uint64_t)parent << 32 | function, &added);
	if (added) {
		*node = builder->tree->nodes.len;
		struct tree_node fresh = {
			.function = function,
			.parent = parent,
			.next_sibling = builder->tree->nodes.data[parent].first_child,
			.is_kernel = profile_is_kernel(
				builder->profile, builder->profile->frames.data[frame].object),
		};
		vec_push(&builder->tree->nodes, fresh);
		builder->tree->nodes.data[parent].first_child = (uint32_t)*node;
	}
	return (uint32_t)*node;
}

static void add_stack(struct builder *builder, uint32_t stack, uint64_t value, uint64_t samples)
{
	builder->path.len = 0;
	struct profile_walk walk = profile_walk(builder->profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		vec_push(&builder->path, frame);
	size_t depth = builder->path.len;
	size_t shown =
		builder->max_depth && depth > builder->max_depth ? builder->max_depth : depth;
	uint32_t node = 0;
	struct tree_node *root = &builder->tree->nodes.data[0];
	root->total += value;
	root->samples += samples;
	for (size_t i = 0; i < shown; i++) {
		uint32_t frame = builder->path.data[builder->is_inverted ? i : depth - 1 - i];
		node = child_of(builder, node, frame);
		struct tree_node *it = &builder->tree->nodes.data[node];
		it->total += value;
		it->samples += samples;
		/* Inverted, the leaf is the first: self belongs to it alone either way. */
		if (builder->is_inverted && i == 0)
			it->self += value;
	}
	if (!builder->is_inverted && shown == depth)
		builder->tree->nodes.data[node].self += value;
}

struct ordering {
	const struct tree *tree;
	const struct profile *profile;
};

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct ordering *ordering = context;
	const struct tree_node *x = &ordering->tree->nodes.data[*(const uint32_t *)a];
	const struct tree_node *y = &ordering->tree->nodes.data[*(const uint32_t *)b];
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(ordering->profile->functions.data[x->function].name,
		ordering->profile->functions.data[y->function].name);
}

/* Children were linked as they came: sort the nodes once, then link again from the smallest up. */
static void order_children(struct tree *tree, const struct profile *profile)
{
	size_t count = tree->nodes.len;
	CLEANUP_FREE uint32_t *order = mem_zalloc_array(count, sizeof(*order));
	for (size_t i = 1; i < count; i++)
		order[i - 1] = (uint32_t)i;
	struct ordering ordering = {tree, profile};
	qsort_r(order, count - 1, sizeof(*order), compare_nodes, &ordering);
	vec_each(&tree->nodes, node)
		node->first_child = node->next_sibling = 0;
	for (size_t i = count - 1; i-- > 0;) {
		struct tree_node *node = &tree->nodes.data[order[i]];
		struct tree_node *parent = &tree->nodes.data[node->parent];
		node->next_sibling = parent->first_child;
		parent->first_child = order[i];
	}
}

void tree_init(
	struct tree *tree, const struct profile *profile, bool is_inverted, uint32_t max_depth)
{
	*tree = (struct tree){0};
	vec_push(&tree->nodes, (struct tree_node){0});
	struct builder builder = {
		.profile = profile,
		.tree = tree,
		.is_inverted = is_inverted,
		.max_depth = max_depth,
	};
	size_t nr_stacks = profile->stacks.len;
	CLEANUP_FREE uint64_t *values = mem_zalloc_array(nr_stacks, sizeof(*values));
	CLEANUP_FREE uint64_t *samples = mem_zalloc_array(nr_stacks, sizeof(*samples));
	vec_each(&profile->samples, sample) {
		values[sample->stack] += profile_sample_value(profile, sample);
		samples[sample->stack]++;
	}
	for (size_t i = 0; i < nr_stacks; i++)
		if (samples[i])
			add_stack(&builder, (uint32_t)i, values[i], samples[i]);
	order_children(tree, profile);
	map_deinit(&builder.children);
	vec_deinit(&builder.path);
}

void tree_deinit(struct tree *tree)
{
	vec_deinit(&tree->nodes);
}
