/* Who ran: containers, processes and threads with what each took. */
#include <string.h>

#include "report/model/event_value.h"
#include "report/tui/renewal.h"
#include "report/tui/row_search.h"
#include "report/tui/view/list_header.h"
#include "report/tui/view/task_rows.h"
#include "report/tui/view/time_axis.h"
#include "report/tui/view/view_action.h"

enum processes_column {
	PROCESSES_SHARE,
	PROCESSES_BAR,
	PROCESSES_SAMPLES,
	PROCESSES_VALUE,
	PROCESSES_FIRST,
	PROCESSES_LAST,
	PROCESSES_PROGRAM,
	PROCESSES_NAME,
	PROCESSES_COLUMNS,
};

static const struct list_column processes_columns[PROCESSES_COLUMNS] = {
	[PROCESSES_SHARE] = {"share", .width = 9, .is_right = true},
	[PROCESSES_BAR] = {"", .width = 11, .room = 70, .is_bar = true, .bar_of = PROCESSES_SHARE},
	[PROCESSES_SAMPLES] = {"samples", .width = 10, .room = 50, .is_right = true},
	[PROCESSES_VALUE] = {"", .width = 11, .room = 60, .is_right = true},
	[PROCESSES_FIRST] = {"first", .width = 10, .room = 100, .is_right = true},
	[PROCESSES_LAST] = {"last", .width = 10, .room = 100, .is_right = true},
	[PROCESSES_PROGRAM] = {"program", .width = 21, .room = 120},
	[PROCESSES_NAME] = {"container or cgroup, process, thread", .parts = 1, .is_text = true},
};

struct processes {
	struct list list;
	struct task_rows rows;
	struct list_header header;
	bool is_arranged; /* the first time is over, which chooses what is open */
	struct list_column columns[PROCESSES_COLUMNS]; /* titles by the event that is shown */
};

static void *processes_create(void)
{
	struct processes *processes = mem_zalloc(sizeof(*processes));
	memcpy(processes->columns, processes_columns, sizeof(processes_columns));
	return processes;
}

static void processes_destroy(void *state)
{
	struct processes *processes = state;
	task_rows_deinit(&processes->rows);
	mem_free(processes);
}

/* ---- order ---- */

