/* Where names came from, file by file, and what is missing. */
#include <stdlib.h>
#include <string.h>

#include "format/base/hex.h"
#include "report/tui/app_state.h"
#include "report/tui/renewal.h"
#include "report/tui/row_search.h"
#include "report/tui/view/list_header.h"
#include "report/tui/view/view_action.h"
#include "report/write/cut_stacks.h"
#include "report/write/unsymbolized.h"

enum symbols_column {
	SYMBOLS_SELF,
	SYMBOLS_NAMED,
	SYMBOLS_STATE,
	SYMBOLS_BUILD,
	SYMBOLS_OBJECT,
	SYMBOLS_FROM,
	SYMBOLS_COLUMNS,
};

/* What is known of an object's code, from all sources. */
enum symbols_state {
	STATE_NONE,
	STATE_NAMES,
	STATE_LINES,
	STATE_INLINES,
};

struct symbols_row {
	uint32_t object;
	enum symbols_state state;
	uint64_t self, self_samples, unnamed; /* unnamed: of self */
	struct unsymbolized_functions functions;
};

struct symbols {
	struct list list;
	struct list_header header;
	uint32_t selected;            /* object; 0: none */
	VEC(struct symbols_row) rows; /* ordered */
};

static void *symbols_create(void)
{
	return mem_zalloc(sizeof(struct symbols));
}

static void symbols_destroy(void *state)
{
	struct symbols *symbols = state;
	vec_deinit(&symbols->rows);
	mem_free(symbols);
}

/* ---- rows ---- */

static void raise_state(struct symbols_row *row, enum symbols_state state)
{
	if (row->state < state)
		row->state = state;
}

/* Where a frame tells a line or an inlined function, its object does. */
static void find_states(const struct model_names *names, struct symbols_row *rows)
{
	vec_each(&names->frames, frame) {
		struct symbols_row *row = &rows[frame->object];
		if (names->functions.data[frame->function].is_known)
			raise_state(row, STATE_NAMES);
		if (frame->line)
			raise_state(row, STATE_LINES);
		if (frame->innermost)
			raise_state(row, STATE_INLINES);
	}
}

static void view_symbols_weigh(const struct model *model, struct symbols_row *rows)
{
	vec_each(&model->functions, weight) {
		const struct profile_function *function = model_function(model, weight->function);
		struct symbols_row *row = &rows[function->object];
		row->self += weight->self;
		row->self_samples += weight->self_samples;
		row->unnamed += function->is_known ? 0 : weight->self;
	}
}

static void view_symbols_fill_rows(struct symbols *symbols, const struct model *model)
{
	size_t count = model->names->objects.len;
	CLEANUP_FREE struct symbols_row *all = mem_zalloc_array(count, sizeof(*all));
	CLEANUP_FREE struct unsymbolized_functions *functions = unsymbolized_count_functions(
		model->names->functions.data, model->names->functions.len, count);
	find_states(model->names, all);
	view_symbols_weigh(model, all);
	symbols->rows.len = 0;
	for (uint32_t i = 1; i < count; i++) {
		all[i].object = i;
		all[i].functions = functions[i];
		if (model_object(model, i)->is_used)
			vec_push(&symbols->rows, all[i]);
	}
}

static const char *state_text(const struct model *model, const struct symbols_row *row)
{
	static const char *const texts[] = {
		[STATE_NONE] = "none",
		[STATE_NAMES] = "names",
		[STATE_LINES] = "lines",
		[STATE_INLINES] = "inlines",
	};
	bool is_exports = row->state == STATE_NAMES &&
			  model_object(model, row->object)->symbols_level == SYMBOL_LEVEL_DYNSYM;
	return is_exports ? "exports" : texts[row->state];
}

/* What is to be shown in few words: trouble first. */
static const char *source_text(const struct model *model, const struct symbols_row *row)
{
	const struct profile_object *object = model_object(model, row->object);
	if (object->lacks_debug_parts)
		return "parts of its debug information are missing";
	if (row->state == STATE_NONE && object->symbols_problem)
		return object->symbols_problem;
	if (object->symbols_from)
		return object->symbols_from;
	return object->symbols_problem ? object->symbols_problem : "";
}

/* In front of the source, how many functions may begin or end somewhere else. */
static void put_source(const struct model *model, const struct symbols_row *row, struct str *out)
{
	if (row->functions.guessed)
		str_printf(
			out, "%zu of %zu guessed; ", row->functions.guessed, row->functions.count);
	str_puts(out, source_text(model, row));
}

static void view_symbols_put_build_id(
	const struct profile_object *object, size_t bytes_max, struct str *out)
{
	size_t len = object->info.build_id_len;
	hex_put(out, object->info.build_id, len < bytes_max ? len : bytes_max);
	if (!len)
		str_puts(out, "-");
}

