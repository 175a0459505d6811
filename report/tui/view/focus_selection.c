#include "report/tui/view/focus_selection.h"

void focus_path(const struct focus *focus, uint32_t node, struct path *ret)
{
	uint32_t depth = focus->nodes.data[node].depth;
	vec_resize(ret, depth);
	for (uint32_t at = node; depth; at = focus->nodes.data[at].parent)
		ret->data[--depth] = focus->nodes.data[at].frame;
}

uint32_t focus_follow(struct focus *focus, const struct model *model, const struct path *path)
{
	uint32_t at = 0;
	struct path seen = {0};
	if (path)
		model_path_seen(model, path, &seen);
	for (size_t i = 0; i < seen.len; i++) {
		uint32_t child = focus_child(focus, at, model_function_of(model, seen.data[i]));
		if (!child)
			break;
		at = child;
	}
	vec_deinit(&seen);
	return at;
}

void focus_zoom(const struct focus *focus, struct app *app, uint32_t node)
{
	if (focus->direction == FOCUS_CALLEES) {
		app_zoom(app, focus_hottest_place(focus, node));
		return;
	}
	struct path path = {0};
	focus_path(focus, node, &path);
	app_zoom_callers(app, &path);
	vec_deinit(&path);
}
