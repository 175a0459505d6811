/*
 * The call tree: from the outermost functions to what they call, or turned over, from where time
 * was spent up to the callers.
 */
#include "report/tui/app_state.h"
#include "report/tui/renewal.h"
#include "report/tui/view/branch_list.h"
#include "report/tui/view/focus_selection.h"
#include "report/tui/view/view_action.h"

struct tree_view {
	struct branch_list sides[2]; /* by is_inverted */
	bool is_inverted, has_begun;
	/* Selected only because what had been selected is not on this side; 0: it is not so. */
	uint32_t stand_in;
};

static void *tree_create(void)
{
	return mem_zalloc(sizeof(struct tree_view));
}

static void tree_destroy(void *state)
{
	struct tree_view *view = state;
	branch_list_deinit(&view->sides[0]);
	branch_list_deinit(&view->sides[1]);
	mem_free(view);
}

static struct branch_list *view_tree_side_of(struct tree_view *view)
{
	return &view->sides[view->is_inverted];
}

/* ---- the selection ---- */

static void view_tree_tell_selection(struct tree_view *view, struct app *app)
{
	struct branch_list *list = view_tree_side_of(view);
	const struct focus_node *node = branch_list_selected(list);
	if (!node || !node->function)
		return;
	uint32_t place = branches_place(&list->parts[BRANCH_BELOW], branch_list_node(list));
	if (!view->is_inverted && place)
		app_select_node(app, place);
	else
		app_select(app, node->frame);
}

static uint32_t view_tree_find_selected(struct tree_view *view, const struct app *app)
{
	struct branches *branches = &view_tree_side_of(view)->parts[BRANCH_BELOW];
	uint32_t function = app_function(app), place = app_node(app);
	if (view->is_inverted && focus_has_leaves_in_groups(&branches->focus)) {
		uint32_t group = model_function_of(app->model, app->selection.group);
		uint32_t node = branches->top ? branches->top : branches_child(branches, 0, group);
		uint32_t leaf = node == BRANCH_NONE || function == group
					? BRANCH_NONE
					: branches_child(branches, node, function);
		return leaf == BRANCH_NONE ? node : leaf;
	}
	if (view->is_inverted)
		return branches->top ? branches->top : branches_child(branches, 0, function);
	if (!place)
		place = app_hottest_node(app, function);
	return place ? branches_find_place(branches, place) : BRANCH_NONE;
}

/* Goes to what was selected in another view, unless that is selected here. */
static void view_tree_follow_selection(struct tree_view *view, struct app *app)
{
	struct branch_list *list = view_tree_side_of(view);
	const struct focus_node *node = branch_list_selected(list);
	uint32_t function = app->selection.is_default ? 0 : app_function(app);
	if (!node || !function) { /* the user has chosen none yet, nor is that a choice */
		view_tree_tell_selection(view, app);
		app->selection.is_default = true;
		return;
	}
	struct branch_row row = branch_list_row(list);
	uint32_t place = view->is_inverted ? 0 : app_node(app);
	bool is_path_whole =
		place && app->model->names->tree.nodes.data[place].function == function;
	if (node->function == function &&
		(!is_path_whole ||
			branches_place(&list->parts[row.part], branch_list_node(list)) == place)) {
		view_tree_tell_selection(view, app); /* with the path that it has now */
		return;
	}
	row.node = view_tree_find_selected(view, app);
	if (row.node != BRANCH_NONE) {
		branch_list_select(list, row);
		return;
	}
	view_tree_tell_selection(view, app);
	view->stand_in = app->selection.frame;
}

/* ---- models ---- */

static bool is_current(const struct branches *branches, const struct app *app)
{
	return branches->model == app->model && branches->origin.node == app_zoomed_node(app);
}

/* Where a zoom from a leaf to its callers leads, as far as that is still there. */
static uint32_t zoomed_caller(struct branches *branches, const struct app *app)
{
	return focus_follow(&branches->focus, app->model, trail_zoom(&app->trail, true));
}

/* As long as the user has not chosen what to open: down to where the time divides. */
static void view_tree_open_first(struct branch_list *list)
{
	struct branches *branches = &list->parts[BRANCH_BELOW];
	if (list->is_touched || branches->top == BRANCH_NONE)
		return;
	branches_open_hot_path(branches, branches->top, 0.5);
	branch_list_fill(list);
}

