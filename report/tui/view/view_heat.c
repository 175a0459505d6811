/* Who ran when: a row for each thread, a column for each stretch of time. */
#include <string.h>

#include "report/tui/renewal.h"
#include "report/tui/row_search.h"
#include "report/tui/view/heat_sums.h"
#include "report/tui/view/task_rows.h"
#include "report/tui/view/time_axis.h"
#include "report/tui/view/time_window.h"
#include "report/tui/view/view_action.h"

enum {
	LEVELS = STYLE_HEATS,
	MANY_THREADS = 64, /* more are shown by process */
	ROOM_FOR_SHARE = 20,
	ROOM_FOR_COUNT = 24, /* of threads */
};

enum heat_grouping {
	HEAT_BY_COUNT, /* of the threads */
	HEAT_THREADS,
	HEAT_PROCESSES,
};

struct heat {
	struct list list;
	struct task_rows rows;
	enum heat_grouping grouping;

	struct time_window window;
	bool is_dragging;

	struct heat_sums sums;
	struct rect cells; /* where they were drawn */
};

static void *heat_create(void)
{
	return mem_zalloc(sizeof(struct heat));
}

static void heat_destroy(void *state)
{
	struct heat *heat = state;
	task_rows_deinit(&heat->rows);
	heat_sums_deinit(&heat->sums);
	mem_free(heat);
}

/* ---- rows ---- */

static bool is_grouped(const struct heat *heat, const struct app *app)
{
	if (heat->grouping == HEAT_BY_COUNT)
		return app->model->tasks.nr_threads > MANY_THREADS;
	return heat->grouping == HEAT_PROCESSES;
}

/* By wall time all weigh the same: those that ran come first. */
static int view_heat_compare_values(
	const struct app *app, const struct task *a, const struct task *b)
{
	(void)app;
	if (a->running != b->running)
		return a->running > b->running ? -1 : 1;
	return a->sum.value > b->sum.value ? -1 : a->sum.value < b->sum.value;
}

static void heat_update(void *state, struct app *app)
{
	static const struct task_order hottest = {.compare = view_heat_compare_values};
	struct heat *heat = state;
	const struct tasks *tasks = &app->model->tasks;
	uint32_t first_process = 1 + tasks->nr_containers;
	heat->rows.len = 0;
	if (is_grouped(heat, app))
		task_rows_add(&heat->rows, app, first_process, tasks->nr_processes, &hottest);
	else
		task_rows_add(&heat->rows, app, first_process + tasks->nr_processes,
			tasks->nr_threads, &hottest);
	heat->list.count = heat->rows.len;
	heat->list.selected = task_rows_selected(&heat->rows, app, heat->list.selected);
	if (!app->selection.thread && !app->selection.process)
		task_rows_select(&heat->rows, app, heat->list.selected);
	heat_sums_forget(&heat->sums);
}

static void heat_renew(void *state, const struct renewal *renewal)
{
	struct heat *heat = state;
	task_rows_renew(&heat->rows, renewal);
	time_window_renew(&heat->window, renewal);
}

/* ---- searching ---- */

static struct list *view_heat_list(void *state)
{
	return &((struct heat *)state)->list;
}

static bool view_heat_is_match(
	const void *state, const struct app *app, const struct pattern *pattern, size_t row)
{
	return task_rows_is_match(&((const struct heat *)state)->rows, app, pattern, row);
}

static uint64_t view_heat_weight(const void *state, const struct app *app, size_t row)
{
	return task_rows_weight(&((const struct heat *)state)->rows, app, row);
}

static void view_heat_select_match(void *state, struct app *app)
{
	struct heat *heat = state;
	task_rows_select(&heat->rows, app, heat->list.selected);
}

static bool view_heat_reveal(void *state, struct app *app, const struct pattern *pattern)
{
	struct heat *heat = state;
	if (!is_grouped(heat, app) || !task_rows_reveal(&heat->rows, app, pattern))
		return false;
	heat_update(heat, app);
	return true;
}

static const struct row_search search = {
	.list = view_heat_list,
	.is_match = view_heat_is_match,
	.select = view_heat_select_match,
	.weight = view_heat_weight,
	.reveal = view_heat_reveal,
};

/* ---- drawing ---- */

