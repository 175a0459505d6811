#include "report/diff_tree.h"

#include "report/tree_growth.h"

struct merging {
	struct diff_tree *diff;
	struct tree_growth growth;
	VEC(uint32_t) object_of; /* for each object name of the match: one of objects, or 0 */
	uint32_t *functions;     /* for each of a side's: the one of the diff's, 0: not met yet */
};

/* ---- tables ---- */

static uint32_t merge_object(struct merging *merging, enum match_side side, uint32_t object)
{
	struct diff_tree *diff = merging->diff;
	uint32_t name = function_match_object(&diff->match, side, object);
	if (!object)
		return 0;
	while (merging->object_of.len <= name)
		vec_push(&merging->object_of, 0);
	uint32_t *merged = &merging->object_of.data[name];
	if (!*merged) {
		*merged = (uint32_t)diff->objects.len;
		vec_push(&diff->objects, diff->match.profiles[side]->objects.data[object]);
	}
	return *merged;
}

/* Function 0 stands for none, so what has the match's id 0 is 1. */
static uint32_t merge_function(struct merging *merging, enum match_side side, uint32_t function)
{
	struct diff_tree *diff = merging->diff;
	uint32_t *merged = &merging->functions[function];
	if (*merged || !function)
		return *merged;
	uint32_t id = function_match_id(&diff->match, side, function);
	*merged = id + 1;
	if (*merged == diff->functions.len) {
		struct profile_function it = diff->match.profiles[side]->functions.data[function];
		const char *object;
		it.name = function_match_name(&diff->match, id, &object);
		it.object = merge_object(merging, side, it.object);
		vec_push(&diff->functions, it);
	}
	return *merged;
}

/* Returns where they begin. */
static uint32_t append_frames(struct merging *merging, enum match_side side)
{
	struct diff_tree *diff = merging->diff;
	const struct profile *profile = diff->match.profiles[side];
	uint32_t first = (uint32_t)diff->frames.len;
	vec_each(&profile->frames, from) {
		struct profile_frame frame = *from;
		frame.function = 0; /* until it is met: most need no name */
		frame.object = 0;
		frame.innermost = from->innermost ? from->innermost + first : 0;
		frame.outer = from->outer ? from->outer + first : 0;
		vec_push(&diff->frames, frame);
	}
	return first;
}

/* ---- nodes ---- */

/* Parents stand ahead of their children on both sides. */
static void merge_nodes(struct merging *merging, enum match_side side, const struct tree *tree)
{
	struct diff_tree *diff = merging->diff;
	const struct profile *profile = diff->match.profiles[side];
	uint32_t first = append_frames(merging, side);
	merging->functions = mem_zalloc_array(profile->functions.len, sizeof(*merging->functions));
	diff->nodes[side] = mem_zalloc_array(tree->nodes.len, sizeof(**diff->nodes));
	diff->nr_nodes[side] = tree->nodes.len;
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *from = &tree->nodes.data[i];
		struct tree_node node = {
			.function = merge_function(merging, side, from->function),
			.frame = first + from->frame,
			.parent = diff->nodes[side][from->parent],
			.is_kernel = from->is_kernel,
		};
		struct profile_frame *frame = &diff->frames.data[node.frame];
		frame->function = node.function;
		frame->object =
			merge_object(merging, side, profile->frames.data[from->frame].object);
		diff->nodes[side][i] = tree_grow(&diff->tree, &merging->growth, &node);
	}
	mem_free(merging->functions);
}

void diff_tree_init(
	struct diff_tree *diff, const struct diff_tree_side *base, const struct diff_tree_side *new)
{
	*diff = (struct diff_tree){0};
	struct merging merging = {.diff = diff};
	function_match_init(&diff->match, base->profile, new->profile);
	vec_push(&diff->functions, new->profile->functions.data[0]);
	vec_push(&diff->objects, new->profile->objects.data[0]);
	tree_begin(&diff->tree, &merging.growth);
	merge_nodes(&merging, MATCH_NEW, new->tree);
	merge_nodes(&merging, MATCH_BASE, base->tree);
	tree_mark_recursion(&diff->tree, diff->functions.len);
	tree_growth_deinit(&merging.growth);
	vec_deinit(&merging.object_of);
}

void diff_tree_deinit(struct diff_tree *diff)
{
	function_match_deinit(&diff->match);
	tree_deinit(&diff->tree);
	vec_deinit(&diff->functions);
	vec_deinit(&diff->objects);
	vec_deinit(&diff->frames);
	for (int side = 0; side < MATCH_SIDES; side++)
		mem_free(diff->nodes[side]);
}

/* ---- weights ---- */

struct tree_weight *diff_tree_weigh(
	const struct diff_tree *diff, enum match_side side, const struct tree_weight *weights)
{
	struct tree_weight *merged = mem_zalloc_array(diff->tree.nodes.len, sizeof(*merged));
	for (size_t i = 0; i < diff->nr_nodes[side]; i++) {
		struct tree_weight *to = &merged[diff->nodes[side][i]];
		to->self += weights[i].self;
		to->total += weights[i].total;
		to->samples += weights[i].samples;
	}
	return merged;
}

/* Sums are those of what was rounded: a node has exactly what it and its callees have. */
static uint64_t half_share(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)part * (DIFF_TREE_WHOLE / 2) / whole) : 0;
}

struct tree_weight *diff_tree_mean(
	const struct diff_tree *diff, const struct tree_weight *base, const struct tree_weight *new)
{
	struct tree_weight *mean = mem_zalloc_array(diff->tree.nodes.len, sizeof(*mean));
	for (size_t i = 0; i < diff->tree.nodes.len; i++) {
		mean[i].self = half_share(base[i].self, base[0].total) +
			       half_share(new[i].self, new[0].total);
		mean[i].total = mean[i].self;
		mean[i].samples = base[i].samples + new[i].samples;
	}
	for (size_t i = diff->tree.nodes.len; i-- > 1;)
		mean[diff->tree.nodes.data[i].parent].total += mean[i].total;
	return mean;
}
