/* The hottest functions. */
#include <stdlib.h>
#include <string.h>

#include "report/tui/app.h"
#include "report/tui/list_header.h"

enum top_column {
	TOP_SELF,
	TOP_TOTAL,
	TOP_OBJECT,
	TOP_BAR,
	TOP_FUNCTION,
	TOP_COLUMNS,
};

struct top {
	struct list list;
	struct list_header header;
	VEC(struct function_weight) rows; /* of the model, ordered */
	/* Frames: what had been selected is not among the rows, and what is instead; 0: it is. */
	uint32_t missing, stand_in;
};

static void *top_create(void)
{
	return mem_zalloc(sizeof(struct top));
}

static void top_destroy(void *state)
{
	struct top *top = state;
	vec_deinit(&top->rows);
	mem_free(top);
}

/* ---- order ---- */

/*
 * Thousands of rows are equal but for their names, which lie all over memory. So what decides most
 * comparisons is brought together beforehand.
 */
struct sort_key {
	uint64_t parts[3]; /* ascending */
	const char *name;  /* decides what is left */
	uint32_t row;
};

/* Eight letters as a number that is in their order. */
static uint64_t letters(const char *name, size_t from)
{
	uint64_t number = 0;
	size_t len = strnlen(name, from + 8);
	for (size_t i = from; i < from + 8; i++)
		number = number << 8 | (i < len ? (uint8_t)name[i] : 0);
	return number;
}

static struct sort_key key_of(const struct top *top, const struct model *model, uint32_t index)
{
	const struct function_weight *row = &top->rows.data[index];
	const struct profile_function *function = model_function(model, row->function);
	struct sort_key key = {.name = function->name, .row = index};
	switch ((enum top_column)top->header.order) {
	case TOP_SELF:
	case TOP_TOTAL: {
		bool is_self = top->header.order == TOP_SELF;
		key.parts[0] = ~(is_self ? row->self : row->total);
		key.parts[1] = ~(is_self ? row->total : row->self);
		key.parts[2] = letters(function->name, 0);
		break;
	}
	case TOP_OBJECT:
		key.parts[0] = letters(model_object(model, function->object)->name, 0);
		key.parts[1] = function->object; /* those of one beginning stay apart */
		key.parts[2] = ~row->self;
		break;
	case TOP_FUNCTION:
	case TOP_BAR:
	case TOP_COLUMNS:
		for (size_t i = 0; i < 3; i++)
			key.parts[i] = letters(function->name, 8 * i);
		break;
	}
	return key;
}

static int compare_keys(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	for (size_t i = 0; i < sizeof(x->parts) / sizeof(*x->parts); i++)
		if (x->parts[i] != y->parts[i])
			return x->parts[i] < y->parts[i] ? -1 : 1;
	int order = strcmp(x->name, y->name);
	return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* The model's functions, ordered. */
static void fill_rows(struct top *top, const struct model *model)
{
	size_t count = model->functions.len;
	top->rows.len = 0;
	vec_append(&top->rows, model->functions.data, count);
	CLEANUP_FREE struct sort_key *keys = mem_zalloc_array(count, sizeof(*keys));
	for (uint32_t i = 0; i < count; i++)
		keys[i] = key_of(top, model, i);
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		top->rows.data[top->header.is_reversed ? count - 1 - i : i] =
			model->functions.data[keys[i].row];
}

/* Goes to the line of the function; false: it has none. */
static bool find_function(struct top *top, uint32_t function)
{
	for (size_t i = 0; function && i < top->rows.len; i++)
		if (top->rows.data[i].function == function) {
			top->list.selected = i;
			return true;
		}
	return false;
}

static void select_row(struct top *top, struct app *app)
{
	top->missing = 0;
	if (top->list.selected < top->rows.len)
		app_select(app, top->rows.data[top->list.selected].frame);
}

/* After a filter, of which the function that was selected is no part: until another is chosen. */
static void select_stand_in(struct top *top, struct app *app)
{
	if (!top->rows.len)
		return;
	uint32_t missing = top->missing ? top->missing : app->selection.frame;
	top->list.selected = 0;
	select_row(top, app);
	top->missing = missing;
	top->stand_in = app->selection.frame;
}

static void top_update(void *state, struct app *app)
{
	struct top *top = state;
	fill_rows(top, app->model);
	top->list.count = top->rows.len;
	if (!app_function(app) || app->selection.is_default) {
		/* Names change the order: until a function is chosen, it is not the first one that
		   moves away, but another one that is the first. */
		top->list.selected = 0;
		select_row(top, app);
		app->selection.is_default = true;
		return;
	}
	if (top->stand_in != app->selection.frame)
		top->missing = 0;
	if (top->missing && find_function(top, model_function_of(app->model, top->missing))) {
		app_select(app, top->missing);
		top->missing = 0;
	} else if (!find_function(top, app_function(app)) || top->missing) {
		select_stand_in(top, app);
	}
}

/* ---- drawing ---- */

/* Below some widths of the screen a column goes. */
static const struct list_column columns[TOP_COLUMNS] = {
	[TOP_SELF] = {"self", .width = 9, .is_right = true},
	[TOP_TOTAL] = {"total", .width = 9, .room = 34, .is_right = true},
	[TOP_OBJECT] = {"object", .width = 18, .room = 60},
	[TOP_BAR] = {"", .width = 11, .room = 70, .is_bar = true, .bar_of = TOP_SELF},
	[TOP_FUNCTION] = {"function", .parts = 1},
};

static struct rect cell_of(const struct top *top, enum top_column column, int y)
{
	int width = list_header_width(&top->header, column);
	return (struct rect){top->header.x[column], y, width, 1};
}

static void draw_row(
	const struct top *top, const struct app *app, struct grid *grid, int y, size_t index)
{
	const struct function_weight *row = &top->rows.data[index];
	const struct profile_function *function = model_function(app->model, row->function);
	struct rect bar = cell_of(top, TOP_BAR, y);
	app_draw_value(app, grid, cell_of(top, TOP_SELF, y), row->self, row->self_samples);
	app_draw_value(app, grid, cell_of(top, TOP_TOTAL, y), row->total, row->samples);
	list_header_put(&top->header, grid, y, TOP_OBJECT, STYLE_DIM,
		model_object(app->model, function->object)->name);
	grid_put_bar(grid, bar.x, y, bar.width, STYLE_BAR, app_percent(app, row->self) / 100);
	list_header_put(&top->header, grid, y, TOP_FUNCTION, app_name_style(app, row->function),
		function->name);
}

static void top_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct top *top = state;
	list_header_place(&top->header, columns, TOP_COLUMNS, area);
	list_header_draw(&top->header, grid);
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&top->list, top->rows.len, rows);
	for (size_t i = 0; i < list_seen(&top->list); i++)
		draw_row(top, app, grid, rows.y + (int)i, top->list.top + i);
	list_mark(&top->list, grid);
	if (!top->rows.len)
		app_draw_no_samples(app, grid, rows);
}

