/*
 * One function, its callers above and what it calls below; where there is room, beside the list of
 * the hottest.
 */
#include "report/tui/app_state.h"
#include "report/tui/renewal.h"
#include "report/tui/view/branch_list.h"
#include "report/tui/view/function_list.h"

enum {
	ROOM_FOR_FUNCTIONS = 150, /* columns, of which they take a third */
	FUNCTIONS_GAP = 2,
};

struct butterfly {
	struct branch_list list;
	struct function_list functions;
	bool has_functions;   /* as it was drawn last */
	uint32_t centre;      /* a frame of the function in the middle; 0: there is none */
	VEC(uint32_t) former; /* centres */
	unsigned shown;       /* app's, when it was looked at */
};

static void *butterfly_create(void)
{
	return mem_zalloc(sizeof(struct butterfly));
}

static void butterfly_destroy(void *state)
{
	struct butterfly *butterfly = state;
	branch_list_deinit(&butterfly->list);
	function_list_deinit(&butterfly->functions);
	vec_deinit(&butterfly->former);
	mem_free(butterfly);
}

/* ---- the centre ---- */

static uint32_t centre_function(const struct butterfly *butterfly, const struct app *app)
{
	return butterfly->centre ? model_function_of(app->model, butterfly->centre) : 0;
}

static struct function_weight view_butterfly_weight_of(const struct app *app, uint32_t function)
{
	vec_each(&app->model->functions, weight)
		if (weight->function == function)
			return *weight;
	return (struct function_weight){.function = function};
}

static void set_part(
	struct butterfly *butterfly, struct app *app, enum branch_part part, uint32_t function)
{
	struct branches_origin origin = {
		.direction = part == BRANCH_ABOVE ? FOCUS_CALLERS : FOCUS_CALLEES,
		.function = function,
		.folds = BRANCH_FOLDS_INLINED,
		.merges_recursion = true,
	};
	branches_set(&butterfly->list.parts[part], app->model, &origin, part == BRANCH_ABOVE);
}

/* The branches around the centre in the model as it is. */
static void view_butterfly_look(struct butterfly *butterfly, struct app *app)
{
	uint32_t function = centre_function(butterfly, app);
	const struct branches *below = &butterfly->list.parts[BRANCH_BELOW];
	if (!function || (below->model == app->model && below->origin.function == function))
		return;
	struct branch_row selected = branch_list_remember(&butterfly->list);
	set_part(butterfly, app, BRANCH_ABOVE, function);
	set_part(butterfly, app, BRANCH_BELOW, function);
	butterfly->list.centre = view_butterfly_weight_of(app, function);
	branch_list_recall(&butterfly->list, selected);
}

/* To both sides down to where the time divides: who calls it, and for what, at a glance. */
static void open_hot_paths(struct butterfly *butterfly)
{
	for (int part = 0; part < BRANCH_PARTS; part++) {
		struct branches *branches = &butterfly->list.parts[part];
		if (branches->model && branches->top != BRANCH_NONE)
			branches_open_hot_path(branches, branches->top, 0.5);
	}
	branch_list_fill(&butterfly->list);
}

/* What is selected in a group stays that of the group: other views go on there. */
static void view_butterfly_select(struct app *app, uint32_t frame)
{
	bool is_same = model_function_of(app->model, frame) == app_function(app);
	app_select_in_group(app, frame, is_same ? app->selection.group : 0);
}

static void go_to(struct butterfly *butterfly, struct app *app, uint32_t frame)
{
	butterfly->centre = frame;
	view_butterfly_select(app, frame);
	for (int part = 0; part < BRANCH_PARTS; part++)
		branches_forget(&butterfly->list.parts[part]);
	butterfly->list.rows.len = 0; /* nothing of it is to be found again */
	view_butterfly_look(butterfly, app);
	open_hot_paths(butterfly);
	branch_list_select(&butterfly->list, (struct branch_row){BRANCH_BELOW, 0});
	butterfly->list.is_to_be_centred = true;
}

