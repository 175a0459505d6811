#include "report/tui/model_path.h"

void model_path_to(const struct model *model, uint32_t node, struct path *ret)
{
	const struct tree_node *nodes = model->names->tree.nodes.data;
	ret->len = 0;
	for (uint32_t at = node; at; at = nodes[at].parent)
		vec_push(ret, nodes[at].frame);
	for (size_t i = 0; i < ret->len / 2; i++) {
		uint32_t frame = ret->data[i];
		ret->data[i] = ret->data[ret->len - 1 - i];
		ret->data[ret->len - 1 - i] = frame;
	}
}

bool model_path_is_script(const struct model *model, uint32_t frame)
{
	const struct model_names *names = model->names;
	return frame < names->frames.len &&
	       profile_frame_is_script(&names->frames.data[frame], names->objects.data);
}

static bool is_group(const struct model *model, uint32_t frame)
{
	return planted_find(model->names->groups_of, frame);
}

uint32_t model_path_group(const struct model *model, uint32_t frame)
{
	const struct tree *tree = &model->names->tree;
	uint32_t function = model_function_of(model, frame);
	uint32_t at = tree->has_groups && function ? tree->nodes.data[0].first_child : 0;
	while (at && tree->nodes.data[at].function != function)
		at = tree->nodes.data[at].next_sibling;
	return at;
}

void model_path_seen(const struct model *model, const struct path *path, struct path *ret)
{
	bool has_script = false;
	ret->len = 0;
	for (size_t i = 0; model->names->hides_native && i < path->len; i++) {
		bool is_script = model_path_is_script(model, path->data[i]);
		has_script |= is_script;
		if (is_script || (!i && is_group(model, path->data[i])))
			vec_push(ret, path->data[i]);
	}
	if (has_script)
		return;
	ret->len = 0;
	vec_append(ret, path->data, path->len);
}

/* The hottest place of a script's function that was called from a node by native code; 0: none. */
static uint32_t script_below(const struct model *model, uint32_t node, uint32_t function)
{
	const struct tree_node *nodes = model->names->tree.nodes.data;
	uint32_t at = node, found = 0;
	for (;;) {
		bool is_seen = at == node || !model_path_is_script(model, nodes[at].frame);
		if (at != node && nodes[at].function == function &&
			(!found || model->weights[at].total > model->weights[found].total))
			found = at;
		if (is_seen && nodes[at].first_child) {
			at = nodes[at].first_child;
			continue;
		}
		while (at != node && !nodes[at].next_sibling)
			at = nodes[at].parent;
		if (at == node)
			return found;
		at = nodes[at].next_sibling;
	}
}

/*
 * Of a function called from a node, or from what was found to be inlined there since the path was
 * made.
 */
static uint32_t model_path_child_of(
	const struct model *model, uint32_t node, uint32_t function, int levels)
{
	const struct tree_node *nodes = model->names->tree.nodes.data;
	uint32_t first = nodes[node].first_child, found = 0;
	for (uint32_t at = first; at; at = nodes[at].next_sibling)
		if (nodes[at].function == function)
			return at;
	for (uint32_t at = first; at && levels && !found; at = nodes[at].next_sibling)
		if (model->names->frames.data[nodes[at].frame].outer)
			found = model_path_child_of(model, at, function, levels - 1);
	return found;
}

uint32_t model_path_follow(const struct model *model, const struct path *path)
{
	enum {
		INLINED_LEVELS = 8
	};
	uint32_t at = 0;
	struct path seen = {0};
	model_path_seen(model, path, &seen);
	for (size_t i = 0; i < seen.len; i++) {
		uint32_t function = model_function_of(model, seen.data[i]);
		uint32_t child = model_path_child_of(model, at, function, INLINED_LEVELS);
		if (!child && model_path_is_script(
				      model, seen.data[i])) /* chosen while others were hidden */
			child = script_below(model, at, function);
		if (!child)
			break;
		at = child;
	}
	vec_deinit(&seen);
	return at;
}

/* Whether `node` is the branch `above` or below it. */
static bool is_within(const struct tree *tree, uint32_t node, uint32_t above)
{
	while (node > above) /* parents stand ahead of their children */
		node = tree->nodes.data[node].parent;
	return node == above;
}

/* Of those whose function is this one, or any that is searched for where it is 0. */
static uint32_t find_hottest_node(const struct model *model, uint32_t function, uint32_t above)
{
	const struct tree *tree = &model->names->tree;
	uint32_t hottest = 0;
	uint64_t most = 0;
	for (uint32_t i = above ? above : 1; i < tree->nodes.len; i++) {
		uint32_t own = tree->nodes.data[i].function;
		bool is_wanted = function ? own == function : model->matches[own];
		if (!is_wanted || model->weights[i].total <= most || !is_within(tree, i, above))
			continue;
		most = model->weights[i].total;
		hottest = i;
	}
	return hottest;
}

uint32_t model_path_hottest(const struct model *model, uint32_t function, uint32_t above)
{
	return function ? find_hottest_node(model, function, above) : 0;
}

uint32_t model_path_hottest_match(const struct model *model, uint32_t above)
{
	return model->matches ? find_hottest_node(model, 0, above) : 0;
}
