#include "report/analyse/focus.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/word_sort.h"

static void focus_begin(struct focus *focus, const struct tree *tree,
	const struct tree_weight *weights, const struct profile_function *functions,
	enum focus_direction direction)
{
	*focus = (struct focus){
		.tree = tree,
		.weights = weights,
		.functions = functions,
		.direction = direction,
	};
	vec_push(&focus->nodes, (struct focus_node){0});
}

static void focus_add_place(struct focus *focus, uint32_t node, uint64_t value, uint64_t samples)
{
	struct focus_node *root = &focus->nodes.data[0];
	struct focus_place place = {.node = node, .value = value, .samples = samples};
	vec_push(&focus->places, place);
	root->nr_places++;
	root->total += value;
	root->samples += samples;
	root->self += focus->weights[node].self;
}

void focus_init(struct focus *focus, const struct tree *tree, const struct tree_weight *weights,
	const struct profile_function *functions, enum focus_direction direction)
{
	focus_begin(focus, tree, weights, functions, direction);
	if (direction == FOCUS_CALLEES) {
		focus_add_place(focus, 0, weights[0].total, weights[0].samples);
		return;
	}
	for (uint32_t i = 1; i < tree->nodes.len; i++)
		if (weights[i].self)
			focus_add_place(focus, i, weights[i].self, weights[i].self_samples);
}

void focus_init_leaves(struct focus *focus, const struct tree *tree,
	const struct tree_weight *weights, const struct profile_function *functions, uint32_t node)
{
	focus_begin(focus, tree, weights, functions, FOCUS_CALLERS);
	focus->top = node;
	/* Nodes stand behind their parents. */
	CLEANUP_FREE bool *is_below = mem_zalloc_array(tree->nodes.len, sizeof(*is_below));
	is_below[node] = true;
	for (uint32_t i = node; i < tree->nodes.len; i++) {
		if (i != node)
			is_below[i] = is_below[tree->nodes.data[i].parent];
		if (i && is_below[i] && weights[i].self)
			focus_add_place(focus, i, weights[i].self, weights[i].self_samples);
	}
}

void focus_init_function(struct focus *focus, const struct tree *tree,
	const struct tree_weight *weights, const struct profile_function *functions,
	enum focus_direction direction, uint32_t function)
{
	focus_begin(focus, tree, weights, functions, direction);
	focus->nodes.data[0].function = function;
	for (uint32_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		if (node->function != function || node->is_recursive || !weights[i].total)
			continue;
		focus_add_place(focus, i, weights[i].total, weights[i].samples);
		focus->nodes.data[0].frame = node->frame;
		focus->nodes.data[0].is_kernel = node->is_kernel;
	}
}

/* ---- recursion ---- */

uint32_t focus_outermost_place(const struct focus *focus, uint32_t place)
{
	const struct tree_node *nodes = focus->tree->nodes.data;
	if (focus->merges_recursion)
		while (nodes[place].parent &&
			nodes[nodes[place].parent].function == nodes[place].function)
			place = nodes[place].parent;
	return place;
}

static uint32_t same_sibling(const struct focus *focus, uint32_t at, uint32_t function)
{
	const struct tree_node *nodes = focus->tree->nodes.data;
	while (at && (nodes[at].function != function || !focus->weights[at].total))
		at = nodes[at].next_sibling;
	return at;
}

/* The calls of a function by itself from `outermost` down, in turn; 0: that was the last. */
static uint32_t next_in_recursion(const struct focus *focus, uint32_t outermost, uint32_t at)
{
	const struct tree_node *nodes = focus->tree->nodes.data;
	uint32_t function = nodes[outermost].function;
	if (!focus->merges_recursion || !outermost)
		return 0;
	uint32_t next = same_sibling(focus, nodes[at].first_child, function);
	for (; !next && at != outermost; at = nodes[at].parent)
		next = same_sibling(focus, nodes[at].next_sibling, function);
	return next;
}

