#include "report/baseline/slim_stack.h"

#include <stdlib.h>

void slim_stacks_init(struct slim_stacks *stacks, struct slim_places *places)
{
	*stacks = (struct slim_stacks){.places = places};
	vec_push(&stacks->nodes, (struct slim_node){0});
}

void slim_stacks_deinit(struct slim_stacks *stacks)
{
	vec_deinit(&stacks->nodes);
	map_deinit(&stacks->index);
	vec_deinit(&stacks->groups);
}

static uint32_t add_node(struct slim_stacks *stacks, uint32_t parent, uint32_t place)
{
	bool added;
	uint64_t *node = map_put(&stacks->index, (uint64_t)parent << 32 | place, &added);
	if (added) {
		*node = stacks->nodes.len;
		vec_push(&stacks->nodes, (struct slim_node){parent, place, 0});
	}
	return (uint32_t)*node;
}

/* ---- groups ---- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_groups(const void *a, const void *b)
{
	const struct slim_group *x = a, *y = b;
	int by_thread = compare(x->thread, y->thread), by_event = compare(x->event, y->event);
	int by_user = compare(x->user, y->user), by_kernel = compare(x->kernel, y->kernel);
	return by_thread ? by_thread : by_event ? by_event : by_user ? by_user : by_kernel;
}

static void join_groups(struct slim_stacks *stacks)
{
	struct slim_group *groups = stacks->groups.data;
	size_t kept = 0;
	if (!stacks->groups.len)
		return;
	qsort(groups, stacks->groups.len, sizeof(*groups), compare_groups);
	for (size_t i = 1; i < stacks->groups.len; i++) {
		if (compare_groups(&groups[kept], &groups[i]) != 0) {
			groups[++kept] = groups[i];
			continue;
		}
		groups[kept].samples += groups[i].samples;
		groups[kept].weight += groups[i].weight;
	}
	stacks->groups.len = kept + 1;
}

/* Each sample counts at its nodes, and where it was taken. */
static void count_samples(struct slim_stacks *stacks)
{
	struct slim_place *places = stacks->places->list.data;
	struct slim_node *nodes = stacks->nodes.data;
	vec_each(&stacks->groups, group) {
		nodes[group->user].samples += group->samples;
		nodes[group->kernel].samples += group->samples;
		uint32_t leaf = group->kernel ? group->kernel : group->user;
		places[nodes[leaf].place].self_samples += group->samples;
	}
	for (size_t i = stacks->nodes.len; i-- > 1;)
		nodes[nodes[i].parent].samples += nodes[i].samples;
}

/* ---- taking them ---- */

struct taking {
	struct slim_stacks *stacks;
	const struct profile *profile;
	uint32_t *nodes; /* of the profile -> of the stacks, plus 1 */
	VEC(uint32_t) path;
};

static uint32_t take_node(struct taking *taking, uint32_t node)
{
	const struct layout_node *nodes = taking->profile->nodes.data;
	uint32_t *known = taking->nodes;
	taking->path.len = 0;
	for (uint32_t at = node; at && !known[at]; at = nodes[at].parent)
		vec_push(&taking->path, at);
	for (size_t i = taking->path.len; i-- > 0;) {
		uint32_t at = taking->path.data[i], parent = nodes[at].parent;
		uint32_t out = parent ? known[parent] - 1 : 0;
		uint32_t place = slim_places_of_frame(taking->stacks->places, nodes[at].frame);
		known[at] = (place ? add_node(taking->stacks, out, place) : out) + 1;
	}
	return node ? known[node] - 1 : 0;
}

/* By the samples' times: what comes first in a recording comes first here. */
static void take_samples(struct taking *taking, const uint32_t *threads)
{
	const struct profile *profile = taking->profile;
	vec_each(&profile->samples, sample) {
		const struct profile_stack *stack = &profile->stacks.data[sample->stack];
		struct slim_group group = {
			.thread = threads[sample->thread],
			.event = sample->event,
			.user = take_node(taking, stack->user),
			.kernel = take_node(taking, stack->kernel),
			.samples = 1,
			.weight = sample->weight,
		};
		vec_push(&taking->stacks->groups, group);
	}
}

static void count_bare_places(struct slim_places *places)
{
	size_t count = places->list.len;
	for (uint32_t i = 1; i < count; i++) {
		uint64_t samples = places->list.data[i].self_samples;
		uint32_t bare = samples ? slim_places_bare(places, i) : i;
		if (bare != i)
			places->list.data[bare].self_samples += samples;
	}
}

void slim_stacks_take(struct slim_stacks *stacks, const uint32_t *threads)
{
	const struct profile *profile = stacks->places->profile;
	struct taking taking = {
		.stacks = stacks,
		.profile = profile,
		.nodes = mem_zalloc_array(profile->nodes.len, sizeof(uint32_t)),
	};
	take_samples(&taking, threads);
	join_groups(stacks);
	count_samples(stacks);
	count_bare_places(stacks->places);
	mem_free(taking.nodes);
	vec_deinit(&taking.path);
}

