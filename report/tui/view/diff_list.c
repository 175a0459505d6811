/* The functions that became slower and faster. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/tui/view/diff.h"
#include "report/tui/view/view_action.h"

/* ---- order ---- */

/* A row on its way to its place: what it is ordered by is found once. */
struct place {
	double by[4];     /* the largest first */
	const char *text; /* before them; NULL: none is */
	uint32_t row;     /* rows of a comparison are by name */
};

/* What is sure comes first: regressions, improvements, what cannot be told, what is the same. */
static double diff_list_rank(const struct compare_row *row)
{
	int direction = compare_direction(row, COMPARE_SELF);
	return direction > 0 ? 3 : direction < 0 ? 2 : compare_cannot_tell(row, COMPARE_SELF);
}

static struct place diff_list_place_of(
	const struct diff *diff, const struct app *app, uint32_t index)
{
	const struct compare_row *row = &diff_compare(app)->rows.data[index];
	double self = fabs(diff_delta(app, row, COMPARE_SELF));
	double total = fabs(diff_delta(app, row, COMPARE_TOTAL));
	struct place place = {.by = {0, self, total, (double)row->new.self}, .row = index};
	if (diff->header.order == DIFF_BASE)
		place.by[0] = (double)row->base.self;
	else if (diff->header.order == DIFF_NEW)
		place.by[0] = (double)row->new.self;
	else if (diff->header.order == DIFF_TOTAL)
		place.by[0] = total;
	else if (diff->header.order == DIFF_DELTA)
		place.by[0] = diff_list_rank(row);
	else if (diff->header.order == DIFF_OBJECT)
		place.text = row->object;
	else if (diff->header.order == DIFF_FUNCTION)
		memset(place.by, 0, sizeof(place.by)); /* the rows are by name */
	return place;
}

static int diff_list_compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = x->text ? strcmp(x->text, y->text) : 0;
	for (int i = 0; !order && i < 4; i++)
		order = x->by[i] > y->by[i] ? -1 : x->by[i] < y->by[i];
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static void order_rows(struct diff *diff, const struct app *app)
{
	size_t count = diff_compare(app)->rows.len;
	CLEANUP_FREE struct place *places = mem_zalloc_array(count, sizeof(*places));
	for (uint32_t i = 0; i < count; i++)
		places[i] = diff_list_place_of(diff, app, i);
	if (count)
		qsort(places, count, sizeof(*places), diff_list_compare_places);
	diff->rows.len = 0;
	for (size_t i = 0; i < count; i++)
		vec_push(&diff->rows, places[diff->header.is_reversed ? count - 1 - i : i].row);
}

/* ---- selection ---- */

static void diff_list_put_key(const struct compare_row *row, struct str *out)
{
	str_write(out, row->object, strlen(row->object) + 1);
	str_puts(out, row->name);
}

static void diff_list_select_row(struct diff *diff, struct app *app)
{
	if (diff->list.selected >= diff->rows.len)
		return;
	const struct compare_row *row = diff_row(diff, app, diff->list.selected);
	str_truncate(&diff->selected, 0);
	diff_list_put_key(row, &diff->selected);
	app_select(app, row->frame);
}

static bool is_selected(const struct diff *diff, const struct compare_row *row,
	const struct app *app, struct str *key)
{
	uint32_t function = app_function(app);
	if (function)
		return row->frame && model_function_of(app->model, row->frame) == function;
	str_truncate(key, 0);
	diff_list_put_key(row, key);
	return key->len == diff->selected.len &&
	       memcmp(str_text(key), str_text(&diff->selected), key->len) == 0;
}

/* The row of what is selected; where it has none, the list stays where it stood. */
static void diff_list_find_selected(struct diff *diff, struct app *app)
{
	CLEANUP(str_deinit) struct str key = {0};
	for (size_t i = 0; i < diff->rows.len; i++)
		if (is_selected(diff, diff_row(diff, app, i), app, &key)) {
			diff->list.selected = i;
			return;
		}
	if (!app_function(app))
		diff_list_select_row(diff, app);
}

static void go_to_first_row(struct diff *diff, struct app *app)
{
	diff->list.selected = 0;
	diff_list_select_row(diff, app);
	app->selection.is_default = true;
}

/* Another list than that of the last update is seen. */
static bool diff_list_is_arriving(struct diff *diff, const struct app *app)
{
	const struct model *model = app->model;
	bool is_arriving = diff->shown != app->shown || diff->event != model->event ||
			   diff->compared != model->comparison->serial ||
			   diff->own_side != model->comparison->own_side;
	diff->shown = app->shown;
	diff->event = model->event;
	diff->compared = model->comparison->serial;
	diff->own_side = model->comparison->own_side;
	return is_arriving;
}

static bool diff_list_is_on_first_screen(const struct diff *diff, const struct app *app)
{
	enum {
		SUMMARY = 5, /* lines above the rows, at most */
	};
	int height = app->chrome.body.height - SUMMARY;
	return diff->list.selected < (size_t)(height > 0 ? height : 1);
}

