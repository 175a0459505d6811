#include "report/analyse/tree.h"

/* ---- growing ---- */

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
static uint32_t tree_find_child(const struct tree *tree, const struct tree_growth *growth,
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
	uint32_t node = tree_find_child(tree, growth, child->parent, child->function);
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

/* ---- of a profile's stacks ---- */

/*
 * The recording's user stacks are leaves of a trie already. So each of its nodes is placed once,
 * below where its caller was placed; the kernel's frames, few, below the end of each stack.
 */
struct builder {
	const struct profile *profile;
	const struct tree_options *options;
	struct tree *tree;
	struct tree_growth growth;
	uint32_t *user_places;         /* for each node of the profile */
	VEC(uint32_t) path, node_path; /* of frames */
};

static uint32_t tree_child_of(struct builder *builder, uint32_t parent, uint32_t frame)
{
	const struct profile_frame *from = &builder->profile->frames.data[frame];
	struct tree_node child = {
		.function = builder->options->groups ? builder->options->groups[from->function]
						     : from->function,
		.frame = frame,
		.parent = parent,
		.is_kernel = profile_is_kernel(builder->profile, from->object),
	};
	return tree_grow(builder->tree, &builder->growth, &child);
}

/* Below `parent`, the recorded frame and then what was inlined into it. */
static uint32_t place_frame(struct builder *builder, uint32_t parent, uint32_t frame)
{
	if (!frame) /* damage took it */
		return parent;
	const struct profile_frame *frames = builder->profile->frames.data;
	size_t first = builder->path.len;
	if (frames[frame].innermost && !builder->options->hides_inlined)
		for (uint32_t at = frames[frame].innermost; at != frame; at = frames[at].outer)
			vec_push(&builder->path, at);
	uint32_t node = tree_child_of(builder, parent, frame);
	while (builder->path.len > first)
		node = tree_child_of(builder, node, builder->path.data[--builder->path.len]);
	return node;
}

static void place_user_nodes(struct builder *builder)
{
	const struct profile *profile = builder->profile;
	CLEANUP_FREE bool *is_used = mem_zalloc_array(profile->nodes.len, sizeof(*is_used));
	vec_each(&profile->stacks, stack)
		is_used[stack->root ? 0 : stack->user] = true;
	for (size_t i = profile->nodes.len; i-- > 1;)
		if (is_used[i])
			is_used[profile->nodes.data[i].parent] = true;
	for (size_t i = 1; i < profile->nodes.len; i++) {
		if (!is_used[i])
			continue;
		const struct layout_node *node = &profile->nodes.data[i];
		builder->user_places[i] =
			place_frame(builder, builder->user_places[node->parent], node->frame);
	}
}

static uint32_t place_nodes(struct builder *builder, uint32_t entry, uint32_t innermost)
{
	const struct layout_node *nodes = builder->profile->nodes.data;
	uint32_t place = entry;
	for (uint32_t at = innermost; at; at = nodes[at].parent)
		vec_push(&builder->node_path, nodes[at].frame);
	while (builder->node_path.len)
		place = place_frame(
			builder, place, builder->node_path.data[--builder->node_path.len]);
	return place;
}

static uint32_t place_stack(struct builder *builder, const struct profile_stack *stack)
{
	uint32_t entry = builder->user_places[stack->user];
	if (stack->root)
		entry = place_nodes(builder, place_nodes(builder, 0, stack->root), stack->user);
	return place_nodes(builder, entry, stack->kernel);
}

void tree_init(struct tree *tree, const struct profile *profile, const struct tree_options *options)
{
	*tree = (struct tree){.nr_stacks = profile->stacks.len, .has_groups = options->has_groups};
	tree->ends = mem_zalloc_array(tree->nr_stacks, sizeof(*tree->ends));
	struct builder builder = {.profile = profile, .options = options, .tree = tree};
	tree_begin(tree, &builder.growth);
	builder.user_places = mem_zalloc_array(profile->nodes.len, sizeof(*builder.user_places));
	place_user_nodes(&builder);
	for (size_t i = 0; i < tree->nr_stacks; i++)
		tree->ends[i] = place_stack(&builder, &profile->stacks.data[i]);
	tree_mark_recursion(tree, profile->functions.len);
	mem_free(builder.user_places);
	tree_growth_deinit(&builder.growth);
	vec_deinit(&builder.path);
	vec_deinit(&builder.node_path);
}

void tree_deinit(struct tree *tree)
{
	vec_deinit(&tree->nodes);
	mem_free(tree->ends);
	*tree = (struct tree){0};
}

/* ---- weights ---- */

void tree_add_up(const struct tree *tree, struct tree_weight *weights)
{
	for (size_t i = tree->nodes.len; i-- > 1;) {
		struct tree_weight *parent = &weights[tree->nodes.data[i].parent];
		parent->total += weights[i].total;
		parent->samples += weights[i].samples;
	}
}

struct tree_weight *tree_weigh(const struct tree *tree, const struct slice *slice)
{
	struct tree_weight *weights = mem_zalloc_array(tree->nodes.len, sizeof(*weights));
	for (size_t i = 0; i < slice->nr_stacks; i++) {
		struct tree_weight *end = &weights[tree->ends[i]];
		end->self += slice->stacks[i].value;
		end->total += slice->stacks[i].value;
		end->self_samples += slice->stacks[i].samples;
		end->samples += slice->stacks[i].samples;
	}
	tree_add_up(tree, weights);
	return weights;
}

static void add_weight(struct function_weight *row, const struct tree_node *node,
	const struct tree_weight *weight, bool is_marker)
{
	uint64_t own = weight->self ? weight->self_samples : 0;
	row->self += weight->self;
	row->self_samples += own;
	if (node->is_recursive)
		return;
	row->total += is_marker ? weight->self : weight->total;
	row->samples += is_marker ? own : weight->samples;
}

/* Whether the node is a row's: a function that took time, and no group. */
static bool is_weighed(
	const struct tree *tree, const struct tree_weight *weights, size_t index, bool is_marker)
{
	const struct tree_weight *weight = &weights[index];
	bool is_group = tree->has_groups && !tree->nodes.data[index].parent;
	return !is_group && weight->samples && (!is_marker || weight->self);
}

void tree_weigh_functions(const struct tree *tree, const struct tree_weight *weights,
	const struct profile_frame *frames, size_t nr_functions, struct function_weights *ret)
{
	CLEANUP_FREE uint32_t *rows = mem_zalloc_array(nr_functions, sizeof(*rows));
	*ret = (struct function_weights){0};
	vec_reserve(ret, nr_functions);
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		bool is_marker = !frames[node->frame].object;
		if (!is_weighed(tree, weights, i, is_marker))
			continue;
		uint32_t *index = &rows[node->function];
		if (!*index) {
			struct function_weight fresh = {
				.function = node->function,
				.frame = node->frame,
			};
			vec_push(ret, fresh);
			*index = (uint32_t)ret->len;
		}
		add_weight(&ret->data[*index - 1], node, &weights[i], is_marker);
	}
}