/* Adds what the place has to its node besides its value. */
static void add_levels(struct focus *focus, struct focus_node *node, uint32_t place)
{
	const struct tree_node *nodes = focus->tree->nodes.data;
	uint32_t levels = 1;
	if (focus->direction == FOCUS_CALLERS) {
		uint32_t outermost = focus_outermost_place(focus, place);
		for (uint32_t at = place; at != outermost; at = nodes[at].parent)
			levels++;
		node->levels = levels > node->levels ? levels : node->levels;
		return;
	}
	for (uint32_t at = place; at; at = next_in_recursion(focus, place, at)) {
		levels = 1;
		for (uint32_t above = at; above != place; above = nodes[above].parent)
			levels++;
		node->levels = levels > node->levels ? levels : node->levels;
		node->self += focus->weights[at].self;
	}
}

void focus_merge_recursion(struct focus *focus)
{
	struct focus_node *root = &focus->nodes.data[0];
	focus->merges_recursion = true;
	if (focus->direction == FOCUS_CALLERS) /* the places are outermost ones */
		return;
	root->self = 0;
	for (size_t i = 0; i < root->nr_places; i++)
		add_levels(focus, root, focus->places.data[root->first_place + i].node);
}

void focus_deinit(struct focus *focus)
{
	vec_deinit(&focus->nodes);
	vec_deinit(&focus->places);
}

/* ---- children ---- */

struct step { /* from a place of the parent to one of a child */
	uint32_t function;
	struct focus_place place;
};

struct steps {
	struct step *data;
	size_t len, cap;
};

bool focus_has_leaves_in_groups(const struct focus *focus)
{
	return focus->direction == FOCUS_CALLERS && focus->tree->has_groups && !focus->top &&
	       !focus->nodes.data[0].function;
}

/* Seen from all leaves, what is below the root, or its groups, are the leaves themselves. */
static bool is_above_leaves(const struct focus *focus, uint32_t node)
{
	const struct focus_node *it = &focus->nodes.data[node];
	return focus->direction == FOCUS_CALLERS && !focus->nodes.data[0].function &&
	       it->depth == focus_has_leaves_in_groups(focus);
}

static uint32_t group_of(const struct tree *tree, uint32_t node)
{
	while (tree->nodes.data[node].parent)
		node = tree->nodes.data[node].parent;
	return node;
}

static void push_step(
	struct steps *steps, const struct focus *focus, const struct focus_place *place)
{
	struct step step = {
		.function = focus->tree->nodes.data[place->node].function,
		.place = *place,
	};
	vec_push(steps, step);
}

static void step_down_once(const struct focus *focus, uint32_t from, struct steps *ret)
{
	const struct tree_node *nodes = focus->tree->nodes.data;
	for (uint32_t at = nodes[from].first_child; at; at = nodes[at].next_sibling) {
		const struct tree_weight *weight = &focus->weights[at];
		struct focus_place place = {at, weight->total, weight->samples};
		bool is_merged =
			focus->merges_recursion && nodes[at].function == nodes[from].function;
		if (place.value && !is_merged)
			push_step(ret, focus, &place);
	}
}

static void step_down(const struct focus *focus, uint32_t from, struct steps *ret)
{
	for (uint32_t at = from;;) {
		step_down_once(focus, at, ret);
		if (!(at = next_in_recursion(focus, from, at)))
			break;
	}
}

static void step_up(const struct focus *focus, const struct focus_place *from, struct steps *ret)
{
	struct focus_place place = *from;
	place.node = focus->tree->nodes.data[focus_outermost_place(focus, from->node)].parent;
	bool is_group =
		focus_has_leaves_in_groups(focus) && !focus->tree->nodes.data[place.node].parent;
	if (place.node && from->node != focus->top && !is_group)
		push_step(ret, focus, &place);
}

/* The leaf stays the place: what is in the group is looked at from there. */
static void step_to_group(
	const struct focus *focus, const struct focus_place *from, struct steps *ret)
{
	uint32_t group = group_of(focus->tree, from->node);
	struct step step = {focus->tree->nodes.data[group].function, *from};
	vec_push(ret, step);
}

/* Samples without a stack end in their group itself. */
static void push_leaf(
	struct steps *steps, const struct focus *focus, const struct focus_place *place)
{
	if (!focus_has_leaves_in_groups(focus) || focus->tree->nodes.data[place->node].parent)
		push_step(steps, focus, place);
}