/* ---- input ---- */

static bool go_to_match(struct top *top, struct app *app, bool goes_up)
{
	size_t count = top->rows.len;
	if (!app->model->matches || !count)
		return false;
	for (size_t step = 1; step <= count; step++) {
		size_t at = (top->list.selected + (goes_up ? count - step : step)) % count;
		if (!app->model->matches[top->rows.data[at].function])
			continue;
		top->list.selected = at;
		select_row(top, app);
		return true;
	}
	return false;
}

static bool top_act(void *state, struct app *app, enum action action)
{
	struct top *top = state;
	if (list_header_act(&top->header, action)) {
		top_update(top, app);
		return true;
	}
	switch (action) {
	case ACTION_NEXT_MATCH:
	case ACTION_PREVIOUS_MATCH:
		if (!go_to_match(top, app, action == ACTION_PREVIOUS_MATCH))
			app_say(app, "no match");
		return true;
	case ACTION_ENTER:
		app_show(app, VIEW_BUTTERFLY);
		return true;
	default:
		if (!list_act(&top->list, action))
			return false;
		select_row(top, app);
		return true;
	}
}

static bool top_mouse(void *state, struct app *app, const struct input *input)
{
	struct top *top = state;
	if (list_header_mouse(&top->header, input)) {
		top_update(top, app);
		return true;
	}
	if (!list_mouse(&top->list, input))
		return false;
	select_row(top, app);
	return true;
}

/* The whole list, as wide as its names. */
static void top_print(void *state, struct app *app, struct str *out)
{
	const struct top *top = state;
	str_printf(out, "%9s %9s  %-24s %s\n", "self", "total", "object", "function");
	vec_each(&top->rows, row) {
		const struct profile_function *function = model_function(app->model, row->function);
		const char *object = model_object(app->model, function->object)->name;
		CLEANUP(str_deinit) struct str self = {0}, total = {0}, safe = {0};
		app_put_value(app, &self, row->self, row->self_samples);
		app_put_value(app, &total, row->total, row->samples);
		str_put_escaped(&safe, object, strlen(object));
		str_pad(&safe, ' ', safe.len < 24 ? 24 - safe.len : 0);
		str_putc(&safe, ' ');
		str_put_escaped(&safe, function->name, strlen(function->name));
		str_printf(
			out, "%9s %9s  %s\n", str_text(&self), str_text(&total), str_text(&safe));
	}
}

static const enum action hints[] = {ACTION_ENTER, ACTION_VIEW_1 + VIEW_SOURCE, ACTION_SORT_RIGHT,
	ACTION_UNIT, ACTION_KEEP, ACTION_UNDO, ACTION_NEXT_VIEW, ACTION_NONE};

const struct view view_top = {
	.name = "Top",
	.create = top_create,
	.destroy = top_destroy,
	.update = top_update,
	.draw = top_draw,
	.act = top_act,
	.mouse = top_mouse,
	.print = top_print,
	.hints = hints,
};
