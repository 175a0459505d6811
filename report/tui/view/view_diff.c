/* What became slower and faster since another recording: three forms of it, `8` goes round them. */
#include "report/tui/view/diff.h"

static const struct view *const forms[DIFF_FORMS] = {
	[DIFF_LIST] = &diff_list,
	[DIFF_TREE] = &diff_branches,
	[DIFF_FLAME] = &diff_flame,
};

static void *diff_create(void)
{
	struct diff *diff = mem_zalloc(sizeof(*diff));
	diff->header.order = DIFF_DELTA;
	return diff;
}

static void diff_destroy(void *state)
{
	struct diff *diff = state;
	vec_deinit(&diff->rows);
	str_deinit(&diff->selected);
	diff_focus_deinit(&diff->branch_sides);
	branch_list_deinit(&diff->branches);
	diff_focus_deinit(&diff->flame_sides);
	flame_view_forget(&diff->flame);
	vec_deinit(&diff->flame.path);
	mem_free(diff);
}

static void find_doubts(struct diff *diff, const struct app *app)
{
	const struct compare *compare = diff_compare(app);
	diff->has_doubts = false;
	vec_each(&compare->rows, row)
		diff->has_doubts |= diff_delta(app, row, COMPARE_SELF) != 0 &&
				    compare_cannot_tell(row, COMPARE_SELF);
}

static void diff_update(void *state, struct app *app)
{
	struct diff *diff = state;
	diff->header.y = -1;
	if (!diff_compare(app))
		return;
	find_doubts(diff, app);
	forms[diff->form]->update(diff, app);
}

static void diff_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	enum {
		ROOM_FOR_SUMMARY = 5 /* lines; below, the rows are what matters */
	};
	struct diff *diff = state;
	diff->header.y = -1;
	if (!diff_compare(app)) {
		diff_draw_without(app, grid, area);
		return;
	}
	int used = area.height >= ROOM_FOR_SUMMARY ? diff_draw_summary(diff, app, grid, area) : 0;
	area.y += used;
	area.height -= used;
	if (area.height > 0)
		forms[diff->form]->draw(diff, app, grid, area);
}

static void next_form(struct diff *diff, struct app *app)
{
	diff->form = (diff->form + 1) % DIFF_FORMS;
	diff_update(diff, app);
	app_say(app, "%s of both; 8 goes on to the %s", forms[diff->form]->name,
		forms[(diff->form + 1) % DIFF_FORMS]->name);
}

static bool diff_act(void *state, struct app *app, enum action action)
{
	struct diff *diff = state;
	if (!diff_compare(app))
		return false;
	if (action == ACTION_SWAP) {
		app_swap_sides(app);
		return true;
	}
	if (action == ACTION_VIEW_1 + VIEW_DIFF) {
		next_form(diff, app);
		return true;
	}
	return forms[diff->form]->act(diff, app, action);
}

static bool diff_mouse(void *state, struct app *app, const struct input *input)
{
	struct diff *diff = state;
	return diff_compare(app) && forms[diff->form]->mouse(diff, app, input);
}

static void diff_print(void *state, struct app *app, struct str *out)
{
	struct diff *diff = state;
	if (!diff_compare(app))
		return;
	forms[diff->form]->print(diff, app, out);
}

static const struct view *diff_form(const void *state)
{
	const struct diff *diff = state;
	return forms[diff->form];
}

static void diff_detail(void *state, struct app *app, struct str *out)
{
	struct diff *diff = state;
	if (diff_compare(app) && forms[diff->form]->detail)
		forms[diff->form]->detail(diff, app, out);
}

static const enum action hints[] = {ACTION_BASELINE, ACTION_VIEW_1 + VIEW_DIFF, ACTION_ENTER,
	ACTION_SWAP, ACTION_SORT_RIGHT, ACTION_UNIT, ACTION_INVERT, ACTION_KEEP, ACTION_UNDO,
	ACTION_NONE};

const struct view view_diff = {
	.name = "Diff",
	.create = diff_create,
	.destroy = diff_destroy,
	.update = diff_update,
	.draw = diff_draw,
	.act = diff_act,
	.mouse = diff_mouse,
	.print = diff_print,
	.form = diff_form,
	.detail = diff_detail,
	.hints = hints,
};