/* Mostly it waited: by its own colour, where there is none by its own character. */
static void draw_waited(struct grid *grid, int x, int y, double share)
{
	unsigned level = share >= 1 ? STYLE_WAITEDS - 1 : (unsigned)(share * STYLE_WAITEDS);
	if (grid->colours == GRID_RICH)
		grid_put(grid, x, y, 1, STYLE_WAITED + level, " ");
	else
		grid_put(grid, x, y, 1, STYLE_WAITED, "~");
}

static void draw_cell(
	struct grid *grid, int x, int y, const struct timeline_sum *sum, uint64_t peak)
{
	uint64_t value = sum->value;
	static const char *const characters[LEVELS] = {".", ":", "-", "=", "+", "*", "#", "@"};
	static const char *const shades[LEVELS] = {"░", "░", "▒", "▒", "▓", "▓", "█", "█"};
	if (!value || !peak) {
		if (grid->colours == GRID_RICH)
			grid_put(grid, x, y, 1, STYLE_COLD, " ");
		return;
	}
	double share = (double)value / (double)peak;
	if (2 * sum->waited > value) {
		draw_waited(grid, x, y, share);
		return;
	}
	int level = share >= 1 ? LEVELS - 1 : (int)(share * LEVELS);
	unsigned style = STYLE_HEAT + (unsigned)level;
	if (grid->colours == GRID_RICH)
		grid_put(grid, x, y, 1, style, " ");
	else if (grid->colours == GRID_POOR)
		grid_put(grid, x, y, 1, style, characters[level]);
	else
		grid_put(
			grid, x, y, 1, STYLE_NORMAL, (grid->is_ascii ? characters : shades)[level]);
}

static void draw_cells(const struct heat *heat, struct grid *grid, int y,
	const struct timeline_sum *sums, uint64_t peak)
{
	for (uint32_t i = 0; i < heat->window.part.columns; i++)
		draw_cell(grid, heat->cells.x + (int)i, y, &sums[i], peak);
}

/* Of the row's task; NULL: there is none. */
static const struct timeline_sum *sums_of_row(
	struct heat *heat, const struct app *app, size_t index)
{
	return heat->sums.window.columns && task_rows_task(&heat->rows, app, index)
		       ? heat_sums_of(&heat->sums, app->model, heat->rows.data[index].task)
		       : NULL;
}

/* What a row is called; of a long one its number stays to be read, which tells it from others. */
struct label {
	struct str name, number;
	unsigned style;
};

static void label_deinit(struct label *label)
{
	str_deinit(&label->name);
	str_deinit(&label->number);
}

static void draw_label(const struct heat *heat, const struct app *app, struct grid *grid, int y,
	const struct slice_sum *sum, const struct label *label)
{
	enum {
		SHARE = 8,
		LEAST_NAME = 3
	};
	int width = heat->cells.x - heat->list.area.x - 1, x = heat->list.area.x;
	if (width >= ROOM_FOR_SHARE - 1) {
		CLEANUP(str_deinit) struct str share = {0};
		app_put_value(app, &share, sum->value, sum->samples);
		grid_put_right(grid, x, y, SHARE, STYLE_DIM, str_text(&share));
		x += SHARE + 1;
		width -= SHARE + 1;
	}
	int number = grid_text_width(grid, str_text(&label->number));
	int room = width - number < LEAST_NAME ? LEAST_NAME : width - number;
	int used = grid_put_elided(grid, x, y, room, label->style, str_text(&label->name));
	grid_put_elided(grid, x + used, y, width - used, label->style, str_text(&label->number));
}

static void put_row_label(const struct heat *heat, const struct app *app, const struct grid *grid,
	size_t index, struct label *out)
{
	const struct task_row *row = &heat->rows.data[index];
	const struct task *task = task_rows_task(&heat->rows, app, index);
	if (row->depth)
		str_puts(&out->name, "  ");
	else if (is_grouped(heat, app))
		str_printf(&out->name, "%s ",
			!row->has_children
				? " "
				: grid_glyph(grid, row->is_open ? GLYPH_OPEN : GLYPH_CLOSED));
	str_puts(&out->name, task_name(app, task));
	task_put_id(app, task, &out->number);
	if (row->has_children)
		str_printf(&out->number, " (%u)", task->nr_threads);
}

