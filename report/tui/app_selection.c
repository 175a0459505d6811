/* What is selected and where the zoom leads, through models whose ids are others each time. */
#include "report/tui/app.h"

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
	for (size_t i = 0; i < path->len; i++) {
		uint32_t function = model_function_of(model, path->data[i]);
		uint32_t child = child_of(model, at, function, INLINED_LEVELS);
		if (!child)
			break;
		at = child;
	}
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