/* Of its samples, in percent. */
static double named_percent(const struct symbols_row *row)
{
	return profile_percent(row->self - row->unnamed, row->self);
}

/* ---- order ---- */

struct ordering {
	const struct model *model;
	const struct symbols *symbols;
};

static int descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int compare_column(
	const struct ordering *by, const struct symbols_row *a, const struct symbols_row *b)
{
	const struct profile_object *x = model_object(by->model, a->object);
	const struct profile_object *y = model_object(by->model, b->object);
	switch ((enum symbols_column)by->symbols->header.order) {
	case SYMBOLS_SELF:
		return descending(a->self, b->self);
	case SYMBOLS_NAMED: /* what lacks most for whom */
		return descending(a->unnamed, b->unnamed);
	case SYMBOLS_STATE:
		return (int)a->state - (int)b->state;
	case SYMBOLS_BUILD:
		return descending(x->info.build_id_len, y->info.build_id_len);
	case SYMBOLS_FROM:
		return strcmp(source_text(by->model, a), source_text(by->model, b));
	case SYMBOLS_OBJECT:
	case SYMBOLS_COLUMNS:
		break;
	}
	return strcmp(x->name, y->name);
}

static int view_symbols_compare_rows(const void *a, const void *b, void *context)
{
	const struct ordering *by = context;
	const struct symbols_row *x = a, *y = b;
	int order = compare_column(by, x, y);
	if (order)
		return by->symbols->header.is_reversed ? -order : order;
	order = descending(x->self, y->self);
	return order ? order : (x->object > y->object) - (x->object < y->object);
}

static void symbols_update(void *state, struct app *app)
{
	struct symbols *symbols = state;
	view_symbols_fill_rows(symbols, app->model);
	struct ordering by = {app->model, symbols};
	size_t count = symbols->rows.len;
	if (count)
		qsort_r(symbols->rows.data, count, sizeof(*symbols->rows.data),
			view_symbols_compare_rows, &by);
	symbols->list.count = count;
	for (size_t i = 0; i < count; i++)
		if (symbols->rows.data[i].object == symbols->selected)
			symbols->list.selected = i;
}

static void symbols_renew(void *state, const struct renewal *renewal)
{
	struct symbols *symbols = state;
	symbols->selected = renewal_object(renewal, symbols->selected);
}

static const struct symbols_row *selected_row(const struct symbols *symbols)
{
	size_t at = symbols->list.selected;
	return at < symbols->rows.len ? &symbols->rows.data[at] : NULL;
}

static void view_symbols_select_row(struct symbols *symbols)
{
	const struct symbols_row *row = selected_row(symbols);
	symbols->selected = row ? row->object : 0;
}

/* ---- searching ---- */

static struct list *view_symbols_list(void *state)
{
	return &((struct symbols *)state)->list;
}

static bool view_symbols_is_match(
	const void *state, const struct app *app, const struct pattern *pattern, size_t row)
{
	const struct symbols *symbols = state;
	uint32_t object = symbols->rows.data[row].object;
	return pattern_matches(pattern, model_object(app->model, object)->path);
}

static uint64_t view_symbols_weight(const void *state, const struct app *app, size_t row)
{
	const struct symbols *symbols = state;
	(void)app;
	return symbols->rows.data[row].self;
}

static void view_symbols_select_match(void *state, struct app *app)
{
	(void)app;
	view_symbols_select_row(state);
}

static const struct row_search search = {
	.list = view_symbols_list,
	.is_match = view_symbols_is_match,
	.select = view_symbols_select_match,
	.weight = view_symbols_weight,
};

/* ---- drawing ---- */

/* Below some widths of the screen a column goes. */
static const struct list_column columns[SYMBOLS_COLUMNS] = {
	[SYMBOLS_SELF] = {"self", .width = 9, .is_right = true},
	[SYMBOLS_NAMED] = {"named", .width = 8, .room = 50, .is_right = true},
	[SYMBOLS_STATE] = {"state", .width = 8, .room = 36},
	[SYMBOLS_BUILD] = {"build ID", .width = 14, .room = 100},
	[SYMBOLS_OBJECT] = {"file", .parts = 2, .is_text = true},
	[SYMBOLS_FROM] = {"from", .parts = 3, .room = 70, .is_text = true},
};

static void put_named(const struct symbols_row *row, struct str *out)
{
	if (row->self)
		str_printf(out, "%.1f%%", named_percent(row));
	else
		str_puts(out, "-");
}