/* ---- cutting ---- */

struct cutting {
	const struct slim_stacks *all;
	const struct slim_cut *cut;
	struct slim_stacks *to;
	struct cut_node {
		uint32_t kept; /* the node itself, or what is left of its callers */
		uint32_t end;  /* what stands for a stack that ends here */
		bool is_cut, is_ended;
	} * nodes;
};

/* The place, or its function, or nothing. */
static uint32_t kept_place(const struct cutting *cutting, uint32_t place)
{
	struct slim_places *places = cutting->all->places;
	if (places->list.data[place].self_samples >= cutting->cut->self)
		return place;
	place = slim_places_bare(places, place);
	return places->list.data[place].self_samples >= cutting->cut->self ? place : 0;
}

/* Callers come first. */
static void cut_nodes(struct cutting *cutting)
{
	for (size_t i = 1; i < cutting->all->nodes.len; i++) {
		const struct slim_node *node = &cutting->all->nodes.data[i];
		const struct cut_node *parent = &cutting->nodes[node->parent];
		struct cut_node *out = &cutting->nodes[i];
		*out = (struct cut_node){.kept = parent->kept, .is_cut = true};
		if (!parent->is_cut && node->samples >= cutting->cut->below) {
			out->is_cut = false;
			out->kept = add_node(cutting->to, parent->kept, node->place);
		}
	}
}

/* Right below what is kept nothing lies between. */
static uint32_t end_of(struct cutting *cutting, uint32_t at, bool *loses)
{
	const struct slim_node *node = &cutting->all->nodes.data[at];
	struct cut_node *out = &cutting->nodes[at];
	if (!out->is_cut)
		return out->kept;
	uint32_t place = kept_place(cutting, node->place);
	bool is_next = place == node->place && !cutting->nodes[node->parent].is_cut;
	*loses |= !is_next;
	if (out->is_ended)
		return out->end;
	out->is_ended = true;
	out->end = out->kept;
	if (!is_next)
		out->end = add_node(cutting->to, out->end, slim_places_mark(cutting->all->places));
	if (place)
		out->end = add_node(cutting->to, out->end, place);
	return out->end;
}

uint64_t slim_stacks_cut(
	const struct slim_stacks *all, const struct slim_cut *cut, struct slim_stacks *to)
{
	struct cutting cutting = {
		.all = all,
		.cut = cut,
		.to = to,
		.nodes = mem_zalloc_array(all->nodes.len, sizeof(*cutting.nodes)),
	};
	uint64_t lost = 0;
	cut_nodes(&cutting);
	vec_each(&all->groups, group) {
		struct slim_group out = *group;
		bool loses = false;
		out.user = end_of(&cutting, group->user, &loses);
		out.kernel = end_of(&cutting, group->kernel, &loses);
		vec_push(&to->groups, out);
		lost += loses ? group->samples : 0;
	}
	join_groups(to);
	mem_free(cutting.nodes);
	return lost;
}

/* ---- order ---- */

/* Behind each caller its first callee with all that this one calls, then the next. */
static uint32_t *number_nodes(const struct slim_stacks *stacks)
{
	size_t count = stacks->nodes.len;
	const struct slim_node *nodes = stacks->nodes.data;
	CLEANUP_FREE uint32_t *sizes = mem_zalloc_array(count, sizeof(*sizes));
	CLEANUP_FREE uint32_t *next = mem_zalloc_array(count, sizeof(*next)); /* free number */
	uint32_t *numbers = mem_zalloc_array(count, sizeof(*numbers));
	for (size_t i = count; i-- > 1;)
		sizes[nodes[i].parent] += ++sizes[i];
	next[0] = 1;
	for (size_t i = 1; i < count; i++) {
		numbers[i] = next[nodes[i].parent];
		next[nodes[i].parent] += sizes[i];
		next[i] = numbers[i] + 1;
	}
	return numbers;
}

void slim_stacks_arrange(struct slim_stacks *stacks)
{
	size_t count = stacks->nodes.len;
	CLEANUP_FREE uint32_t *numbers = number_nodes(stacks);
	struct slim_node *nodes = mem_zalloc_array(count, sizeof(*nodes));
	for (size_t i = 1; i < count; i++) {
		nodes[numbers[i]] = stacks->nodes.data[i];
		nodes[numbers[i]].parent = numbers[stacks->nodes.data[i].parent];
	}
	mem_free(stacks->nodes.data);
	stacks->nodes.data = nodes;
	stacks->nodes.cap = count;
	map_clear(&stacks->index); /* of the numbers before */
	vec_each(&stacks->groups, group) {
		group->user = numbers[group->user];
		group->kernel = numbers[group->kernel];
	}
	join_groups(stacks);
}
