/* The hottest functions. */
#include <stdlib.h>
#include <string.h>

#include "report/tui/app.h"

enum top_column {
	TOP_SELF,
	TOP_TOTAL,
	TOP_OBJECT,
	TOP_FUNCTION,
	TOP_COLUMNS,
};

struct top {
	struct list list;
	enum top_column order;
	bool is_reversed;
	VEC(struct function_weight) rows; /* of the model, ordered */
	int header_y;
	int column_x[TOP_COLUMNS + 1]; /* where they were drawn, and the end */
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
	switch (top->order) {
	case TOP_SELF:
	case TOP_TOTAL: {
		bool is_self = top->order == TOP_SELF;
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
		top->rows.data[top->is_reversed ? count - 1 - i : i] =
			model->functions.data[keys[i].row];
}

/* The line of the function that was selected; without one, where the list stood. */
static void find_selected(struct top *top, const struct app *app)
{
	uint32_t function = app_function(app);
	top->list.count = top->rows.len;
	for (size_t i = 0; function && i < top->rows.len; i++)
		if (top->rows.data[i].function == function)
			top->list.selected = i;
}

static void select_row(struct top *top, struct app *app)
{
	if (top->list.selected < top->rows.len)
		app_select(app, top->rows.data[top->list.selected].frame);
}

static void top_update(void *state, struct app *app)
{
	struct top *top = state;
	fill_rows(top, app->model);
	find_selected(top, app);
	if (!app_function(app))
		select_row(top, app);
}

/* ---- drawing ---- */

static const char *const titles[TOP_COLUMNS] = {"self", "total", "object", "function"};

static void place_columns(struct top *top, struct rect area)
{
	enum {
		NUMBER = 9,
		OBJECT = 18,
		ROOM_FOR_OBJECT = 60, /* below, that column goes, then total */
		ROOM_FOR_TOTAL = 34,
	};
	int x = area.x, *at = top->column_x;
	at[TOP_SELF] = x;
	at[TOP_TOTAL] = x += NUMBER;
	at[TOP_OBJECT] = x += area.width >= ROOM_FOR_TOTAL ? NUMBER : 0;
	at[TOP_FUNCTION] = x += area.width >= ROOM_FOR_OBJECT ? OBJECT : 0;
	at[TOP_COLUMNS] = area.x + area.width;
}

static int column_width(const struct top *top, enum top_column column)
{
	int width = top->column_x[column + 1] - top->column_x[column];
	return column == TOP_FUNCTION || width <= 0 ? width : width - 1;
}

static void draw_header(const struct top *top, struct grid *grid)
{
	for (int column = 0; column < TOP_COLUMNS; column++) {
		int width = column_width(top, column), x = top->column_x[column];
		CLEANUP(str_deinit) struct str title = {0};
		bool is_order = column == (int)top->order;
		str_printf(&title, "%s%s", titles[column],
			!is_order ? ""
				  : grid_glyph(grid, top->is_reversed ? GLYPH_UP : GLYPH_DOWN));
		unsigned style = STYLE_HEADER | (is_order ? STYLE_BOLD : 0);
		if (column <= TOP_TOTAL)
			grid_put_right(grid, x, top->header_y, width, style, str_text(&title));
		else
			grid_put(grid, x, top->header_y, width, style, str_text(&title));
	}
}

static void draw_row(
	const struct top *top, const struct app *app, struct grid *grid, int y, size_t index)
{
	const struct function_weight *row = &top->rows.data[index];
	const struct profile_function *function = model_function(app->model, row->function);
	const int *x = top->column_x;
	struct rect self = {x[TOP_SELF], y, column_width(top, TOP_SELF), 1};
	struct rect total = {x[TOP_TOTAL], y, column_width(top, TOP_TOTAL), 1};
	app_draw_value(app, grid, self, row->self, row->self_samples);
	app_draw_value(app, grid, total, row->total, row->samples);
	grid_put_elided(grid, x[TOP_OBJECT], y, column_width(top, TOP_OBJECT), STYLE_DIM,
		model_object(app->model, function->object)->name);
	enum {
		BAR = 10,
		ROOM_FOR_BAR = 70
	};
	int at = x[TOP_FUNCTION], width = column_width(top, TOP_FUNCTION);
	if (top->list.area.width >= ROOM_FOR_BAR) {
		grid_put_bar(grid, at, y, BAR, STYLE_BAR, app_percent(app, row->self) / 100);
		at += BAR + 1;
		width -= BAR + 1;
	}
	grid_put_elided(grid, at, y, width, app_name_style(app, row->function), function->name);
}

static void top_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct top *top = state;
	place_columns(top, area);
	top->header_y = area.y;
	draw_header(top, grid);
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&top->list, top->rows.len, rows);
	for (size_t i = 0; i < list_seen(&top->list); i++)
		draw_row(top, app, grid, rows.y + (int)i, top->list.top + i);
	list_mark(&top->list, grid);
	if (!top->rows.len)
		grid_put(grid, rows.x, rows.y, rows.width, STYLE_WARNING,
			"no samples here: Esc undoes the last filter");
}

/* ---- input ---- */

static void order_by(struct top *top, struct app *app, enum top_column column)
{
	top->is_reversed = top->order == column && !top->is_reversed;
	top->order = column;
	top_update(top, app);
}

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
	switch (action) {
	case ACTION_SORT_LEFT:
		order_by(top, app, top->order ? top->order - 1 : top->order);
		return true;
	case ACTION_SORT_RIGHT:
		order_by(top, app, top->order + 1 < TOP_COLUMNS ? top->order + 1 : top->order);
		return true;
	case ACTION_SORT_REVERSE:
		order_by(top, app, top->order);
		return true;
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
	if (input->kind == INPUT_PRESS && input->y == top->header_y) {
		int column = 0;
		while (column + 1 < TOP_COLUMNS && input->x >= top->column_x[column + 1])
			column++;
		order_by(top, app, (enum top_column)column);
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
