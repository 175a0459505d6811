#include "report/compare/diff_tree.h"

#include <math.h>
#include <string.h>

#include "format/base/path.h"
#include "report/compare/rename_match.h"

struct merging {
	struct diff_tree *diff;
	struct function_match match;
	struct tree_growth growth;
	VEC(uint32_t) object_of; /* for each object name of the match: one of objects, or 0 */
};

/* ---- tables ---- */

static const char *diff_tree_copy_text(struct diff_tree *diff, const char *text)
{
	if (!text)
		return NULL;
	return strtab_get(&diff->texts, strtab_intern(&diff->texts, text, strlen(text)));
}

static void push_object(struct diff_tree *diff, const struct profile_object *from)
{
	struct profile_object object = {
		.info.kind = from->info.kind,
		.name = diff_tree_copy_text(diff, from->name),
		.path = diff_tree_copy_text(diff, from->path),
		.is_used = from->is_used,
	};
	vec_push(&diff->objects, object);
}

static uint32_t merge_object(struct merging *merging, enum match_side side, uint32_t object)
{
	struct diff_tree *diff = merging->diff;
	uint32_t name = function_match_object(&merging->match, side, object);
	if (!object)
		return 0;
	while (merging->object_of.len <= name)
		vec_push(&merging->object_of, 0);
	uint32_t *merged = &merging->object_of.data[name];
	if (!*merged) {
		*merged = (uint32_t)diff->objects.len;
		push_object(diff, &merging->match.profiles[side]->objects.data[object]);
		struct profile_object *last = &diff->objects.data[diff->objects.len - 1];
		last->name = path_last_part(last->name); /* of all that are one here */
	}
	return *merged;
}

static void push_function(struct diff_tree *diff, const struct profile_function *from,
	const char *name, uint32_t object)
{
	struct profile_function function = *from;
	function.name = diff_tree_copy_text(diff, name);
	function.system_name = diff_tree_copy_text(diff, from->system_name);
	function.file = diff_tree_copy_text(diff, from->file);
	function.object = object;
	vec_push(&diff->functions, function);
}

/* Function 0 stands for none, so what has the match's id 0 is 1. */
static uint32_t merge_function(struct merging *merging, enum match_side side, uint32_t function)
{
	struct diff_tree *diff = merging->diff;
	uint32_t *merged = &diff->function_of[side][function];
	if (*merged || !function)
		return *merged;
	uint32_t id = function_match_id(&merging->match, side, function);
	*merged = id + 1;
	if (*merged == diff->functions.len) {
		const struct profile_function *from =
			&merging->match.profiles[side]->functions.data[function];
		const char *object, *name = function_match_name(&merging->match, id, &object);
		push_function(diff, from, name, merge_object(merging, side, from->object));
	}
	return *merged;
}

static void diff_tree_put_frame(
	struct merging *merging, enum match_side side, uint32_t frame, uint32_t function)
{
	const struct profile_frame *from = &merging->match.profiles[side]->frames.data[frame];
	merging->diff->frames.data[diff_tree_frame(side, frame)] = (struct profile_frame){
		.function = function,
		.object = merge_object(merging, side, from->object),
		.outer = diff_tree_frame(side, from->outer),
	};
}

/* ---- nodes ---- */

/* Parents stand ahead of their children on both sides. */
static void merge_nodes(struct merging *merging, enum match_side side, const struct tree *tree)
{
	struct diff_tree *diff = merging->diff;
	diff->nodes[side] = mem_zalloc_array(tree->nodes.len, sizeof(**diff->nodes));
	diff->nr_nodes[side] = tree->nodes.len;
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *from = &tree->nodes.data[i];
		struct tree_node node = {
			.function = merge_function(merging, side, from->function),
			.frame = diff_tree_frame(side, from->frame),
			.parent = diff->nodes[side][from->parent],
			.is_kernel = from->is_kernel,
		};
		diff_tree_put_frame(merging, side, from->frame, node.function);
		const struct profile *profile = merging->match.profiles[side];
		if (profile_frame_is_left_out(&profile->frames.data[from->frame]))
			diff->left_out = node.function;
		diff->nodes[side][i] = tree_grow(&diff->tree, &merging->growth, &node);
	}
}