static void view_heat_draw_row(struct heat *heat, const struct app *app, struct grid *grid, int y,
	size_t index, const struct row_marks *marks)
{
	const struct task *task = task_rows_task(&heat->rows, app, index);
	CLEANUP(label_deinit) struct label label = {0};
	put_row_label(heat, app, grid, index, &label);
	label.style = row_marks_style(marks, &search, heat, app, index, STYLE_NORMAL);
	draw_label(heat, app, grid, y, &task->sum, &label);
	draw_cells(heat, grid, y, sums_of_row(heat, app, index),
		task->kind == TASK_THREAD ? heat->sums.thread_peak : heat->sums.process_peak);
}

static void draw_total(struct heat *heat, const struct app *app, struct grid *grid, int y)
{
	CLEANUP(label_deinit) struct label label = {0};
	str_puts(&label.name, "all");
	if (heat->cells.x - heat->list.area.x >= ROOM_FOR_COUNT)
		str_printf(&label.number, " (%u)", app->model->tasks.nr_threads);
	draw_label(heat, app, grid, y, &app->model->slice.whole, &label);
	const struct timeline_sum *sums = heat_sums_of(&heat->sums, app->model, 0);
	uint64_t peak = 0;
	for (uint32_t i = 0; i < heat->window.part.columns; i++)
		peak = sums[i].value > peak ? sums[i].value : peak;
	draw_cells(heat, grid, y, sums, peak);
}

static void mark_range(const struct heat *heat, const struct timeline *timeline, struct grid *grid)
{
	struct time_span range = time_window_range(&heat->window, timeline);
	for (uint32_t i = 0; i < heat->window.part.columns; i++) {
		struct time_span column = time_window_column(&heat->window, timeline, i);
		struct rect cell = {heat->cells.x + (int)i, heat->cells.y, 1, 1};
		if (column.from_ns < range.to_ns && column.to_ns > range.from_ns)
			grid_mark(grid, cell, STYLE_SELECTED);
	}
}

/* Digits on the axis stay to be read. */
static void draw_cursor(const struct heat *heat, const struct timeline *timeline, struct grid *grid)
{
	int y = heat->cells.y, x = heat->cells.x;
	x += (int)time_window_cursor(&heat->window, timeline);
	if (grid->cells[y * grid->width + x].code_point == ' ')
		grid_put(grid, x, y, 1, STYLE_KEY | STYLE_BOLD, grid_glyph(grid, GLYPH_DOWN));
	else
		grid_mark(grid, (struct rect){x, y, 1, 1}, STYLE_SELECTED | STYLE_BOLD);
}

/* The axis, with the range and the cursor on it. */
static void draw_axis(const struct heat *heat, const struct timeline *timeline, struct grid *grid)
{
	int y = heat->cells.y;
	struct time_span first = time_window_column(&heat->window, timeline, 0);
	struct rect line = {heat->cells.x, y, heat->cells.width, 1};
	time_axis_draw(
		grid, line, first.from_ns, heat->window.part.per_column * timeline->bucket_ns);
	grid_printf(grid, heat->list.area.x, y, heat->cells.x - heat->list.area.x - 1,
		STYLE_HEADER | STYLE_BOLD, "%.2f s", (double)heat->window.cursor_ns / 1e9);
	if (time_window_has_range(&heat->window))
		mark_range(heat, timeline, grid);
	draw_cursor(heat, timeline, grid);
}

static void mark_cursor(const struct heat *heat, const struct app *app, struct grid *grid)
{
	int y = heat->list.area.y + (int)(heat->list.selected - heat->list.top);
	int x = heat->list.area.x, label = heat->cells.x - x - 1;
	grid_mark(grid, (struct rect){x, y, label, 1}, STYLE_SELECTED);
	x = heat->cells.x + (int)time_window_cursor(&heat->window, &app->model->timeline);
	grid_mark(grid, (struct rect){x, y, 1, 1}, STYLE_SELECTED);
}

static int label_width(int width)
{
	return width >= 160 ? 44 : width >= 120 ? 36 : width >= 60 ? 27 : width >= 36 ? 14 : 9;
}

