/*
 * Both recordings as one flame graph: a frame is as wide as its shares of both together, so that
 * what is new and what has gone are seen side by side, and coloured by how its share changed.
 */
#include <string.h>

#include "format/base/path.h"
#include "report/tui/view/diff.h"
#include "report/tui/view/focus_selection.h"
#include "report/tui/view/view_action.h"
#include "report/write/export/flame_svg.h"

enum {
	GONE,
	MUCH_LESS,
	LESS,
	SAME,
	MORE,
	MUCH_MORE,
	NEW,
};

/* ---- boxes ---- */

static struct compare_row diff_flame_row_of(const struct flame_view *view, uint32_t node)
{
	struct diff *diff = view->context;
	return diff_focus_row(&diff->flame_sides, node);
}

static unsigned diff_flame_change_of(const struct app *app, const struct compare_row *row)
{
	enum {
		MUCH = COMPARE_STRENGTHS / 2
	};
	double points = compare_points(&diff_compare(app)->wholes, row, COMPARE_TOTAL);
	int direction = compare_direction(row, COMPARE_TOTAL);
	bool is_much = compare_strength(points * direction) >= MUCH;
	if (!direction)
		return SAME;
	if (!row->base.samples || !row->new.samples)
		return row->new.samples ? NEW : GONE;
	if (direction > 0)
		return is_much ? MUCH_MORE : MORE;
	return is_much ? MUCH_LESS : LESS;
}

static unsigned diff_flame_style_of(
	const struct flame_view *view, const struct app *app, uint32_t node)
{
	struct compare_row row = diff_flame_row_of(view, node);
	return STYLE_CHANGE + diff_flame_change_of(app, &row);
}

static const char *sign_of(const struct flame_view *view, const struct app *app, uint32_t node)
{
	static const char *const signs[] = {[GONE] = "-",
		[MUCH_LESS] = "<",
		[LESS] = "<",
		[MORE] = ">",
		[MUCH_MORE] = ">",
		[NEW] = "+"};
	struct compare_row row = diff_flame_row_of(view, node);
	return signs[diff_flame_change_of(app, &row)];
}

static void diff_flame_put_value(const struct flame_view *view, const struct app *app,
	const struct flame_box *box, struct str *out)
{
	if (box->count > 1)
		return;
	struct compare_row row = diff_flame_row_of(view, box->node);
	if (row.base.samples && row.new.samples)
		diff_put_delta(view->context, app, &row, COMPARE_TOTAL, out);
	else
		str_puts(out, row.new.samples ? "new" : "removed");
}

static const struct flame_paint paint = {diff_flame_style_of, diff_flame_put_value, sign_of};

/* ---- models ---- */

static void diff_flame_set_model(struct diff *diff, struct app *app)
{
	struct flame_view *view = &diff->flame;
	struct model *both = diff_both(app);
	const struct tree_weight *const sides[] = {
		app->model->comparison->sides[MATCH_BASE],
		app->model->comparison->sides[MATCH_NEW],
	};
	diff_focus_deinit(&diff->flame_sides);
	flame_view_forget(view);
	view->model = both;
	view->paint = &paint;
	view->context = diff;
	view->is_inverted = diff->is_inverted;
	focus_init(&view->focus, &both->names->tree, both->weights, both->names->functions.data,
		diff->is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES);
	diff_focus_init(
		&diff->flame_sides, both->names->diff, &view->focus, sides, diff_compare(app));
}

/* By the path to it, else where its function takes most. */
static uint32_t diff_flame_find_selected(struct diff *diff, const struct app *app)
{
	struct flame_view *view = &diff->flame;
	uint32_t function = diff_selected_function(app);
	uint32_t node = focus_follow(&view->focus, view->model, &view->path);
	bool is_whole;
	if (!function || view->focus.nodes.data[node].function == function)
		return node;
	if (diff->is_inverted)
		return focus_child(&view->focus, 0, function);
	return focus_find(&view->focus, diff_selected_place(app), &is_whole);
}

static void diff_flame_tell_selection(struct diff *diff, struct app *app)
{
	struct flame_view *view = &diff->flame;
	focus_path(&view->focus, view->selected, &view->path);
	diff_select_node(app, &view->focus.nodes.data[view->selected]);
}