static void merge_side(
	struct merging *merging, enum match_side side, const struct diff_tree_side *from)
{
	struct diff_tree *diff = merging->diff;
	const struct profile *profile = from->profile;
	merge_nodes(merging, side, from->tree);
	/* Others of the same functions: what is selected may be one of those. */
	for (uint32_t i = 1; i < profile->frames.len; i++) {
		uint32_t function = diff->function_of[side][profile->frames.data[i].function];
		if (function)
			diff_tree_put_frame(merging, side, i, function);
	}
}

static void merge_sides(struct merging *merging, const struct diff_tree_side *const sides[])
{
	struct diff_tree *diff = merging->diff;
	tree_begin(&diff->tree, &merging->growth);
	merge_side(merging, MATCH_NEW, sides[MATCH_NEW]);
	merge_side(merging, MATCH_BASE, sides[MATCH_BASE]);
	tree_mark_recursion(&diff->tree, diff->functions.len);
}

/* ---- renames ---- */

static void weigh_functions(const struct diff_tree *diff, enum match_side side,
	const struct tree_weight *weights, struct function_weights *ret)
{
	CLEANUP_FREE struct tree_weight *merged = diff_tree_weigh(diff, side, weights);
	tree_weigh_functions(&diff->tree, merged, diff->frames.data, diff->functions.len, ret);
}

/* Samples of which is known where they were: what is no code stands for lost stacks. */
static uint64_t known_samples(const struct diff_tree *diff, const struct function_weights *weights)
{
	uint64_t known = 0;
	vec_each(weights, weight)
		if (diff->functions.data[weight->function].object ||
			(diff->left_out && weight->function == diff->left_out))
			known += weight->self_samples;
	return known;
}

/*
 * What is shown is not tested, as by `diff`: this much of a side, the usual min_share of
 * `diff`, is what chance alone hardly brings to one side and not to the other.
 */
static bool diff_tree_is_evidence(double samples, double known)
{
	static const double least = 5, least_share = 0.005;
	return samples >= least && samples >= least_share * known;
}

static void collect_candidates(const struct diff_tree *diff, const struct function_weights *own,
	const struct function_weights *others, struct rename_candidates *ret)
{
	double known = fmax(1, (double)known_samples(diff, own));
	CLEANUP_FREE bool *is_others = mem_zalloc_array(diff->functions.len, sizeof(*is_others));
	vec_each(others, weight)
		is_others[weight->function] = true;
	vec_each(own, weight) {
		const struct profile_function *function = &diff->functions.data[weight->function];
		struct rename_candidate candidate = {
			.function = weight->function,
			.object = function->object,
			.name = function->name,
			.self = (double)weight->self_samples / known,
			.total = (double)weight->samples / known,
		};
		if (function->object && function->is_known && !is_others[weight->function] &&
			diff_tree_is_evidence((double)weight->samples, known))
			vec_push(ret, candidate);
	}
}

/* Of the merged functions, as rename_match() has it. */
static size_t find_renames(
	const struct diff_tree *diff, const struct diff_tree_side *const sides[], uint32_t *new_of)
{
	struct function_weights weights[MATCH_SIDES] = {0};
	struct rename_candidates candidates[MATCH_SIDES] = {0};
	for (int side = 0; side < MATCH_SIDES; side++)
		weigh_functions(diff, (enum match_side)side, sides[side]->weights, &weights[side]);
	for (int side = 0; side < MATCH_SIDES; side++)
		collect_candidates(diff, &weights[side], &weights[!side], &candidates[side]);
	size_t count = rename_match(candidates, new_of, diff->functions.len);
	for (int side = 0; side < MATCH_SIDES; side++) {
		vec_deinit(&weights[side]);
		vec_deinit(&candidates[side]);
	}
	return count;
}