static void view_symbols_put_cell(const struct app *app, const struct symbols_row *row,
	enum symbols_column column, struct str *out)
{
	enum {
		SHORT_BUILD_ID = 6 /* bytes */
	};
	const struct profile_object *object = model_object(app->model, row->object);
	if (column == SYMBOLS_SELF)
		app_put_value(app, out, row->self, row->self_samples);
	else if (column == SYMBOLS_NAMED)
		put_named(row, out);
	else if (column == SYMBOLS_STATE)
		str_puts(out, state_text(app->model, row));
	else if (column == SYMBOLS_BUILD)
		view_symbols_put_build_id(object, SHORT_BUILD_ID, out);
	else if (column == SYMBOLS_OBJECT)
		str_puts(out, object->name);
	else
		put_source(app->model, row, out);
}

/* Trouble is what costs a share of the samples their names. */
static unsigned view_symbols_row_style(const struct app *app, const struct symbols_row *row)
{
	static const double much_percent = 1;
	bool lacks_parts = model_object(app->model, row->object)->lacks_debug_parts;
	if (lacks_parts || app_percent(app, row->unnamed) >= much_percent)
		return STYLE_WARNING;
	return row->self ? STYLE_NORMAL : STYLE_DIM;
}

static void view_symbols_draw_row(const struct symbols *symbols, const struct app *app,
	struct grid *grid, int y, size_t index, const struct row_marks *marks)
{
	const struct symbols_row *row = &symbols->rows.data[index];
	for (int column = 0; column < SYMBOLS_COLUMNS; column++) {
		CLEANUP(str_deinit) struct str text = {0};
		view_symbols_put_cell(app, row, column, &text);
		unsigned style =
			column == SYMBOLS_BUILD ? STYLE_DIM : view_symbols_row_style(app, row);
		if (column == SYMBOLS_OBJECT)
			style = row_marks_style(marks, &search, symbols, app, index, style);
		list_header_put(&symbols->header, grid, y, column, style, str_text(&text));
	}
}

static void symbols_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct symbols *symbols = state;
	list_header_place(&symbols->header, columns, SYMBOLS_COLUMNS, area);
	list_header_draw(&symbols->header, grid);
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&symbols->list, symbols->rows.len, rows);
	struct row_marks marks;
	row_marks_init(&marks, &search, symbols, app);
	for (size_t i = 0; i < list_seen(&symbols->list); i++)
		view_symbols_draw_row(
			symbols, app, grid, rows.y + (int)i, symbols->list.top + i, &marks);
	row_marks_deinit(&marks);
	list_mark(&symbols->list, grid);
	list_draw_place(&symbols->list, grid);
}

/* The whole of what the row cuts. */
static void symbols_detail(void *state, struct app *app, struct str *out)
{
	const struct symbols_row *row = selected_row(state);
	if (!row)
		return;
	const struct profile_object *object = model_object(app->model, row->object);
	const char *path = object->path[0] ? object->path : object->name;
	str_puts_escaped(out, path);
	str_printf(out, "\t%s\t", state_text(app->model, row));
	put_source(app->model, row, out);
}

/* ---- one object's story ---- */

/* `stacks`: of all objects, see object_stacks_of(). */
static void put_story(const struct app *app, const struct symbols_row *row,
	const struct object_stacks *stacks, struct str *out)
{
	static const char *const states[] = {
		[STATE_NONE] = "no names",
		[STATE_NAMES] = "names",
		[STATE_LINES] = "names, files and lines",
		[STATE_INLINES] = "names, files, lines and inlined functions",
	};
	const struct profile_object *object = model_object(app->model, row->object);
	str_puts_escaped(out, object->path);
	str_puts(out, "\nbuild ID: ");
	view_symbols_put_build_id(object, object->info.build_id_len, out);
	str_puts(out, "\nsamples: ");
	app_put_value(app, out, row->self, row->self_samples);
	if (row->self)
		str_printf(out, ", %.1f%% of them named", named_percent(row));
	bool is_exports = row->state && object->symbols_level == SYMBOL_LEVEL_DYNSYM;
	str_printf(out, "\nknown: %s%s\n", states[row->state],
		is_exports ? ", of what it exports" : "");
	if (object->symbols_from) {
		str_puts(out, "from: ");
		str_puts_escaped(out, object->symbols_from);
		str_putc(out, '\n');
	}
	if (row->functions.count) {
		str_printf(out, "without a symbol: %zu %s, as fn_START: bounds ",
			row->functions.count,
			str_plural(row->functions.count, "function", "functions"));
		unsymbolized_put_functions(&row->functions, out);
		str_putc(out, '\n');
	}
	if (row->functions.guessed)
		str_puts(out, "guessed bounds: two functions may be shown as one, which symbols "
			      "would tell apart\n");
	cut_stacks_put_object(app->model->profile, object, &stacks[row->object],
		app->model->slice.whole.samples, out);
	unsymbolized_put_object(app->model->profile, object, app->options->files,
		row->unnamed || !row->state || row->functions.count, out);
}