static void tree_update(void *state, struct app *app)
{
	struct tree_view *view = state;
	if (!view->has_begun)
		view->is_inverted = app->options->is_inverted;
	view->has_begun = true;
	struct branch_list *list = view_tree_side_of(view);
	struct branches *branches = &list->parts[BRANCH_BELOW];
	bool is_same = is_current(branches, app);
	if (is_same && view->is_inverted)
		is_same = zoomed_caller(branches, app) == branches->top;
	if (!is_same) {
		struct branch_row selected = branch_list_remember(list);
		struct branches_origin origin = {
			.direction = view->is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES,
			.node = app_zoomed_node(app),
			.folds = BRANCH_FOLDS_CHAINS,
		};
		branches_set(branches, app->model, &origin, false);
		if (view->is_inverted)
			branches_zoom(branches, zoomed_caller(branches, app));
		branch_list_recall(list, selected);
		if (!view->is_inverted)
			view_tree_open_first(list);
	}
	view_tree_follow_selection(view, app);
}

/* ---- drawing ---- */

static const char *view_tree_title_of(struct tree_view *view)
{
	return view->is_inverted ? "function ▼ callers" : "function ▼ callees";
}

static void tree_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct tree_view *view = state;
	struct branch_list *list = view_tree_side_of(view);
	branch_list_draw(list, app, grid, area, view_tree_title_of(view));
	if (!list->rows.len)
		app_draw_no_samples(app, grid,
			(struct rect){area.x, area.y + (area.height > 1), area.width, 1});
}

static void tree_print(void *state, struct app *app, struct str *out)
{
	struct tree_view *view = state;
	branch_list_print(view_tree_side_of(view), app, view_tree_title_of(view), out);
}

/* ---- input ---- */

static void view_tree_zoom(void *state, struct app *app, enum action action)
{
	(void)action;
	struct tree_view *view = state;
	struct branch_list *list = view_tree_side_of(view);
	struct branch_row row = branch_list_row(list);
	if (row.node == BRANCH_NONE)
		return;
	if (branch_list_enter_inlined(list, app)) {
		view_tree_tell_selection(view, app);
		return;
	}
	struct branches *branches = &list->parts[row.part];
	uint32_t node = branch_list_node(list), place = branches_place(branches, node);
	if (node == branches->top || (!place && !view->is_inverted)) {
		app_warn(app, "this is the branch that is shown: Esc undoes the zoom");
		return;
	}
	focus_zoom(&branches->focus, app, node);
	tree_update(view, app);
}

static void view_tree_go_to_hottest_match(void *state, struct app *app, enum action action)
{
	struct tree_view *view = state;
	uint32_t node =
		view->is_inverted ? 0 : model_path_hottest_match(app->model, app_zoomed_node(app));
	if (node) {
		app_select_node(app, node);
		tree_update(view, app);
		return;
	}
	branch_list_act(view_tree_side_of(view), app, action);
	view_tree_tell_selection(view, app);
}

static void view_tree_invert(void *state, struct app *app, enum action action)
{
	(void)action;
	struct tree_view *view = state;
	/* Then the other side knows better. */
	if (view->stand_in && view->stand_in == app->selection.frame)
		app_select(app, 0);
	view->stand_in = 0;
	view->is_inverted = !view->is_inverted;
	tree_update(view, app);
}

static void tree_renew(void *state, const struct renewal *renewal)
{
	struct tree_view *view = state;
	branch_list_renew(&view->sides[0], renewal);
	branch_list_renew(&view->sides[1], renewal);
	view->stand_in = renewal_frame(renewal, view->stand_in);
}

static const struct view_action actions[] = {
	{ACTION_ENTER, view_tree_zoom},
	{ACTION_INVERT, view_tree_invert},
	{ACTION_HOTTEST_MATCH, view_tree_go_to_hottest_match},
	{ACTION_NONE, NULL},
};

static bool tree_act(void *state, struct app *app, enum action action)
{
	struct tree_view *view = state;
	if (view_action_run(actions, view, app, action))
		return true;
	if (!branch_list_act(view_tree_side_of(view), app, action))
		return false;
	view_tree_tell_selection(view, app);
	return true;
}

static bool tree_mouse(void *state, struct app *app, const struct input *input)
{
	struct tree_view *view = state;
	enum branch_click click = branch_list_mouse(view_tree_side_of(view), app, input);
	if (click != BRANCH_CLICK_NONE)
		view_tree_tell_selection(view, app);
	return click == BRANCH_CLICK_ROW;
}

static const enum action hints[] = {ACTION_ENTER, ACTION_TOGGLE, ACTION_EXPAND_ALL, ACTION_OPEN_ALL,
	ACTION_INVERT, ACTION_FOLD, ACTION_GROUP, ACTION_UNIT, ACTION_UNDO, ACTION_NEXT_VIEW,
	ACTION_NONE};

const struct view view_tree = {
	.name = "Tree",
	.create = tree_create,
	.destroy = tree_destroy,
	.update = tree_update,
	.renew = tree_renew,
	.draw = tree_draw,
	.act = tree_act,
	.mouse = tree_mouse,
	.print = tree_print,
	.hints = hints,
};