static void remember_centre(struct butterfly *butterfly)
{
	enum {
		MANY = 100
	};
	if (!butterfly->centre)
		return;
	if (butterfly->former.len == MANY) {
		butterfly->former.len--;
		memmove(butterfly->former.data, butterfly->former.data + 1,
			butterfly->former.len * sizeof(*butterfly->former.data));
	}
	vec_push(&butterfly->former, butterfly->centre);
}

static void view_butterfly_tell_selection(struct butterfly *butterfly, struct app *app)
{
	const struct focus_node *node = branch_list_selected(&butterfly->list);
	if (node && node->frame)
		view_butterfly_select(app, node->frame);
}

static void butterfly_update(void *state, struct app *app)
{
	struct butterfly *butterfly = state;
	bool is_entered = app->shown != butterfly->shown;
	butterfly->shown = app->shown;
	function_list_forget(&butterfly->functions);
	view_butterfly_look(butterfly, app);
	uint32_t function = app_function(app);
	const struct focus_node *node = branch_list_selected(&butterfly->list);
	/* Then what was selected is what calls it. */
	bool is_hidden = app->model->names->hides_native && !butterfly->list.centre.samples &&
			 view_butterfly_weight_of(app, function).samples;
	if ((!is_entered && !is_hidden) || !function) {
		view_butterfly_tell_selection(butterfly, app);
		return;
	}
	butterfly->former.len = 0;
	if (function != centre_function(butterfly, app))
		go_to(butterfly, app, app->selection.frame);
	else if (!node || node->function != function)
		branch_list_select(&butterfly->list, (struct branch_row){BRANCH_BELOW, 0});
}

static void butterfly_renew(void *state, const struct renewal *renewal)
{
	struct butterfly *butterfly = state;
	size_t kept = 0;
	branch_list_renew(&butterfly->list, renewal);
	butterfly->centre = renewal_frame(renewal, butterfly->centre);
	vec_each(&butterfly->former, former)
		if ((*former = renewal_frame(renewal, *former)))
			butterfly->former.data[kept++] = *former;
	butterfly->former.len = kept;
}

/* ---- drawing ---- */

static const char title[] = "callers ▲ function ▼ callees";

/* In groups, too, each function once: the centre is that of all of them. Returns what is left. */
static struct rect draw_functions(
	struct butterfly *butterfly, struct app *app, struct grid *grid, struct rect area)
{
	butterfly->has_functions = area.width >= ROOM_FOR_FUNCTIONS;
	if (!butterfly->has_functions)
		return area;
	struct rect functions = area;
	functions.width = area.width / 3;
	function_list_draw(
		&butterfly->functions, app, grid, functions, centre_function(butterfly, app));
	area.x += functions.width + FUNCTIONS_GAP;
	area.width -= functions.width + FUNCTIONS_GAP;
	return area;
}

static void butterfly_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct butterfly *butterfly = state;
	butterfly->has_functions = false;
	if (!centre_function(butterfly, app)) {
		grid_put(grid, area.x, area.y, area.width, STYLE_WARNING,
			"select a function first: 1 shows them all");
		return;
	}
	area = draw_functions(butterfly, app, grid, area);
	branch_list_draw(&butterfly->list, app, grid, area, title);
	if (!butterfly->list.centre.samples && area.height > 2)
		grid_put(grid, area.x, area.y + area.height - 1, area.width, STYLE_WARNING,
			"no samples of it here: Esc undoes the last filter");
}

static void butterfly_print(void *state, struct app *app, struct str *out)
{
	struct butterfly *butterfly = state;
	branch_list_print(&butterfly->list, app, title, out);
}

/* ---- input ---- */

static void view_butterfly_enter(struct butterfly *butterfly, struct app *app)
{
	const struct focus_node *node = branch_list_selected(&butterfly->list);
	if (!node || !node->frame)
		return;
	if (branch_list_enter_inlined(&butterfly->list, app)) {
		view_butterfly_tell_selection(butterfly, app);
		return;
	}
	if (node->function == centre_function(butterfly, app)) {
		app_warn(app, "this is the function in the middle");
		return;
	}
	remember_centre(butterfly);
	go_to(butterfly, app, node->frame);
}