static void find_steps(const struct focus *focus, uint32_t node, struct steps *ret)
{
	const struct focus_node *parent = &focus->nodes.data[node];
	bool is_leaves = is_above_leaves(focus, node);
	for (size_t i = 0; i < parent->nr_places; i++) {
		const struct focus_place *place = &focus->places.data[parent->first_place + i];
		if (is_leaves)
			push_leaf(ret, focus, place);
		else if (!node && focus_has_leaves_in_groups(focus))
			step_to_group(focus, place, ret);
		else if (focus->direction == FOCUS_CALLEES)
			step_down(focus, place->node, ret);
		else
			step_up(focus, place, ret);
	}
}

/* By function, then by place, so that paths that met become one place. */
static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->place.node < y->place.node ? -1 : x->place.node > y->place.node;
}

/*
 * The same order for many steps, as there are at the leaves: one bucket a function. Steps are found
 * by rising place more often than not, so that few buckets are left to be sorted.
 */
static void sort_by_buckets(struct steps *steps, uint32_t last_function)
{
	size_t nr_buckets = (size_t)last_function + 1;
	CLEANUP_FREE size_t *ends = mem_zalloc_array(nr_buckets + 1, sizeof(*ends));
	struct step *sorted = mem_zalloc_array(steps->len, sizeof(*sorted));
	vec_each(steps, step)
		ends[step->function + 1]++;
	for (size_t i = 1; i <= nr_buckets; i++)
		ends[i] += ends[i - 1];
	vec_each(steps, step)
		sorted[ends[step->function]++] = *step;
	for (size_t i = 0, first = 0; i < nr_buckets; first = ends[i++]) {
		bool is_sorted = true;
		for (size_t at = first + 1; is_sorted && at < ends[i]; at++)
			is_sorted = sorted[at - 1].place.node <= sorted[at].place.node;
		if (!is_sorted)
			qsort(sorted + first, ends[i] - first, sizeof(*sorted), compare_steps);
	}
	mem_free(steps->data);
	steps->data = sorted;
	steps->cap = steps->len;
}

static void sort_steps(struct steps *steps)
{
	enum {
		MANY = 256
	};
	uint32_t last_function = 0;
	vec_each(steps, step)
		if (step->function > last_function)
			last_function = step->function;
	if (steps->len >= MANY && last_function / 16 < steps->len)
		sort_by_buckets(steps, last_function);
	else
		qsort(steps->data, steps->len, sizeof(*steps->data), compare_steps);
}

static void add_to_child(struct focus *focus, struct focus_node *child, const struct step *step)
{
	child->total += step->place.value;
	child->samples += step->place.samples;
	struct focus_place *last =
		child->nr_places ? &focus->places.data[focus->places.len - 1] : NULL;
	if (last && last->node == step->place.node) {
		last->value += step->place.value;
		last->samples += step->place.samples;
		return;
	}
	vec_push(&focus->places, step->place);
	child->nr_places++;
	add_levels(focus, child, step->place.node);
}

static uint32_t focus_add_child(struct focus *focus, uint32_t parent, const struct step *step)
{
	bool is_group = !parent && focus_has_leaves_in_groups(focus);
	uint32_t place = is_group ? group_of(focus->tree, step->place.node) : step->place.node;
	const struct tree_node *node = &focus->tree->nodes.data[place];
	struct focus_node child = {
		.function = step->function,
		.frame = node->frame,
		.is_kernel = node->is_kernel,
		.parent = parent,
		.depth = focus->nodes.data[parent].depth + 1,
		.first_place = focus->places.len,
	};
	vec_push(&focus->nodes, child);
	return (uint32_t)focus->nodes.len - 1;
}

static bool word_of_child(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	const struct focus *focus = context;
	const struct focus_node *node = &focus->nodes.data[element];
	if (index)
		return word_of_text(focus->functions[node->function].name, index - 1, ret);
	*ret = ~node->total;
	return true;
}

