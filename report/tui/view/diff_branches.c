/* The call trees of both recordings as one: where in it the time came and went. */
#include <math.h>

#include "report/tui/view/diff.h"
#include "report/tui/view/focus_selection.h"
#include "report/tui/view/view_action.h"

enum {
	ROOM_FOR_NEW = 46, /* below, the share of the new side goes, then that of the base */
	ROOM_FOR_BASE = 56,
	SHARE = 9, /* columns */
	DELTA = 11,
};

static struct branches *branches_of(struct diff *diff)
{
	return &diff->branches.parts[BRANCH_BELOW];
}

/* ---- numbers ---- */

static struct compare_row diff_branches_row_of(struct branch_list *list, struct branch_row row)
{
	struct diff *diff = list->context;
	return diff_focus_row(&diff->branch_sides, row.node);
}

static int place_numbers(struct branch_list *list, struct rect area)
{
	int *number_x = list->columns.number_x, x = area.x;
	number_x[0] = x;
	number_x[1] = x += area.width >= ROOM_FOR_BASE ? SHARE : 0;
	number_x[2] = x += area.width >= ROOM_FOR_NEW ? SHARE : 0;
	return x + DELTA;
}

static void diff_branches_put_number(const struct branch_list *list, struct grid *grid, int y,
	int number, unsigned style, const char *text)
{
	const int *number_x = list->columns.number_x;
	int end = number < 2 ? number_x[number + 1] : list->columns.name_x;
	grid_put_right(grid, number_x[number], y, end - number_x[number] - 1, style, text);
}

static void diff_branches_draw_header(const struct branch_list *list, struct grid *grid, int y)
{
	diff_branches_put_number(list, grid, y, 0, STYLE_HEADER, "before");
	diff_branches_put_number(list, grid, y, 1, STYLE_HEADER, "new");
	diff_branches_put_number(list, grid, y, 2, STYLE_HEADER | STYLE_BOLD, "change");
}

static void diff_branches_draw_numbers(struct branch_list *list, const struct app *app,
	struct grid *grid, int y, struct branch_row at)
{
	struct compare_row row = diff_branches_row_of(list, at);
	for (int side = 0; side < MATCH_SIDES; side++) {
		CLEANUP(str_deinit) struct str value = {0};
		diff_put_value(app, &row, (enum match_side)side, COMPARE_TOTAL, &value);
		diff_branches_put_number(list, grid, y, side, STYLE_NORMAL, str_text(&value));
	}
	CLEANUP(str_deinit) struct str delta = {0};
	diff_put_delta(list->context, app, &row, COMPARE_TOTAL, &delta);
	diff_branches_put_number(
		list, grid, y, 2, diff_delta_style(app, &row, COMPARE_TOTAL), str_text(&delta));
}

static unsigned diff_branches_name_style(
	struct branch_list *list, const struct app *app, struct branch_row at)
{
	struct compare_row row = diff_branches_row_of(list, at);
	const struct model *both = diff_both(app);
	uint32_t function = branches_node(&list->parts[at.part], at.node)->function;
	bool is_match = both->matches && both->matches[function];
	if (both->nr_matches && !is_match)
		return STYLE_DIM;
	return diff_delta_style(app, &row, COMPARE_TOTAL) | (is_match ? STYLE_MATCH : 0);
}

static const char *diff_branches_remark_of(struct branch_list *list, struct branch_row at)
{
	struct compare_row row = diff_branches_row_of(list, at);
	return !row.base.samples ? "(new) " : !row.new.samples ? "(removed) " : "";
}

static void print_header(struct str *out)
{
	str_printf(out, "%9s %9s %10s", "before", "new", "change");
}