/* To one of the list beside. */
static void view_butterfly_turn_to(struct butterfly *butterfly, struct app *app, uint32_t frame)
{
	if (!frame || model_function_of(app->model, frame) == centre_function(butterfly, app))
		return;
	remember_centre(butterfly);
	go_to(butterfly, app, frame);
}

/* Among its callers and callees; else another function comes into the middle. */
static void view_butterfly_go_to_hottest_match(struct butterfly *butterfly, struct app *app)
{
	const struct model *model = app->model;
	struct word_order order = model_hottest_first(model);
	uint32_t count = (uint32_t)model->functions.len, best = count;
	branch_list_act(&butterfly->list, app, ACTION_HOTTEST_MATCH);
	const struct focus_node *node = branch_list_selected(&butterfly->list);
	if (!model->matches || (node && model->matches[node->function])) {
		view_butterfly_tell_selection(butterfly, app);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		if (model->matches[model->functions.data[i].function] &&
			(best == count || word_less(&order, i, best)))
			best = i;
	if (best == count)
		return;
	str_truncate(&app->message, 0);
	view_butterfly_turn_to(butterfly, app, model->functions.data[best].frame);
}

static bool view_butterfly_go_back(struct butterfly *butterfly, struct app *app)
{
	if (!butterfly->former.len)
		return false;
	go_to(butterfly, app, butterfly->former.data[--butterfly->former.len]);
	return true;
}

static void say_end_of_functions(const struct butterfly *butterfly, struct app *app, int step)
{
	if (step < 0)
		app_say(app, "no function is hotter");
	else if (function_list_is_cut(&butterfly->functions, app->model))
		app_say(app, "these are the %zu hottest: 1 shows all functions",
			butterfly->functions.rows.len);
	else
		app_say(app, "no function is less hot");
}

static bool butterfly_act(void *state, struct app *app, enum action action)
{
	struct butterfly *butterfly = state;
	if (action == ACTION_UNDO)
		return view_butterfly_go_back(butterfly, app);
	if (action == ACTION_ENTER) {
		view_butterfly_enter(butterfly, app);
		return true;
	}
	if (action == ACTION_NEXT_FUNCTION || action == ACTION_PREVIOUS_FUNCTION) {
		int step = action == ACTION_NEXT_FUNCTION ? 1 : -1;
		uint32_t next = function_list_next(
			&butterfly->functions, app->model, centre_function(butterfly, app), step);
		view_butterfly_turn_to(butterfly, app, next);
		if (!next)
			say_end_of_functions(butterfly, app, step);
		return true;
	}
	if (action == ACTION_HOTTEST_MATCH) {
		view_butterfly_go_to_hottest_match(butterfly, app);
		return true;
	}
	if (!branch_list_act(&butterfly->list, app, action))
		return false;
	view_butterfly_tell_selection(butterfly, app);
	return true;
}

static bool butterfly_mouse(void *state, struct app *app, const struct input *input)
{
	struct butterfly *butterfly = state;
	uint32_t frame;
	if (butterfly->has_functions && function_list_mouse(&butterfly->functions, input, &frame)) {
		view_butterfly_turn_to(butterfly, app, frame);
		return false;
	}
	enum branch_click click = branch_list_mouse(&butterfly->list, app, input);
	if (click != BRANCH_CLICK_NONE)
		view_butterfly_tell_selection(butterfly, app);
	return click == BRANCH_CLICK_ROW;
}

static const enum action hints[] = {ACTION_ENTER, ACTION_UNDO, ACTION_TOGGLE, ACTION_EXPAND_ALL,
	ACTION_FOLD, ACTION_UNIT, ACTION_NEXT_VIEW, ACTION_NONE};

static const struct view_word words[] = {{ACTION_ENTER, "centre"}, {ACTION_NONE, NULL}};

const struct view view_butterfly = {
	.name = "Butterfly",
	.create = butterfly_create,
	.destroy = butterfly_destroy,
	.update = butterfly_update,
	.renew = butterfly_renew,
	.draw = butterfly_draw,
	.act = butterfly_act,
	.mouse = butterfly_mouse,
	.print = butterfly_print,
	.hints = hints,
	.words = words,
};