/* Of the nodes from `first` on: by falling total, then by name. */
static void focus_sort_children(struct focus *focus, size_t first)
{
	struct word_order order = {.word = word_of_child, .context = focus};
	size_t count = focus->nodes.len - first;
	CLEANUP_FREE struct word_entry *entries = mem_zalloc_array(count, sizeof(*entries));
	CLEANUP_FREE struct focus_node *sorted = mem_zalloc_array(count, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		entries[i].element = (uint32_t)(first + i);
	word_sort(entries, count, &order, 0, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = focus->nodes.data[entries[i].element];
	memcpy(&focus->nodes.data[first], sorted, count * sizeof(*sorted));
}

struct ranked {
	double rank;
	uint32_t node;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* The children are those from `first` on, linked. */
static void rank_children(struct focus *focus, uint32_t parent, uint32_t first)
{
	size_t count = focus->nodes.len - first;
	CLEANUP_FREE struct ranked *order = mem_zalloc_array(count, sizeof(*order));
	for (size_t i = 0; i < count; i++) {
		uint32_t node = (uint32_t)(first + i);
		order[i] = (struct ranked){focus->rank(focus->rank_context, node), node};
	}
	qsort(order, count, sizeof(*order), compare_ranks);
	uint32_t *link = &focus->nodes.data[parent].first_child;
	for (size_t i = 0; i < count; i++) {
		*link = order[i].node;
		link = &focus->nodes.data[order[i].node].next_sibling;
	}
	*link = 0;
}

void focus_expand(struct focus *focus, uint32_t node)
{
	if (focus->nodes.data[node].is_expanded)
		return;
	focus->nodes.data[node].is_expanded = true;
	struct steps steps = {0};
	find_steps(focus, node, &steps);
	if (!steps.len)
		return;
	sort_steps(&steps);
	size_t first = focus->nodes.len;
	uint32_t child = 0;
	for (size_t i = 0; i < steps.len; i++) {
		if (!i || steps.data[i].function != steps.data[i - 1].function)
			child = focus_add_child(focus, node, &steps.data[i]);
		add_to_child(focus, &focus->nodes.data[child], &steps.data[i]);
	}
	bool is_leaf_level = is_above_leaves(focus, node);
	size_t count = focus->nodes.len - first;
	if (count > 1)
		focus_sort_children(focus, first);
	struct focus_node *children = &focus->nodes.data[first];
	for (size_t i = 0; i < count; i++) {
		children[i].next_sibling = i + 1 < count ? (uint32_t)(first + i + 1) : 0;
		if (is_leaf_level)
			children[i].self = children[i].total;
	}
	focus->nodes.data[node].first_child = (uint32_t)first;
	if (focus->rank && count > 1)
		rank_children(focus, node, (uint32_t)first);
	vec_deinit(&steps);
}

/* ---- looking ---- */

uint32_t focus_child(struct focus *focus, uint32_t node, uint32_t function)
{
	focus_expand(focus, node);
	uint32_t at = focus->nodes.data[node].first_child;
	while (at && focus->nodes.data[at].function != function)
		at = focus->nodes.data[at].next_sibling;
	return at;
}

uint32_t focus_only_child(struct focus *focus, uint32_t node)
{
	enum {
		PER_MILLE = 995, /* less of it elsewhere is below any limit */
	};
	focus_expand(focus, node);
	const struct focus_node *nodes = focus->nodes.data, *it = &nodes[node];
	uint32_t child = it->first_child;
	bool is_leaf = focus->direction == FOCUS_CALLERS && it->self;
	bool is_only = child && !is_leaf && nodes[child].is_kernel == it->is_kernel &&
		       (double)nodes[child].total * 1000 >= (double)it->total * PER_MILLE;
	return is_only ? child : 0;
}

uint32_t focus_find(struct focus *focus, uint32_t place, bool *is_whole)
{
	const struct tree_node *nodes = focus->tree->nodes.data;
	VEC(uint32_t) path = {0}; /* functions, the innermost first */
	for (uint32_t at = place; at; at = nodes[at].parent)
		vec_push(&path, nodes[at].function);
	uint32_t node = 0;
	for (; path.len; path.len--) {
		uint32_t child = focus_child(focus, node, path.data[path.len - 1]);
		if (!child)
			break;
		node = child;
	}
	*is_whole = !path.len;
	vec_deinit(&path);
	return node;
}

uint32_t focus_hottest_place(const struct focus *focus, uint32_t node)
{
	const struct focus_node *it = &focus->nodes.data[node];
	if (!it->function || !it->nr_places) /* there may be no place at all */
		return 0;
	const struct focus_place *places = focus->places.data + it->first_place;
	size_t best = 0;
	for (size_t i = 1; i < it->nr_places; i++)
		if (places[i].value > places[best].value)
			best = i;
	bool is_group = it->depth == 1 && focus_has_leaves_in_groups(focus);
	return is_group ? group_of(focus->tree, places[best].node) : places[best].node;
}