static int compare_falling(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int view_processes_compare_values(
	const struct app *app, const struct task *a, const struct task *b)
{
	(void)app;
	return compare_falling(a->sum.value, b->sum.value);
}

static int compare_samples(const struct app *app, const struct task *a, const struct task *b)
{
	(void)app;
	return compare_falling(a->sum.samples, b->sum.samples);
}

static int compare_first(const struct app *app, const struct task *a, const struct task *b)
{
	(void)app;
	return compare_falling(b->first_ns, a->first_ns);
}

static int compare_last(const struct app *app, const struct task *a, const struct task *b)
{
	(void)app;
	return compare_falling(a->last_ns, b->last_ns);
}

static int compare_programs(const struct app *app, const struct task *a, const struct task *b)
{
	return strcmp(task_program(app, a), task_program(app, b));
}

static int view_processes_compare_names(
	const struct app *app, const struct task *a, const struct task *b)
{
	int order = strverscmp(task_name(app, a), task_name(app, b));
	return order ? order : compare_falling(task_number(app, b), task_number(app, a));
}

static int (*const compares[PROCESSES_COLUMNS])(
	const struct app *app, const struct task *a, const struct task *b) = {
	[PROCESSES_SHARE] = view_processes_compare_values,
	[PROCESSES_SAMPLES] = compare_samples,
	[PROCESSES_VALUE] = view_processes_compare_values,
	[PROCESSES_FIRST] = compare_first,
	[PROCESSES_LAST] = compare_last,
	[PROCESSES_PROGRAM] = compare_programs,
	[PROCESSES_NAME] = view_processes_compare_names,
};

static void processes_update(void *state, struct app *app)
{
	enum {
		MANY_PROCESSES = 50 /* in several containers, which are worth to be seen first */
	};
	struct processes *processes = state;
	const struct tasks *tasks = &app->model->tasks;
	if (!processes->is_arranged)
		processes->rows.opens[TASK_CONTAINER] =
			tasks->nr_containers == 1 || tasks->nr_processes <= MANY_PROCESSES;
	processes->is_arranged = true;
	struct task_order order = {
		compares[processes->header.order], processes->header.is_reversed};
	processes->rows.len = 0;
	task_rows_add(&processes->rows, app, 1, tasks->nr_containers, &order);
	processes->list.count = processes->rows.len;
	processes->list.selected =
		task_rows_selected(&processes->rows, app, processes->list.selected);
}

static void processes_renew(void *state, const struct renewal *renewal)
{
	struct processes *processes = state;
	task_rows_renew(&processes->rows, renewal);
}

/* ---- searching ---- */

static struct list *view_processes_list(void *state)
{
	return &((struct processes *)state)->list;
}

static bool view_processes_is_match(
	const void *state, const struct app *app, const struct pattern *pattern, size_t row)
{
	return task_rows_is_match(&((const struct processes *)state)->rows, app, pattern, row);
}

static uint64_t view_processes_weight(const void *state, const struct app *app, size_t row)
{
	return task_rows_weight(&((const struct processes *)state)->rows, app, row);
}

static void view_processes_select_match(void *state, struct app *app)
{
	struct processes *processes = state;
	task_rows_select(&processes->rows, app, processes->list.selected);
}

static bool view_processes_reveal(void *state, struct app *app, const struct pattern *pattern)
{
	struct processes *processes = state;
	if (!task_rows_reveal(&processes->rows, app, pattern))
		return false;
	processes_update(processes, app);
	return true;
}

static const struct row_search search = {
	.list = view_processes_list,
	.is_match = view_processes_is_match,
	.select = view_processes_select_match,
	.weight = view_processes_weight,
	.reveal = view_processes_reveal,
};

/* ---- drawing ---- */

static const struct profile_event *shown_event(const struct app *app)
{
	return &app->model->profile->events.data[app->model->event];
}

static const char *title_of_values(const struct profile_event *event)
{
	bool is_time = strcmp(event->unit, LAYOUT_UNIT_NS) == 0;
	return event_value_is_cpu_time(event) ? "CPU" : is_time ? "time" : event->unit;
}

/* In the unit that is chosen. */
static const char *title_of_shares(const struct app *app)
{
	return app->unit == APP_PERCENT ? "share"
	       : app->unit == APP_VALUE ? title_of_values(shown_event(app))
					: "samples";
}

/* A column that is a number, or the program. */
static void view_processes_put_column(const struct app *app, const struct task *task,
	enum processes_column column, struct str *out)
{
	const uint64_t millisecond = 1000000;
	if (column == PROCESSES_SHARE)
		app_put_value(app, out, task->sum.value, task->sum.samples);
	else if (column == PROCESSES_SAMPLES)
		str_printf(out, "%llu", (unsigned long long)task->sum.samples);
	else if (column == PROCESSES_VALUE && strcmp(shown_event(app)->unit, LAYOUT_UNIT_NS) == 0)
		time_axis_put(out, task->sum.value, millisecond);
	else if (column == PROCESSES_VALUE)
		event_value_put(shown_event(app), task->sum.value, true, out);
	else if (column == PROCESSES_FIRST)
		time_axis_put(out, task->first_ns, millisecond * 10);
	else if (column == PROCESSES_LAST)
		time_axis_put(out, task->last_ns, millisecond * 10);
	else if (column == PROCESSES_PROGRAM)
		str_puts(out, task_program(app, task));
}

/* What stands ahead of its name. */
static void put_row_level(const struct task_row *row, const struct grid *grid, struct str *out)
{
	str_pad(out, ' ', 2 * (size_t)row->depth);
	str_printf(out, "%s ",
		!row->has_children ? " "
				   : grid_glyph(grid, row->is_open ? GLYPH_OPEN : GLYPH_CLOSED));
}

static void put_row_name(const struct processes *processes, const struct app *app,
	const struct grid *grid, size_t index, struct str *out)
{
	const struct task_row *row = &processes->rows.data[index];
	const struct task *task = task_rows_task(&processes->rows, app, index);
	put_row_level(row, grid, out);
	task_put_name(app, task, out);
	if (row->has_children)
		str_printf(out, " (%u %s)", task->nr_threads,
			str_plural(task->nr_threads, "thread", "threads"));
}

static void view_processes_draw_name(const struct processes *processes, const struct app *app,
	struct grid *grid, int y, size_t index, const struct row_marks *marks)
{
	CLEANUP(str_deinit) struct str name = {0}, level = {0};
	const struct task *task = task_rows_task(&processes->rows, app, index);
	unsigned style = task->kind == TASK_CONTAINER ? STYLE_NORMAL | STYLE_BOLD : STYLE_NORMAL;
	put_row_name(processes, app, grid, index, &name);
	put_row_level(&processes->rows.data[index], grid, &level);
	style = row_marks_style(marks, &search, processes, app, index, style);
	list_header_put(&processes->header, grid, y, PROCESSES_NAME, style, str_text(&name));
	/* A match is not underlined from its beginning on. */
	grid_put(grid, processes->header.x[PROCESSES_NAME], y,
		list_header_width(&processes->header, PROCESSES_NAME), style & ~STYLE_MATCH,
		str_text(&level));
}

static void view_processes_draw_row(const struct processes *processes, const struct app *app,
	struct grid *grid, int y, size_t index, const struct row_marks *marks)
{
	const struct task *task = task_rows_task(&processes->rows, app, index);
	for (int column = 0; column < PROCESSES_NAME; column++) {
		int width = list_header_width(&processes->header, column);
		CLEANUP(str_deinit) struct str text = {0};
		if (!width)
			continue;
		view_processes_put_column(app, task, (enum processes_column)column, &text);
		if (column == PROCESSES_BAR)
			grid_put_bar(grid, processes->header.x[column], y, width, STYLE_BAR,
				app_percent(app, task->sum.value) / 100);
		else
			list_header_put(&processes->header, grid, y, column,
				column == PROCESSES_SHARE ? STYLE_NORMAL : STYLE_DIM,
				str_text(&text));
	}
	view_processes_draw_name(processes, app, grid, y, index, marks);
}

static void processes_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct processes *processes = state;
	processes->columns[PROCESSES_VALUE].title = title_of_values(shown_event(app));
	processes->columns[PROCESSES_SHARE].title = title_of_shares(app);
	list_header_place(&processes->header, processes->columns, PROCESSES_COLUMNS, area);
	list_header_draw(&processes->header, grid);
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&processes->list, processes->rows.len, rows);
	struct row_marks marks;
	row_marks_init(&marks, &search, processes, app);
	for (size_t i = 0; i < list_seen(&processes->list); i++)
		view_processes_draw_row(
			processes, app, grid, rows.y + (int)i, processes->list.top + i, &marks);
	row_marks_deinit(&marks);
	list_mark(&processes->list, grid);
	list_draw_place(&processes->list, grid);
	if (!processes->rows.len)
		app_draw_no_samples(app, grid, rows);
}