static void name_renamed(struct diff_tree *diff, const uint32_t *new_of)
{
	for (size_t old = 1; old < diff->functions.len; old++) {
		if (!new_of[old])
			continue;
		CLEANUP(str_deinit) struct str name = {0};
		struct profile_function *renamed = &diff->functions.data[new_of[old] - 1];
		str_printf(&name, "%s, was %s", renamed->name, diff->functions.data[old].name);
		renamed->name = diff_tree_copy_text(diff, str_text(&name));
	}
}

/* Which ones these are is seen by what they took when merged by name; then it is done anew. */
static void join_renames(struct merging *merging, const struct diff_tree_side *const sides[])
{
	struct diff_tree *diff = merging->diff;
	CLEANUP_FREE uint32_t *new_of = mem_zalloc_array(diff->functions.len, sizeof(*new_of));
	if (!find_renames(diff, sides, new_of))
		return;
	name_renamed(diff, new_of);
	uint32_t *function_of = diff->function_of[MATCH_BASE];
	for (size_t i = 0; i < sides[MATCH_BASE]->profile->functions.len; i++)
		if (new_of[function_of[i]])
			function_of[i] = new_of[function_of[i]] - 1;
	tree_deinit(&diff->tree);
	tree_growth_deinit(&merging->growth);
	for (int side = 0; side < MATCH_SIDES; side++)
		mem_free(diff->nodes[side]);
	merge_sides(merging, sides);
}

/* ---- marks ---- */

/* What each side has: of each node bits of those that have it, and of its callees a mark. */
struct presence {
	uint8_t *has, *has_mark;
};

static struct presence find_presence(const struct diff_tree *diff)
{
	size_t count = diff->tree.nodes.len;
	struct presence found = {mem_zalloc_array(count, 1), mem_zalloc_array(count, 1)};
	for (int side = 0; side < MATCH_SIDES; side++)
		for (size_t i = 0; i < diff->nr_nodes[side]; i++)
			found.has[diff->nodes[side][i]] |= (uint8_t)(1U << side);
	for (size_t i = 1; i < count; i++) {
		const struct tree_node *node = &diff->tree.nodes.data[i];
		if (node->function == diff->left_out)
			found.has_mark[node->parent] |= found.has[i];
	}
	return found;
}

/* In place of its caller, where only one side knows it, and the other side may have left it out. */
static bool goes_below_mark(const struct presence *found, const struct tree *tree, size_t node)
{
	static const unsigned both = (1U << MATCH_SIDES) - 1;
	unsigned lack = both & ~found->has[node];
	return found->has_mark[tree->nodes.data[node].parent] & lack;
}

static uint32_t grow_mark(const struct diff_tree *diff, struct merging *merging, struct tree *to,
	uint32_t caller, uint32_t frame)
{
	struct tree_node mark = {.function = diff->left_out, .frame = frame, .parent = caller};
	return tree_grow(to, &merging->growth, &mark);
}

/* Grows the tree anew, each caller ahead of its callees as before. */
static void move_below_marks(struct merging *merging)
{
	struct diff_tree *diff = merging->diff;
	struct tree moved = {0};
	size_t count = diff->tree.nodes.len;
	struct presence found = find_presence(diff);
	CLEANUP_FREE uint32_t *places = mem_zalloc_array(count, sizeof(*places));
	uint32_t frame = 0;
	for (size_t i = count; i-- > 1;)
		if (diff->tree.nodes.data[i].function == diff->left_out)
			frame = diff->tree.nodes.data[i].frame;
	tree_growth_deinit(&merging->growth);
	tree_begin(&moved, &merging->growth);
	for (size_t i = 1; i < count; i++) {
		struct tree_node node = diff->tree.nodes.data[i];
		node.parent = places[node.parent];
		node.first_child = node.next_sibling = 0;
		if (node.function != diff->left_out && goes_below_mark(&found, &diff->tree, i))
			node.parent = grow_mark(diff, merging, &moved, node.parent, frame);
		places[i] = tree_grow(&moved, &merging->growth, &node);
	}
	for (int side = 0; side < MATCH_SIDES; side++)
		for (size_t i = 0; i < diff->nr_nodes[side]; i++)
			diff->nodes[side][i] = places[diff->nodes[side][i]];
	tree_deinit(&diff->tree);
	diff->tree = moved;
	tree_mark_recursion(&diff->tree, diff->functions.len);
	diff->functions.data[diff->left_out].name = DIFF_TREE_LEFT_OUT;
	mem_free(found.has);
	mem_free(found.has_mark);
}