static void print_numbers(
	struct branch_list *list, const struct app *app, struct branch_row at, struct str *out)
{
	struct compare_row row = diff_branches_row_of(list, at);
	CLEANUP(str_deinit) struct str base = {0}, new = {0}, delta = {0};
	diff_put_value(app, &row, MATCH_BASE, COMPARE_TOTAL, &base);
	diff_put_value(app, &row, MATCH_NEW, COMPARE_TOTAL, &new);
	diff_put_delta(list->context, app, &row, COMPARE_TOTAL, &delta);
	str_printf(out, "%9s %9s %10s", str_text(&base), str_text(&new), str_text(&delta));
}

static const struct branch_numbers numbers = {
	.place = place_numbers,
	.draw_header = diff_branches_draw_header,
	.draw = diff_branches_draw_numbers,
	.name_style = diff_branches_name_style,
	.remark = diff_branches_remark_of,
	.print_header = print_header,
	.print = print_numbers,
};

/* ---- models ---- */

/* As long as the user has not chosen what to open: down to where the change divides. */
static void diff_branches_open_first(struct diff *diff, const struct app *app)
{
	enum {
		LEVELS = 64
	};
	struct branches *branches = branches_of(diff);
	uint32_t at = branches->top;
	if (diff->branches.is_touched)
		return;
	double least = 0;
	for (int level = 0; level < LEVELS; level++) {
		double most = 0;
		uint32_t next = 0;
		focus_expand(&branches->focus, at);
		for (uint32_t child = branches_node(branches, at)->first_child; child;
			child = branches_node(branches, child)->next_sibling) {
			struct compare_row row = diff_focus_row(&diff->branch_sides, child);
			double delta = fabs(diff_delta(app, &row, COMPARE_TOTAL));
			next = delta > most ? child : next;
			most = delta > most ? delta : most;
		}
		if (!next || most < least || !branches_open(branches, at))
			break;
		least = most / 2;
		at = next;
	}
	branch_list_fill(&diff->branches);
}

/* The branches' focus is there when it is asked for ranks first. */
static void begin_sides(struct diff *diff)
{
	const struct comparison *comparison = diff->app->model->comparison;
	const struct tree_weight *const sides[] = {
		comparison->sides[MATCH_BASE],
		comparison->sides[MATCH_NEW],
	};
	if (!diff->branch_sides.both)
		diff_focus_init(&diff->branch_sides, diff_both(diff->app)->names->diff,
			&branches_of(diff)->focus, sides, diff_compare(diff->app));
}

static double diff_branches_rank_of(void *context, uint32_t node)
{
	struct diff *diff = context;
	begin_sides(diff);
	struct compare_row row = diff_focus_row(&diff->branch_sides, node);
	return fabs(diff_delta(diff->app, &row, COMPARE_TOTAL));
}

static void diff_branches_set_model(struct diff *diff, struct app *app)
{
	struct branches *branches = branches_of(diff);
	struct branches_origin origin = {
		.direction = diff->is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES,
		.rank = diff_branches_rank_of,
		.rank_context = diff,
	};
	struct branch_row selected = branch_list_remember(&diff->branches);
	diff->app = app;
	diff->ranked_unit = app->unit;
	diff->branches.numbers = &numbers;
	diff->branches.context = diff;
	diff_focus_deinit(&diff->branch_sides);
	branches_set(branches, diff_both(app), &origin, false);
	begin_sides(diff);
	branches_zoom(branches, diff_zoomed(diff, app, &branches->focus));
	branch_list_recall(&diff->branches, selected);
	if (branches_node(branches, branches->top)->total)
		diff_branches_open_first(diff, app);
}

/* Goes to what was selected elsewhere. */
static void diff_branches_follow_selection(struct diff *diff, struct app *app)
{
	struct branches *branches = branches_of(diff);
	const struct focus_node *node = branch_list_selected(&diff->branches);
	uint32_t function = diff_selected_function(app), place = diff_selected_place(app);
	if (!node || !function || node->function == function) {
		diff_select_node(app, node);
		return;
	}
	struct branch_row row = {.part = BRANCH_BELOW};
	if (diff->is_inverted)
		row.node = branches->top ? branches->top : branches_child(branches, 0, function);
	else
		row.node = place ? branches_find_place(branches, place) : BRANCH_NONE;
	if (row.node != BRANCH_NONE)
		branch_list_select(&diff->branches, row);
}