static void heat_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct heat *heat = state;
	struct rect rows = {area.x, area.y + 2, area.width, area.height - 2};
	if (!heat->rows.len) { /* there is no time to be seen, either */
		app_draw_no_samples(app, grid, area);
		return;
	}
	int label = label_width(area.width);
	heat->cells = (struct rect){area.x + label, area.y, area.width - label, area.height};
	list_fit(&heat->list, heat->rows.len, rows);
	time_window_place(&heat->window, &app->model->timeline, (uint32_t)heat->cells.width);
	heat_sums_place(&heat->sums, app->model, &heat->window.part, is_grouped(heat, app));
	draw_axis(heat, &app->model->timeline, grid);
	draw_total(heat, app, grid, area.y + 1);
	struct row_marks marks;
	row_marks_init(&marks, &search, heat, app);
	for (size_t i = 0; i < list_seen(&heat->list); i++)
		view_heat_draw_row(heat, app, grid, rows.y + (int)i, heat->list.top + i, &marks);
	row_marks_deinit(&marks);
	if (rows.height > 0)
		mark_cursor(heat, app, grid);
}

static void view_heat_put_cell(struct heat *heat, const struct app *app, struct str *out)
{
	const struct timeline *timeline = &app->model->timeline;
	const struct timeline_sum *sums = sums_of_row(heat, app, heat->list.selected);
	if (!sums)
		return;
	uint32_t column = time_window_cursor(&heat->window, timeline);
	if (column >= heat->sums.window.columns)
		return;
	const struct timeline_sum *here = &sums[column];
	task_put_name(app, task_rows_task(&heat->rows, app, heat->list.selected), out);
	str_printf(out, "\t%llu %s in %.3f s", (unsigned long long)here->samples,
		str_plural(here->samples, "sample", "samples"),
		(double)heat->window.part.per_column * (double)timeline->bucket_ns / 1e9);
	if (here->waited)
		str_printf(out, "\twaited %.0f%%", profile_percent(here->waited, here->value));
}

static void put_range(const struct heat *heat, const struct app *app, struct str *out)
{
	struct time_span range = time_window_range(&heat->window, &app->model->timeline);
	str_printf(out, "range: %.3f s\t%.3f s to %.3f s",
		(double)(range.to_ns - range.from_ns) / 1e9, (double)range.from_ns / 1e9,
		(double)range.to_ns / 1e9);
}

static void heat_detail(void *state, struct app *app, struct str *out)
{
	struct heat *heat = state;
	if (!heat->rows.len)
		return;
	if (time_window_has_range(&heat->window))
		put_range(heat, app, out);
	else
		view_heat_put_cell(heat, app, out);
	str_printf(out, "\tat %.3f s\t", (double)heat->window.cursor_ns / 1e9);
	time_axis_put_wall(out, app->model->profile, heat->window.cursor_ns);
}

/* ---- input ---- */

static void turn_row(void *state, struct app *app, enum action action)
{
	(void)action;
	struct heat *heat = state;
	if (heat->list.selected >= heat->rows.len)
		return;
	size_t row = task_rows_parent(&heat->rows, heat->list.selected);
	task_rows_turn(&heat->rows, app, row, !heat->rows.data[row].is_open);
	task_rows_select(&heat->rows, app, row);
	heat_update(heat, app);
}

static void view_heat_group(void *state, struct app *app, enum action action)
{
	struct heat *heat = state;
	heat->grouping = action == ACTION_COLLAPSE_ALL ? HEAT_PROCESSES : HEAT_THREADS;
	task_rows_turn_all(&heat->rows, false);
	heat_update(heat, app);
}

static void view_heat_zoom(void *state, struct app *app, enum action action)
{
	struct heat *heat = state;
	bool goes_in = action == ACTION_EXPAND;
	if (time_window_zoom(&heat->window, &app->model->timeline, goes_in))
		return;
	app_warn(app, goes_in ? "as fine as it gets; what a range (v, Enter) holds is seen finer"
			      : "this is all of the time");
}

static void view_heat_move(void *state, struct app *app, enum action action)
{
	struct heat *heat = state;
	time_window_move(&heat->window, &app->model->timeline, action == ACTION_LEFT ? -1 : 1);
}