/* What has no room in its row. */
static void processes_detail(void *state, struct app *app, struct str *out)
{
	const struct processes *processes = state;
	const struct task *task = task_rows_task(&processes->rows, app, processes->list.selected);
	if (!task)
		return;
	task_put_name(app, task, out);
	str_putc(out, '\t');
	app_put_value(app, out, task->sum.value, task->sum.samples);
	str_printf(out, "\t%llu %s\t%.2f s to %.2f s", (unsigned long long)task->sum.samples,
		str_plural(task->sum.samples, "sample", "samples"), (double)task->first_ns / 1e9,
		(double)task->last_ns / 1e9);
	if (task->kind == TASK_CONTAINER)
		return;
	const struct profile *profile = app->model->profile;
	uint32_t process = task->kind == TASK_THREAD ? profile->threads.data[task->index].process
						     : task->index;
	const struct profile_process *it = &profile->processes.data[process];
	if (it->info.exe)
		str_printf(out, "\t%s", model_object(app->model, it->info.exe)->path);
	if (scope_container(it)[0])
		str_printf(out, "\t%s", scope_container(it));
}

/* ---- input ---- */

static void view_processes_turn(struct processes *processes, struct app *app, bool opens)
{
	task_rows_turn(&processes->rows, app, processes->list.selected, opens);
	processes_update(processes, app);
}

static void view_processes_select_row(struct processes *processes, struct app *app, size_t row)
{
	processes->list.selected = row;
	task_rows_select(&processes->rows, app, row);
}

/* Closes what is open, else goes to what it is in. */
static void go_out(void *state, struct app *app, enum action action)
{
	(void)action;
	struct processes *processes = state;
	size_t row = processes->list.selected;
	if (processes->rows.data[row].is_open)
		view_processes_turn(processes, app, false);
	else
		view_processes_select_row(processes, app, task_rows_parent(&processes->rows, row));
}

static void go_in(void *state, struct app *app, enum action action)
{
	(void)action;
	view_processes_turn(state, app, true);
}

static void view_processes_toggle(void *state, struct app *app, enum action action)
{
	(void)action;
	struct processes *processes = state;
	bool is_open = processes->rows.data[processes->list.selected].is_open;
	view_processes_turn(processes, app, !is_open);
}