static void tree_form_update(void *state, struct app *app)
{
	struct diff *diff = state;
	struct branches *branches = branches_of(diff);
	bool is_inverted = branches->origin.direction == FOCUS_CALLERS;
	if (branches->model != diff_both(app) || is_inverted != diff->is_inverted ||
		diff->ranked_unit != app->unit ||
		branches->top != diff_zoomed(diff, app, &branches->focus))
		diff_branches_set_model(diff, app);
	diff_branches_follow_selection(diff, app);
}

/* ---- input ---- */

static void diff_branches_enter(void *state, struct app *app, enum action action)
{
	(void)action;
	struct diff *diff = state;
	struct branch_row row = branch_list_row(&diff->branches);
	struct branches *branches = branches_of(diff);
	if (row.node == BRANCH_NONE || row.node == branches->top) {
		app_warn(app, "this is the branch that is shown: Esc undoes the zoom");
		return;
	}
	diff_zoom(app, &branches->focus, row.node);
	tree_form_update(diff, app);
}

static void diff_branches_invert(void *state, struct app *app, enum action action)
{
	(void)action;
	struct diff *diff = state;
	diff->is_inverted = !diff->is_inverted;
	tree_form_update(diff, app);
}

static void diff_branches_unit(void *state, struct app *app, enum action action)
{
	(void)action;
	diff_next_unit(state, app);
	tree_form_update(state, app); /* the order is that of what is shown */
}

static const struct view_action actions[] = {
	{ACTION_ENTER, diff_branches_enter},
	{ACTION_INVERT, diff_branches_invert},
	{ACTION_UNIT, diff_branches_unit},
	{ACTION_NONE, NULL},
};

static bool tree_form_act(void *state, struct app *app, enum action action)
{
	struct diff *diff = state;
	if (view_action_run(actions, diff, app, action))
		return true;
	if (!branch_list_act(&diff->branches, app, action))
		return false;
	diff_select_node(app, branch_list_selected(&diff->branches));
	return true;
}

static bool tree_form_mouse(void *state, struct app *app, const struct input *input)
{
	struct diff *diff = state;
	enum branch_click click = branch_list_mouse(&diff->branches, app, input);
	if (click != BRANCH_CLICK_NONE)
		diff_select_node(app, branch_list_selected(&diff->branches));
	return click == BRANCH_CLICK_ROW;
}

/* ---- drawing ---- */

static const char *diff_branches_title_of(const struct diff *diff)
{
	return diff->is_inverted ? "function ▼ callers" : "function ▼ callees";
}

static void tree_form_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct diff *diff = state;
	branch_list_draw(&diff->branches, app, grid, area, diff_branches_title_of(diff));
}

static void tree_form_print(void *state, struct app *app, struct str *out)
{
	struct diff *diff = state;
	branch_list_print(&diff->branches, app, diff_branches_title_of(diff), out);
}

static void tree_form_detail(void *state, struct app *app, struct str *out)
{
	struct diff *diff = state;
	const struct focus_node *node = branch_list_selected(&diff->branches);
	if (!node)
		return;
	struct compare_row row =
		diff_focus_row(&diff->branch_sides, branch_list_row(&diff->branches).node);
	diff_put_node(diff, app, branch_list_selected(&diff->branches), &row, out);
}

static size_t tree_form_count_matches(const void *state, const struct app *app, size_t *number)
{
	const struct diff *diff = state;
	const struct focus_node *node = branch_list_selected(&diff->branches);
	return diff_count_matches(app, node ? node->function : 0, number);
}

const struct view diff_branches = {
	.name = "tree",
	.update = tree_form_update,
	.draw = tree_form_draw,
	.act = tree_form_act,
	.mouse = tree_form_mouse,
	.print = tree_form_print,
	.detail = tree_form_detail,
	.count_matches = tree_form_count_matches,
	.is_of_both = true,
};