/* The next node of a group's branch in depth-first order, not below what has no samples; 0: that
 * was the last one. */
static uint32_t next_of_group(
	const struct tree_node *nodes, const struct tree_weight *weights, uint32_t at)
{
	if (nodes[at].first_child && weights[at].samples)
		return nodes[at].first_child;
	while (nodes[at].parent && !nodes[at].next_sibling)
		at = nodes[at].parent;
	return nodes[at].parent ? nodes[at].next_sibling : 0;
}

void tree_weigh_groups(const struct tree *tree, const struct tree_weight *weights,
	const struct profile_frame *frames, size_t nr_functions, struct function_weights *ret)
{
	const struct tree_node *nodes = tree->nodes.data;
	/* Index plus 1 of each function's newest row: what is no more than `before` is of another
	 * group. */
	CLEANUP_FREE uint32_t *rows = mem_zalloc_array(nr_functions, sizeof(*rows));
	*ret = (struct function_weights){0};
	for (uint32_t group = nodes[0].first_child; group; group = nodes[group].next_sibling) {
		size_t before = ret->len;
		for (uint32_t i = group; i; i = next_of_group(nodes, weights, i)) {
			bool is_marker = !frames[nodes[i].frame].object;
			if (!is_weighed(tree, weights, i, is_marker))
				continue;
			uint32_t *index = &rows[nodes[i].function];
			if (*index <= before) {
				struct function_weight fresh = {
					.function = nodes[i].function,
					.frame = nodes[i].frame,
					.group = nodes[group].function,
				};
				vec_push(ret, fresh);
				*index = (uint32_t)ret->len;
			}
			add_weight(&ret->data[*index - 1], &nodes[i], &weights[i], is_marker);
		}
	}
}
