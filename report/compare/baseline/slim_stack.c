#include "report/compare/baseline/slim_stack.h"

#include <stdbool.h>
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

static uint32_t slim_stack_add_node(struct slim_stacks *stacks, uint32_t parent, uint32_t place)
{
	bool added;
	uint64_t *node = map_put(&stacks->index, (uint64_t)parent << 32 | place, &added);
	if (added) {
		*node = stacks->nodes.len;
		vec_push(&stacks->nodes, (struct slim_node){.parent = parent, .place = place});
	}
	return (uint32_t)*node;
}

/* ---- groups ---- */

static int slim_stack_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int slim_stack_compare_groups(const void *a, const void *b)
{
	const struct slim_group *x = a, *y = b;
	int by_thread = slim_stack_compare(x->thread, y->thread),
	    by_event = slim_stack_compare(x->event, y->event);
	int by_user = slim_stack_compare(x->user, y->user),
	    by_kernel = slim_stack_compare(x->kernel, y->kernel);
	int by_stack = by_user ? by_user : by_kernel;
	if (by_thread || by_event || by_stack)
		return by_thread ? by_thread : by_event ? by_event : by_stack;
	return slim_stack_compare(x->syscall, y->syscall);
}

static void join_groups(struct slim_stacks *stacks)
{
	struct slim_group *groups = stacks->groups.data;
	size_t kept = 0;
	if (!stacks->groups.len)
		return;
	qsort(groups, stacks->groups.len, sizeof(*groups), slim_stack_compare_groups);
	for (size_t i = 1; i < stacks->groups.len; i++) {
		if (slim_stack_compare_groups(&groups[kept], &groups[i]) != 0) {
			groups[++kept] = groups[i];
			continue;
		}
		groups[kept].samples += groups[i].samples;
		groups[kept].weight += groups[i].weight;
	}
	stacks->groups.len = kept + 1;
}

/* Each sample counts at its nodes, and where it was taken. */
static void slim_stack_count_samples(struct slim_stacks *stacks)
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

/* ---- paths of functions ---- */

struct paths {
	const struct profile *profile;
	struct map index; /* caller's path << 32 | function -> path */
	VEC(struct path {
		uint64_t samples;
		bool is_inlined; /* part of what its caller's place tells */
	})
	list;
	VEC(uint32_t) inlined; /* frames, innermost first */
};

static uint32_t slim_stack_path_to(struct paths *paths, uint32_t caller, uint32_t frame)
{
	bool added;
	uint32_t function = paths->profile->frames.data[frame].function;
	uint64_t *path = map_put(&paths->index, (uint64_t)caller << 32 | function, &added);
	if (added) {
		*path = paths->list.len;
		vec_push(&paths->list, (struct path){0});
	}
	return (uint32_t)*path;
}

/* Of what was inlined into a frame whose own path it is. */
static uint32_t path_of_inlined(struct paths *paths, uint32_t path, uint32_t frame)
{
	const struct profile_frame *frames = paths->profile->frames.data;
	paths->inlined.len = 0;
	if (frames[frame].innermost)
		for (uint32_t at = frames[frame].innermost; at != frame; at = frames[at].outer)
			vec_push(&paths->inlined, at);
	while (paths->inlined.len) {
		path = slim_stack_path_to(paths, path, paths->inlined.data[--paths->inlined.len]);
		paths->list.data[path].is_inlined = true;
	}
	return path;
}

static void count_paths(struct slim_stacks *stacks)
{
	size_t count = stacks->nodes.len;
	struct slim_node *nodes = stacks->nodes.data;
	struct paths paths = {.profile = stacks->places->profile};
	CLEANUP_FREE uint32_t *outer = mem_zalloc_array(count, sizeof(*outer));
	CLEANUP_FREE uint32_t *inner = mem_zalloc_array(count, sizeof(*inner));
	vec_push(&paths.list, (struct path){0});
	for (size_t i = 1; i < count; i++) {
		uint32_t frame = stacks->places->list.data[nodes[i].place].frame;
		outer[i] = slim_stack_path_to(&paths, inner[nodes[i].parent], frame);
		inner[i] = path_of_inlined(&paths, outer[i], frame);
		paths.list.data[outer[i]].samples += nodes[i].samples;
	}
	for (size_t i = 1; i < count; i++) {
		const struct path *path = &paths.list.data[outer[i]];
		nodes[i].path_samples = path->is_inlined ? UINT64_MAX : path->samples;
	}
	map_deinit(&paths.index);
	vec_deinit(&paths.list);
	vec_deinit(&paths.inlined);
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
		known[at] = (place ? slim_stack_add_node(taking->stacks, out, place) : out) + 1;
	}
	return node ? known[node] - 1 : 0;
}