static void list_update(void *state, struct app *app)
{
	struct diff *diff = state;
	bool is_arriving = diff_list_is_arriving(diff, app);
	const struct compare *compare = diff_compare(app);
	diff->rows.len = 0;
	diff->greatest = 0;
	diff->list.count = compare->rows.len;
	if (!compare->rows.len)
		return;
	vec_each(&compare->rows, row) {
		double delta = fabs(diff_delta(app, row, COMPARE_SELF));
		diff->greatest = delta > diff->greatest ? delta : diff->greatest;
	}
	order_rows(diff, app);
	diff_list_find_selected(diff, app);
	/* Until a row is chosen it is the first one, whose changes are the largest. */
	if (app->selection.is_default || (is_arriving && !diff_list_is_on_first_screen(diff, app)))
		go_to_first_row(diff, app);
}

/* ---- input ---- */

static struct list *diff_list_of(void *state)
{
	return &((struct diff *)state)->list;
}

static bool diff_list_is_match(
	const void *state, const struct app *app, const struct pattern *pattern, size_t row)
{
	return diff_compare(app) && pattern_matches(pattern, diff_row(state, app, row)->name);
}

static void diff_list_select_match(void *state, struct app *app)
{
	diff_list_select_row(state, app);
}

static const struct row_search search = {
	.list = diff_list_of,
	.is_match = diff_list_is_match,
	.select = diff_list_select_match,
};

static void diff_list_enter(void *state, struct app *app, enum action action)
{
	(void)action;
	const struct diff *diff = state;
	if (!app_function(app) && diff->rows.len)
		app_say(app, "it %s has it",
			diff->own_side == MATCH_NEW ? "was removed: only \"before\""
						    : "is new: only \"new\"");
	else
		app_show(app, VIEW_BUTTERFLY);
}

static void diff_list_unit(void *state, struct app *app, enum action action)
{
	(void)action;
	diff_next_unit(state, app);
	list_update(state, app);
}

static const struct view_action actions[] = {
	{ACTION_ENTER, diff_list_enter},
	{ACTION_UNIT, diff_list_unit},
	{ACTION_NONE, NULL},
};

static bool list_form_act(void *state, struct app *app, enum action action)
{
	struct diff *diff = state;
	if (list_header_act(&diff->header, action)) {
		app->selection.is_default = true;
		list_update(diff, app);
		return true;
	}
	if (view_action_run(actions, diff, app, action))
		return true;
	if (!list_act(&diff->list, action))
		return false;
	diff_list_select_row(diff, app);
	return true;
}

static bool list_form_mouse(void *state, struct app *app, const struct input *input)
{
	struct diff *diff = state;
	if (list_header_mouse(&diff->header, input)) {
		app->selection.is_default = true;
		list_update(diff, app);
		return true;
	}
	if (!list_mouse(&diff->list, input))
		return false;
	diff_list_select_row(diff, app);
	return true;
}

/* The whole list, as wide as its names. */
static void list_print(void *state, struct app *app, struct str *out)
{
	const struct diff *diff = state;
	str_printf(out, "%9s %9s %10s %10s  %-24s %s\n", "before", "new", diff_title(diff, app),
		"in total", "file", "function");
	for (size_t i = 0; i < diff->rows.len; i++) {
		const struct compare_row *row = diff_row(diff, app, i);
		CLEANUP(str_deinit) struct str base = {0}, new = {0}, self = {0}, total = {0};
		CLEANUP(str_deinit) struct str names = {0};
		diff_put_value(app, row, MATCH_BASE, COMPARE_SELF, &base);
		diff_put_value(app, row, MATCH_NEW, COMPARE_SELF, &new);
		diff_put_delta(diff, app, row, COMPARE_SELF, &self);
		diff_put_delta(diff, app, row, COMPARE_TOTAL, &total);
		str_puts_escaped(&names, row->object);
		str_pad(&names, ' ', names.len < 24 ? 24 - names.len : 0);
		str_putc(&names, ' ');
		const char *name = profile_own_name(row->name, row->object);
		str_puts_escaped(&names, name);
		str_printf(out, "%9s %9s %10s %10s  %s\n", str_text(&base), str_text(&new),
			str_text(&self), str_text(&total), str_text(&names));
	}
}

static void list_detail(void *state, struct app *app, struct str *out)
{
	const struct diff *diff = state;
	if (diff->list.selected >= diff->rows.len)
		return;
	const struct compare_row *row = diff_row(diff, app, diff->list.selected);
	str_printf(out, "%s  %s", profile_own_name(row->name, row->object), row->object);
	diff_put_numbers(diff, app, row, COMPARE_SELF, out);
}

static const struct view_word diff_list_words[] = {{ACTION_ENTER, "callers"}, {ACTION_NONE, NULL}};

const struct view diff_list = {
	.name = "functions",
	.update = list_update,
	.draw = diff_list_draw,
	.act = list_form_act,
	.mouse = list_form_mouse,
	.print = list_print,
	.detail = list_detail,
	.search = &search,
	.words = diff_list_words,
};