void diff_tree_init(
	struct diff_tree *diff, const struct diff_tree_side *base, const struct diff_tree_side *new)
{
	*diff = (struct diff_tree){0};
	struct merging merging = {.diff = diff};
	function_match_init(&merging.match, base->profile, new->profile);
	const struct profile_function *none = &new->profile->functions.data[0];
	push_function(diff, none, none->name, 0);
	push_object(diff, &new->profile->objects.data[0]);
	size_t frames = new->profile->frames.len > base->profile->frames.len
				? new->profile->frames.len
				: base->profile->frames.len;
	vec_resize(&diff->frames, 2 * frames);
	const struct diff_tree_side *const sides[] = {[MATCH_BASE] = base, [MATCH_NEW] = new};
	for (int side = 0; side < MATCH_SIDES; side++)
		diff->function_of[side] = mem_zalloc_array(
			sides[side]->profile->functions.len, sizeof(**diff->function_of));
	merge_sides(&merging, sides);
	if (base->weights && new->weights)
		join_renames(&merging, sides);
	if (diff->left_out)
		move_below_marks(&merging);
	tree_growth_deinit(&merging.growth);
	function_match_deinit(&merging.match);
	vec_deinit(&merging.object_of);
}

void diff_tree_deinit(struct diff_tree *diff)
{
	tree_deinit(&diff->tree);
	vec_deinit(&diff->functions);
	vec_deinit(&diff->objects);
	vec_deinit(&diff->frames);
	for (int side = 0; side < MATCH_SIDES; side++) {
		mem_free(diff->nodes[side]);
		mem_free(diff->function_of[side]);
	}
	strtab_deinit(&diff->texts);
}

uint32_t diff_tree_frame_across(const struct diff_tree *diff, enum match_side side, uint32_t frame)
{
	enum match_side other = match_other_side(side);
	uint32_t at = diff_tree_frame(side, frame);
	uint32_t function = at < diff->frames.len ? diff->frames.data[at].function : 0;
	for (uint32_t i = 1; function && diff_tree_frame(other, i) < diff->frames.len; i++)
		if (diff->frames.data[diff_tree_frame(other, i)].function == function)
			return i;
	return 0;
}

/* ---- weights ---- */

struct tree_weight *diff_tree_weigh(
	const struct diff_tree *diff, enum match_side side, const struct tree_weight *weights)
{
	struct tree_weight *merged = mem_zalloc_array(diff->tree.nodes.len, sizeof(*merged));
	for (size_t i = 0; i < diff->nr_nodes[side]; i++) {
		struct tree_weight *to = &merged[diff->nodes[side][i]];
		to->self += weights[i].self;
		to->total += weights[i].self;
		to->self_samples += weights[i].self_samples;
		to->samples += weights[i].self_samples;
	}
	tree_add_up(&diff->tree, merged); /* marks stand between nodes of a side that has none */
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
		mean[i].self_samples = base[i].self_samples + new[i].self_samples;
		mean[i].samples = base[i].samples + new[i].samples;
	}
	for (size_t i = diff->tree.nodes.len; i-- > 1;)
		mean[diff->tree.nodes.data[i].parent].total += mean[i].total;
	return mean;
}
