/* The call tree as an icicle: what calls stands above what is called, as wide as its share. */
#include <string.h>

#include "report/tui/renewal.h"
#include "report/tui/view/flame_view.h"
#include "report/tui/view/focus_selection.h"
#include "report/tui/view/view_action.h"
#include "report/write/export/flame_svg.h"

static void *flame_create(void)
{
	return mem_zalloc(sizeof(struct flame_view));
}

static void flame_destroy(void *state)
{
	struct flame_view *view = state;
	flame_view_forget(view);
	vec_deinit(&view->path);
	mem_free(view);
}

/* ---- nodes in a new tree ---- */

static uint32_t view_flame_find_selected(struct flame_view *view, const struct app *app)
{
	uint32_t function = app->selection.is_default ? 0 : app_function(app);
	if (!view->is_inverted && !function) /* the roots are in sight */
		return 0;
	if (!view->is_inverted) {
		bool is_whole;
		uint32_t node = app_node(app);
		if (!app->selection.path.len)
			node = app_hottest_node(app, function);
		return focus_find(&view->focus, node, &is_whole);
	}
	const struct path *path = &view->path;
	if (!function ||
		(path->len && model_function_of(app->model, path->data[path->len - 1]) == function))
		return focus_follow(&view->focus, app->model, path);
	return focus_child(&view->focus, 0, function);
}

static void sum_kinds(struct flame_view *view)
{
	const struct model *model = view->model;
	memset(view->kind_selfs, 0, sizeof(view->kind_selfs));
	vec_each(&model->functions, row)
		view->kind_selfs[model->names->kinds[row->function]] += row->self;
}

static void flame_update(void *state, struct app *app)
{
	struct flame_view *view = state;
	const struct model *model = app->model;
	const struct tree *tree = &model->names->tree;
	const struct profile_function *functions = model->names->functions.data;
	uint32_t zoomed = app_zoomed_node(app), root = 0;
	bool is_whole;
	flame_view_forget(view);
	view->model = model;
	sum_kinds(view);
	if (view->is_inverted) {
		focus_init_leaves(&view->focus, tree, model->weights, functions, zoomed);
		root = focus_follow(&view->focus, model, trail_zoom(&app->trail, true));
	} else {
		focus_init(&view->focus, tree, model->weights, functions, FOCUS_CALLEES);
		root = focus_find(&view->focus, zoomed, &is_whole);
	}
	view->selected = view_flame_find_selected(view, app);
	flame_view_zoom(view, root);
}

static void flame_renew(void *state, const struct renewal *renewal)
{
	struct flame_view *view = state;
	renewal_path(renewal, &view->path);
}

static void flame_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	flame_view_draw(state, app, grid, area);
}

static void view_flame_tell_selection(struct flame_view *view, struct app *app)
{
	if (view->is_inverted)
		focus_path(&view->focus, view->selected, &view->path);
	app_select_node(app, focus_hottest_place(&view->focus, view->selected));
}

/* ---- input ---- */

static void view_flame_zoom(void *state, struct app *app, enum action action)
{
	(void)action;
	struct flame_view *view = state;
	uint32_t node = flame_view_entered(view);
	if (node == view->root) {
		app_warn(app, "this is all that is seen; Esc goes back");
		return;
	}
	focus_zoom(&view->focus, app, node);
	flame_view_zoom(view, node);
}

static void view_flame_invert(void *state, struct app *app, enum action action)
{
	(void)action;
	struct flame_view *view = state;
	view->is_inverted = !view->is_inverted;
	view->path.len = 0;
	view->top = 0;
	view->keeps_sight = true;
	flame_update(view, app);
}

static const struct view_action actions[] = {
	{ACTION_ENTER, view_flame_zoom},
	{ACTION_INVERT, view_flame_invert},
	{ACTION_NONE, NULL},
};

static bool flame_act(void *state, struct app *app, enum action action)
{
	struct flame_view *view = state;
	if (view_action_run(actions, view, app, action))
		return true;
	if (!flame_view_act(view, app, action))
		return false;
	view_flame_tell_selection(view, app);
	return true;
}

/* The only file that has frames of a kind; 0: there are several, or none. */
static uint32_t object_of_kind(const struct model *model, enum frame_kind kind)
{
	uint32_t found = 0;
	vec_each(&model->functions, row) {
		uint32_t object = model_function(model, row->function)->object;
		if (model->names->kinds[row->function] != kind || object == found)
			continue;
		if (found)
			return 0;
		found = object;
	}
	return found;
}

/* As d does in a function of that language, and K in one of the kernel. */
static void keep_only_kind(struct flame_view *view, struct app *app, enum frame_kind kind)
{
	struct scope_term term = {.kind = SCOPE_KERNEL};
	if (frame_kind_is_script(kind))
		term = (struct scope_term){
			.kind = SCOPE_OBJECT, .number = object_of_kind(view->model, kind)};
	if (kind == FRAME_KERNEL || term.number)
		app_filter(app, &term);
	else
		app_say(app, "%s: d keeps the file of what is selected", frame_kinds[kind].text);
}

static bool flame_mouse(void *state, struct app *app, const struct input *input)
{
	struct flame_view *view = state;
	enum frame_kind kind = flame_view_legend_at(view, input);
	if (kind != FRAME_KINDS_END) {
		keep_only_kind(view, app, kind);
		return false;
	}
	if (!flame_view_mouse(view, input))
		return false;
	view_flame_tell_selection(view, app);
	return true;
}

/* ---- */

static void flame_print(void *state, struct app *app, struct str *out)
{
	struct flame_view *view = state;
	const struct model *model = app->model;
	struct flame_svg_options options = {
		.title = app->options->file_name,
		.root = view->root,
		.order = view->order,
		.objects = model->names->objects.data,
		.nr_functions = model->names->functions.len,
		.frames = model->names->frames.data,
		.matches = model->matches,
		.whole = model->slice.whole.value,
	};
	flame_svg_put(&view->focus, &options, out);
}

static const enum action hints[] = {ACTION_ENTER, ACTION_UNDO, ACTION_INVERT, ACTION_SORT_REVERSE,
	ACTION_GROUP, ACTION_WHOLE_NAME, ACTION_PRINT, ACTION_NONE};

static const struct view_word words[] = {
	{ACTION_SORT_REVERSE, "by total, name"}, {ACTION_NONE, NULL}};

const struct view view_flame = {
	.name = "Flame",
	.create = flame_create,
	.destroy = flame_destroy,
	.update = flame_update,
	.renew = flame_renew,
	.draw = flame_draw,
	.act = flame_act,
	.mouse = flame_mouse,
	.print = flame_print,
	.print_suffix = "svg",
	.hints = hints,
	.words = words,
};