static void turn_all(void *state, struct app *app, enum action action)
{
	struct processes *processes = state;
	task_rows_turn_all(&processes->rows, action != ACTION_COLLAPSE_ALL);
	processes_update(processes, app);
}

static void view_processes_enter(void *state, struct app *app, enum action action)
{
	(void)action;
	const struct processes *processes = state;
	task_rows_filter(&processes->rows, app, processes->list.selected);
}

/* All are about the selected row. */
static const struct view_action actions[] = {
	{ACTION_EXPAND, go_in},
	{ACTION_RIGHT, go_in},
	{ACTION_COLLAPSE, go_out},
	{ACTION_LEFT, go_out},
	{ACTION_TOGGLE, view_processes_toggle},
	{ACTION_EXPAND_ALL, turn_all},
	{ACTION_OPEN_ALL, turn_all},
	{ACTION_COLLAPSE_ALL, turn_all},
	{ACTION_ENTER, view_processes_enter},
	{ACTION_NONE, NULL},
};

/* Of another order: the rows there are why it was chosen. */
static void view_processes_show_top(struct processes *processes, struct app *app)
{
	processes_update(processes, app);
	view_processes_select_row(processes, app, 0);
}

static bool processes_act(void *state, struct app *app, enum action action)
{
	struct processes *processes = state;
	if (processes->list.selected < processes->rows.len &&
		view_action_run(actions, processes, app, action))
		return true;
	if (list_header_act(&processes->header, action)) {
		view_processes_show_top(processes, app);
		return true;
	}
	if (!list_act(&processes->list, action))
		return task_rows_act(&processes->rows, app, processes->list.selected, action);
	view_processes_select_row(processes, app, processes->list.selected);
	return true;
}

static bool processes_mouse(void *state, struct app *app, const struct input *input)
{
	struct processes *processes = state;
	if (list_header_mouse(&processes->header, input)) {
		view_processes_show_top(processes, app);
		return true;
	}
	if (!list_mouse(&processes->list, input))
		return false;
	size_t row = processes->list.selected;
	if (row >= processes->rows.len)
		return true;
	view_processes_select_row(processes, app, row);
	const struct task_row *it = &processes->rows.data[row];
	int glyph_x = processes->header.x[PROCESSES_NAME] + 2 * (int)it->depth;
	if (input->kind == INPUT_PRESS && it->has_children && input->x == glyph_x)
		view_processes_turn(processes, app, !it->is_open);
	return true;
}

/* All that is open, as wide as it is. */
static void processes_print(void *state, struct app *app, struct str *out)
{
	const struct processes *processes = state;
	struct grid plain = {.is_ascii = true};
	str_printf(out, "%9s %9s %10s %9s %9s  %s\n", title_of_shares(app), "samples",
		title_of_values(shown_event(app)), "first", "last",
		processes_columns[PROCESSES_NAME].title);
	for (size_t i = 0; i < processes->rows.len; i++) {
		const struct task *task = task_rows_task(&processes->rows, app, i);
		static const int widths[] = {[PROCESSES_SHARE] = 9,
			[PROCESSES_SAMPLES] = 10,
			[PROCESSES_VALUE] = 11,
			[PROCESSES_FIRST] = 10,
			[PROCESSES_LAST] = 10};
		for (int column = 0; column <= PROCESSES_LAST; column++) {
			CLEANUP(str_deinit) struct str text = {0};
			view_processes_put_column(app, task, (enum processes_column)column, &text);
			str_printf(out, "%*s", widths[column], str_text(&text));
		}
		CLEANUP(str_deinit) struct str name = {0};
		put_row_name(processes, app, &plain, i, &name);
		str_puts(out, "  ");
		str_puts_escaped(out, str_text(&name));
		str_putc(out, '\n');
	}
}

static const enum action hints[] = {ACTION_ENTER, ACTION_TOGGLE, ACTION_ONLY_THREAD,
	ACTION_SORT_RIGHT, ACTION_UNIT, ACTION_UNDO, ACTION_NEXT_VIEW, ACTION_NONE};

static const struct view_word words[] = {{ACTION_ENTER, "only this"}, {ACTION_NONE, NULL}};

const struct view view_processes = {
	.name = "Processes",
	.create = processes_create,
	.destroy = processes_destroy,
	.update = processes_update,
	.renew = processes_renew,
	.draw = processes_draw,
	.act = processes_act,
	.mouse = processes_mouse,
	.print = processes_print,
	.detail = processes_detail,
	.search = &search,
	.hints = hints,
	.words = words,
};