/* On the range; where there is none, on the row. */
static void filter(void *state, struct app *app, enum action action)
{
	(void)action;
	struct heat *heat = state;
	if (!time_window_has_range(&heat->window)) {
		task_rows_filter(&heat->rows, app, heat->list.selected);
		return;
	}
	struct time_span range = time_window_range(&heat->window, &app->model->timeline);
	time_window_forget_range(&heat->window);
	heat->window.zoom = 0;
	struct scope_term term = {
		.kind = SCOPE_TIME,
		.from_ns = range.from_ns,
		.to_ns = range.to_ns,
	};
	app_filter(app, &term);
}

static void turn_range(void *state, struct app *app, enum action action)
{
	(void)action;
	struct heat *heat = state;
	if (heat->window.is_ranging) {
		time_window_end_range(&heat->window, &app->model->timeline);
		app_say(app, "Enter shows only this range, Esc forgets it");
	} else {
		time_window_begin_range(&heat->window, &app->model->timeline);
		app_say(app, "the range begins here: arrows move its end, v ends it");
	}
}

static const struct view_action actions[] = {
	{ACTION_RANGE, turn_range},
	{ACTION_ENTER, filter},
	{ACTION_LEFT, view_heat_move},
	{ACTION_RIGHT, view_heat_move},
	{ACTION_EXPAND, view_heat_zoom},
	{ACTION_COLLAPSE, view_heat_zoom},
	{ACTION_TOGGLE, turn_row},
	{ACTION_EXPAND_ALL, view_heat_group},
	{ACTION_OPEN_ALL, view_heat_group},
	{ACTION_COLLAPSE_ALL, view_heat_group},
	{ACTION_NONE, NULL},
};

static bool heat_act(void *state, struct app *app, enum action action)
{
	struct heat *heat = state;
	if (!heat->window.part.per_column) /* it was not shown yet */
		return false;
	if (action == ACTION_UNDO)
		return time_window_forget_range(&heat->window);
	if (view_action_run(actions, heat, app, action))
		return true;
	if (!list_act(&heat->list, action))
		return task_rows_act(&heat->rows, app, heat->list.selected, action);
	task_rows_select(&heat->rows, app, heat->list.selected);
	return true;
}

static void drag(struct heat *heat, const struct app *app, const struct input *input)
{
	struct time_window *window = &heat->window;
	const struct timeline *timeline = &app->model->timeline;
	if (input->kind == INPUT_PRESS) {
		heat->is_dragging = input->x >= heat->cells.x;
		if (heat->is_dragging)
			time_window_forget_range(window);
	}
	if (input->kind == INPUT_DRAG && heat->is_dragging && !window->is_ranging)
		time_window_begin_range(window, timeline);
	if (heat->is_dragging)
		time_window_point(window, timeline, input->x - heat->cells.x);
	if (input->kind == INPUT_RELEASE) {
		if (heat->is_dragging && window->is_ranging)
			time_window_end_range(window, timeline);
		heat->is_dragging = false;
	}
}

static bool heat_mouse(void *state, struct app *app, const struct input *input)
{
	struct heat *heat = state;
	if (!heat->window.part.per_column)
		return false;
	bool is_drag = input->kind == INPUT_PRESS || input->kind == INPUT_DRAG ||
		       input->kind == INPUT_RELEASE;
	if (is_drag)
		drag(heat, app, input);
	bool is_on_row = list_mouse(&heat->list, input);
	if (is_on_row)
		task_rows_select(&heat->rows, app, heat->list.selected);
	return is_on_row || is_drag;
}

static const enum action hints[] = {ACTION_RANGE, ACTION_ENTER, ACTION_EXPAND, ACTION_COLLAPSE,
	ACTION_ONLY_THREAD, ACTION_UNDO, ACTION_NEXT_VIEW, ACTION_NONE};

static const struct view_word words[] = {{ACTION_ENTER, "only this"}, {ACTION_EXPAND, "zoom in"},
	{ACTION_COLLAPSE, "zoom out"}, {ACTION_NONE, NULL}};

const struct view view_heat = {
	.name = "Timeline",
	.short_name = "Time",
	.create = heat_create,
	.destroy = heat_destroy,
	.update = heat_update,
	.renew = heat_renew,
	.draw = heat_draw,
	.act = heat_act,
	.mouse = heat_mouse,
	.detail = heat_detail,
	.search = &search,
	.hints = hints,
	.words = words,
};