static void flame_form_update(void *state, struct app *app)
{
	struct diff *diff = state;
	struct flame_view *view = &diff->flame;
	diff_flame_set_model(diff, app);
	view->selected = diff_flame_find_selected(diff, app);
	flame_view_zoom(view, diff_zoomed(diff, app, &view->focus));
}

/* ---- input ---- */

static void diff_flame_enter(void *state, struct app *app, enum action action)
{
	(void)action;
	struct diff *diff = state;
	struct flame_view *view = &diff->flame;
	uint32_t node = flame_view_entered(view);
	if (node == view->root) {
		app_warn(app, "this is all that is seen; Esc goes back");
		return;
	}
	diff_zoom(app, &view->focus, node);
	flame_view_zoom(view, node);
}

static void diff_flame_invert(void *state, struct app *app, enum action action)
{
	(void)action;
	struct diff *diff = state;
	struct flame_view *view = &diff->flame;
	diff->is_inverted = !diff->is_inverted;
	view->path.len = 0;
	view->top = 0;
	view->keeps_sight = true;
	flame_form_update(diff, app);
}

static void diff_flame_unit(void *state, struct app *app, enum action action)
{
	(void)action;
	diff_next_unit(state, app);
}

static const struct view_action actions[] = {
	{ACTION_ENTER, diff_flame_enter},
	{ACTION_INVERT, diff_flame_invert},
	{ACTION_UNIT, diff_flame_unit},
	{ACTION_NONE, NULL},
};

static bool flame_form_act(void *state, struct app *app, enum action action)
{
	struct diff *diff = state;
	if (view_action_run(actions, diff, app, action))
		return true;
	if (!flame_view_act(&diff->flame, app, action))
		return false;
	diff_flame_tell_selection(diff, app);
	return true;
}

static bool flame_form_mouse(void *state, struct app *app, const struct input *input)
{
	struct diff *diff = state;
	if (!flame_view_mouse(&diff->flame, input))
		return false;
	diff_flame_tell_selection(diff, app);
	return true;
}

/* ---- */

static void flame_form_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct diff *diff = state;
	flame_view_draw(&diff->flame, app, grid, area);
}

static void flame_form_detail(void *state, struct app *app, struct str *out)
{
	struct diff *diff = state;
	uint32_t node = diff->flame.selected;
	struct compare_row row = diff_focus_row(&diff->flame_sides, node);
	diff_put_node(diff, app, &diff->flame.focus.nodes.data[node], &row, out);
}

/* As `convert --svg --baseline` writes it, of what is zoomed to. */
static void flame_form_print(void *state, struct app *app, struct str *out)
{
	struct diff *diff = state;
	struct flame_view *view = &diff->flame;
	const struct model *both = diff_both(app);
	struct flame_svg_diff colours = {
		.base_name = path_last_part(diff_base_name(app, app->model->comparison->path)),
		.new_name = path_last_part(app->options->file_name),
		.wholes = diff_compare(app)->wholes,
		.focus = &diff->flame_sides,
	};
	struct flame_svg_options options = {
		.title = profile_title(app->model->profile),
		.root = view->root,
		.order = view->order,
		.objects = both->names->objects.data,
		.nr_functions = both->names->functions.len,
		.frames = both->names->frames.data,
		.matches = both->matches,
		.whole = view->focus.nodes.data[0].total,
		.diff = &colours,
	};
	flame_svg_put(&view->focus, &options, out);
}

static size_t flame_form_count_matches(const void *state, const struct app *app, size_t *number)
{
	const struct diff *diff = state;
	const struct flame_view *view = &diff->flame;
	return diff_count_matches(app, view->focus.nodes.data[view->selected].function, number);
}

const struct view diff_flame = {
	.name = "flame graph",
	.update = flame_form_update,
	.draw = flame_form_draw,
	.act = flame_form_act,
	.mouse = flame_form_mouse,
	.print = flame_form_print,
	.print_suffix = "svg",
	.detail = flame_form_detail,
	.count_matches = flame_form_count_matches,
	.is_of_both = true,
};