static void open_story(void *state, struct app *app, enum action action)
{
	(void)action;
	const struct symbols *symbols = state;
	const struct symbols_row *row = selected_row(symbols);
	struct str text = {0};
	if (!row)
		return;
	CLEANUP_FREE struct object_stacks *stacks =
		object_stacks_of(app->model->profile, &app->model->slice);
	put_story(app, row, stacks, &text);
	overlay_open_text(&app->overlay, "Symbols", &text);
}

/* ---- input ---- */

/* A debug package has been installed since. */
static void retry(void *state, struct app *app, enum action action)
{
	(void)action;
	const struct symbols *symbols = state;
	const struct symbols_row *row = selected_row(symbols);
	if (!row)
		return;
	if (app->naming.to_name) {
		app_warn(app, "symbols are still being looked for");
		return;
	}
	app->wish.retried = row->object;
	app->wish.retry_serial++;
	app->wish.serial++;
	app_say(app, "looked again for the symbols of %s",
		model_object(app->model, row->object)->name);
}

static void keep_object(void *state, struct app *app, enum action action)
{
	(void)action;
	const struct symbols *symbols = state;
	const struct symbols_row *row = selected_row(symbols);
	if (row)
		app_filter(app, &(struct scope_term){.kind = SCOPE_OBJECT, .number = row->object});
}

/* For a view of one function: the hottest one of the file that is selected. */
static void select_hottest_of_file(const struct symbols *symbols, struct app *app)
{
	const struct symbols_row *row = selected_row(symbols);
	const struct function_weight *best = NULL;
	if (!row)
		return;
	vec_each(&app->model->functions, weight) {
		bool is_of_file =
			model_function(app->model, weight->function)->object == row->object;
		if (is_of_file &&
			(!best || weight->self > best->self ||
				(weight->self == best->self && weight->total > best->total)))
			best = weight;
	}
	if (best)
		app_select(app, best->frame);
}

static const struct view_action actions[] = {
	{ACTION_ENTER, open_story},
	{ACTION_WHOLE_NAME, open_story},
	{ACTION_RETRY, retry},
	{ACTION_ONLY_OBJECT, keep_object},
	{ACTION_NONE, NULL},
};

/* Of another order: the rows there are why it was chosen. */
static void view_symbols_show_top(struct symbols *symbols, struct app *app)
{
	symbols_update(symbols, app);
	symbols->list.selected = 0;
	view_symbols_select_row(symbols);
}

static bool symbols_act(void *state, struct app *app, enum action action)
{
	struct symbols *symbols = state;
	if (list_header_act(&symbols->header, action)) {
		view_symbols_show_top(symbols, app);
		return true;
	}
	if (view_action_run(actions, symbols, app, action))
		return true;
	if (action == ACTION_VIEW_1 + VIEW_SOURCE || action == ACTION_VIEW_1 + VIEW_BUTTERFLY) {
		select_hottest_of_file(symbols, app);
		return false;
	}
	if (!list_act(&symbols->list, action))
		return false;
	view_symbols_select_row(symbols);
	return true;
}

static bool symbols_mouse(void *state, struct app *app, const struct input *input)
{
	struct symbols *symbols = state;
	if (list_header_mouse(&symbols->header, input)) {
		view_symbols_show_top(symbols, app);
		return true;
	}
	if (!list_mouse(&symbols->list, input))
		return false;
	view_symbols_select_row(symbols);
	return true;
}

/* All of them, each with its story. */
static void symbols_print(void *state, struct app *app, struct str *out)
{
	const struct symbols *symbols = state;
	CLEANUP_FREE struct object_stacks *stacks =
		object_stacks_of(app->model->profile, &app->model->slice);
	vec_each(&symbols->rows, row) {
		put_story(app, row, stacks, out);
		str_putc(out, '\n');
	}
}

static const enum action hints[] = {ACTION_ENTER, ACTION_RETRY, ACTION_SORT_RIGHT,
	ACTION_ONLY_OBJECT, ACTION_VIEW_1 + VIEW_SOURCE, ACTION_UNDO, ACTION_NONE};

static const struct view_word words[] = {{ACTION_ENTER, "details"}, {ACTION_NONE, NULL}};

const struct view view_symbols = {
	.name = "Symbols",
	.create = symbols_create,
	.destroy = symbols_destroy,
	.update = symbols_update,
	.renew = symbols_renew,
	.draw = symbols_draw,
	.act = symbols_act,
	.mouse = symbols_mouse,
	.print = symbols_print,
	.detail = symbols_detail,
	.search = &search,
	.hints = hints,
	.words = words,
};
