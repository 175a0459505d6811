/* What is selected and where the zoom leads, through models whose ids are others each time. */
#include "report/tui/app.h"
#include "report/tui/view/focus_selection.h"

static void path_to(const struct tree *tree, uint32_t node, struct path *ret)
{
	ret->len = 0;
	for (uint32_t at = node; at; at = tree->nodes.data[at].parent)
		vec_push(ret, tree->nodes.data[at].frame);
	for (size_t i = 0; i < ret->len / 2; i++) {
		uint32_t frame = ret->data[i];
		ret->data[i] = ret->data[ret->len - 1 - i];
		ret->data[ret->len - 1 - i] = frame;
	}
}

static bool is_script(const struct model *model, uint32_t frame)
{
	if (frame >= model->names->frames.len)
		return false;
	uint32_t object = model->names->frames.data[frame].object;
	return model_object(model, object)->info.kind == LAYOUT_OBJECT_SCRIPT;
}

void app_put_seen_path(const struct model *model, const struct path *path, struct path *ret)
{
	ret->len = 0;
	for (size_t i = 0; model->names->hides_native && i < path->len; i++)
		if (is_script(model, path->data[i]))
			vec_push(ret, path->data[i]);
	if (!ret->len)
		vec_append(ret, path->data, path->len);
}

/* The hottest place of a script's function that was called from a node by native code; 0: none. */
static uint32_t script_below(const struct model *model, uint32_t node, uint32_t function)
{
	const struct tree_node *nodes = model->names->tree.nodes.data;
	uint32_t at = node, found = 0;
	for (;;) {
		bool is_seen = at == node || !is_script(model, nodes[at].frame);
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
static uint32_t child_of(const struct model *model, uint32_t node, uint32_t function, int levels)
{
	const struct tree_node *nodes = model->names->tree.nodes.data;
	uint32_t first = nodes[node].first_child, found = 0;
	for (uint32_t at = first; at; at = nodes[at].next_sibling)
		if (nodes[at].function == function)
			return at;
	for (uint32_t at = first; at && levels && !found; at = nodes[at].next_sibling)
		if (model->names->frames.data[nodes[at].frame].outer)
			found = child_of(model, at, function, levels - 1);
	return found;
}

/* The deepest node of the tree on the path: names may have changed, and branches have gone. */
static uint32_t follow(const struct model *model, const struct path *path)
{
	enum {
		INLINED_LEVELS = 8
	};
	uint32_t at = 0;
	struct path seen = {0};
	app_put_seen_path(model, path, &seen);
	for (size_t i = 0; i < seen.len; i++) {
		uint32_t function = model_function_of(model, seen.data[i]);
		uint32_t child = child_of(model, at, function, INLINED_LEVELS);
		if (!child && is_script(model, seen.data[i])) /* chosen while others were hidden */
			child = script_below(model, at, function);
		if (!child)
			break;
		at = child;
	}
	vec_deinit(&seen);
	return at;
}

uint32_t app_function(const struct app *app)
{
	return app->model && app->selection.frame
		       ? model_function_of(app->model, app->selection.frame)
		       : 0;
}

void app_select(struct app *app, uint32_t frame)
{
	app->selection.frame = frame;
	app->selection.path.len = 0;
	app->selection.is_default = false;
}

static bool has_function(const struct model *model, uint32_t function)
{
	for (size_t i = 0; i < model->functions.len; i++)
		if (model->functions.data[i].function == function)
			return true;
	return false;
}

void app_select_script(struct app *app, const struct model *next)
{
	struct app_selection *selection = &app->selection;
	uint32_t function = app_function(app);
	bool begins_to_hide = next->names->hides_native && app->model && !app->model->is_flat &&
			      !app->model->names->hides_native;
	if (!begins_to_hide || !function || selection->is_default ||
		is_script(next, selection->frame))
		return;
	if (!selection->path.len && has_function(next, model_function_of(next, selection->frame)))
		return;
	if (!selection->path.len)
		path_to(&app->model->names->tree, hottest_place(app, function), &selection->path);
	struct path seen = {0};
	app_put_seen_path(next, &selection->path, &seen);
	if (seen.len)
		selection->frame = seen.data[seen.len - 1];
	vec_deinit(&seen);
}

void app_select_node(struct app *app, uint32_t node)
{
	const struct tree *tree = &app->model->names->tree;
	path_to(tree, node, &app->selection.path);
	app->selection.frame = tree->nodes.data[node].frame;
	app->selection.is_default = false;
}

uint32_t app_node(const struct app *app)
{
	return app->model ? follow(app->model, &app->selection.path) : 0;
}

uint32_t app_zoomed_node(const struct app *app)
{
	const struct path *zoom = trail_zoom(&app->trail, false);
	return app->model && zoom ? follow(app->model, zoom) : 0;
}

void app_zoom(struct app *app, uint32_t node)
{
	struct trail_step step = {.is_zoom = true};
	path_to(&app->model->names->tree, node, &step.zoom);
	trail_add(&app->trail, &step);
	vec_deinit(&step.zoom);
}

void app_zoom_callers(struct app *app, const struct path *path)
{
	struct trail_step step = {.is_zoom = true, .is_inverted = true, .zoom = *path};
	trail_add(&app->trail, &step);
}

void app_zoom_both(struct app *app, const struct path *path, bool is_inverted)
{
	struct trail_step step = {
		.is_zoom = true, .is_inverted = is_inverted, .is_of_both = true, .zoom = *path};
	trail_add(&app->trail, &step);
}