/* By the samples' times: what comes first in a recording comes first here. */
static void slim_stack_take_samples(struct taking *taking, const uint32_t *threads)
{
	const struct profile *profile = taking->profile;
	vec_each(&profile->samples, sample) {
		const struct profile_stack *stack = &profile->stacks.data[sample->stack];
		struct slim_group group = {
			.thread = threads[sample->thread],
			.event = sample->event,
			.user = take_node(taking, stack->user),
			.kernel = take_node(taking, stack->kernel),
			.syscall = stack->syscall,
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
	slim_stack_take_samples(&taking, threads);
	join_groups(stacks);
	slim_stack_count_samples(stacks);
	count_paths(stacks);
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
		bool is_cut, is_whole, is_ended; /* is_whole: its place is as it was */
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

static bool has_inlined(const struct cutting *cutting, uint32_t place)
{
	const struct slim_places *places = cutting->all->places;
	return places->profile->frames.data[places->list.data[place].frame].innermost;
}

/* Of a path that stays: a rare place of it has no line, unless that would hide functions. */
static uint32_t place_of_caller(const struct cutting *cutting, const struct slim_node *node)
{
	bool is_whole = node->samples >= cutting->cut->below || has_inlined(cutting, node->place);
	return is_whole ? node->place : slim_places_bare(cutting->all->places, node->place);
}

/* Callers come first. */
static void cut_nodes(struct cutting *cutting)
{
	for (size_t i = 1; i < cutting->all->nodes.len; i++) {
		const struct slim_node *node = &cutting->all->nodes.data[i];
		const struct cut_node *parent = &cutting->nodes[node->parent];
		struct cut_node *out = &cutting->nodes[i];
		*out = (struct cut_node){.kept = parent->kept, .is_cut = true};
		if (!parent->is_cut && node->path_samples >= cutting->cut->below) {
			uint32_t place = place_of_caller(cutting, node);
			out->is_cut = false;
			out->is_whole = place == node->place;
			out->kept = slim_stack_add_node(cutting->to, parent->kept, place);
		}
	}
}

static uint32_t end_of_kept(struct cutting *cutting, uint32_t at)
{
	const struct slim_node *node = &cutting->all->nodes.data[at];
	const struct cut_node *out = &cutting->nodes[at];
	if (!at || out->is_whole)
		return out->kept;
	uint32_t place = kept_place(cutting, node->place);
	return place ? slim_stack_add_node(cutting->to, cutting->nodes[node->parent].kept, place)
		     : out->kept;
}

static uint32_t end_of_cut(struct cutting *cutting, uint32_t at)
{
	uint32_t place = kept_place(cutting, cutting->all->nodes.data[at].place);
	uint32_t mark = slim_stack_add_node(
		cutting->to, cutting->nodes[at].kept, slim_places_mark(cutting->all->places));
	return place ? slim_stack_add_node(cutting->to, mark, place) : mark;
}

static uint32_t slim_stack_end_of(struct cutting *cutting, uint32_t at)
{
	struct cut_node *out = &cutting->nodes[at];
	if (!out->is_ended)
		out->end = out->is_cut ? end_of_cut(cutting, at) : end_of_kept(cutting, at);
	out->is_ended = true;
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
		out.user = slim_stack_end_of(&cutting, group->user);
		out.kernel = slim_stack_end_of(&cutting, group->kernel);
		vec_push(&to->groups, out);
		bool is_cut =
			cutting.nodes[group->user].is_cut || cutting.nodes[group->kernel].is_cut;
		lost += is_cut ? group->samples : 0;
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
