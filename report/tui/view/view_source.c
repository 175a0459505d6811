/* The source and the instructions of one function, line by line with their time. */
#include <string.h>

#include "report/tui/app_state.h"
#include "report/tui/list.h"
#include "report/tui/renewal.h"
#include "report/tui/row_search.h"
#include "report/tui/view/view_action.h"

enum {
	SCROLL_COLUMNS = 8,
	MAX_SCROLL = 8 << 10,
	NUMBER = 9, /* columns of self, and of total */
	LINE = 7,
	INLINED_INDENT = 2,
	ROOM_FOR_TOTAL = 56, /* below, that column goes, then the next */
	ROOM_FOR_LINE = 36,
	HEIGHT_FOR_TITLE = 6,
};

struct source_view {
	struct list list;
	enum listing_layout layout;
	bool is_chosen; /* by the person; else the usual one */
	struct listing_rows rows;
	struct listing *listing;             /* held: what the rows borrow from */
	const struct annotation *annotation; /* of the model that is shown; NULL: not yet */
	struct listing_identity shown;       /* of what the selection was made in */
	struct {
		struct listing_line *data;
		size_t len, cap;
	} opened;
	struct listing_row selected; /* by which it is found again; its texts may be gone */
	bool has_selected;
	bool is_moved; /* by the person: until then it is the hottest row, in each layout */
	bool is_new;   /* the selected row is to stand in the middle */
	int scroll;
};

static void *source_create(void)
{
	return mem_zalloc(sizeof(struct source_view));
}

static void source_destroy(void *state)
{
	struct source_view *view = state;
	vec_deinit(&view->rows);
	vec_deinit(&view->opened);
	listing_release(view->listing);
	mem_free(view);
}

/* ---- rows ---- */

/* What cannot be shown in this layout is shown in another one. */
static enum listing_layout layout_of(const struct source_view *view)
{
	bool is_possible = view->is_chosen && listing_has(view->listing, view->layout);
	return is_possible ? view->layout : listing_usual_layout(view->listing);
}

static void view_source_put_rows(
	const struct source_view *view, bool is_whole, struct listing_rows *ret)
{
	struct listing_view as = {
		.layout = layout_of(view),
		.is_whole = is_whole,
		.opened = view->opened.data,
		.nr_opened = view->opened.len,
	};
	listing_put_rows(view->listing, view->annotation, &as, ret);
}

static void remember_row(struct source_view *view)
{
	view->has_selected = view->list.selected < view->rows.len;
	if (view->has_selected)
		view->selected = view->rows.data[view->list.selected];
}

/* The same row, or the nearest: an instruction's line, a line's hottest instruction. */
static size_t view_source_find_row(const struct source_view *view)
{
	const struct listing_row *wanted = &view->selected;
	size_t of_line = view->rows.len;
	for (size_t i = 0; i < view->rows.len; i++) {
		const struct listing_row *row = &view->rows.data[i];
		bool is_line = row->source == wanted->source && row->line == wanted->line;
		if (row->kind == wanted->kind && is_line && row->address == wanted->address)
			return i;
		if (row->kind < LISTING_ROW_SOURCE || !is_line || !row->line)
			continue;
		if (of_line == view->rows.len ||
			row->weight.self > view->rows.data[of_line].weight.self)
			of_line = i;
	}
	return of_line < view->rows.len ? of_line : listing_hottest(&view->rows);
}

static void rebuild(struct source_view *view)
{
	view_source_put_rows(view, true, &view->rows);
	view->list.count = view->rows.len;
	view->is_new |= !view->has_selected;
	bool is_found = view->has_selected && view->is_moved;
	view->list.selected = is_found ? view_source_find_row(view) : listing_hottest(&view->rows);
	remember_row(view);
}

static bool view_source_is_shown(const struct source_view *view, const struct listing_identity *now)
{
	return view->listing && view->shown.function &&
	       strcmp(view->shown.function, now->function) == 0 &&
	       view->shown.function_object == now->function_object;
}

/* Another function begins anew, at its hottest line. */
static void take_listing(
	struct source_view *view, struct listing *listing, const struct listing_identity *now)
{
	if (!view_source_is_shown(view, now)) {
		view->opened.len = 0;
		view->has_selected = view->is_moved = false;
		view->scroll = 0;
	}
	if (view->listing == listing)
		return;
	listing_release(view->listing);
	view->listing = listing_hold(listing);
	view->shown = listing->identity;
}

/* A user who has selected nothing yet wants to see where the time goes. */
static void select_hottest(struct app *app)
{
	const struct function_weight *best = NULL;
	vec_each(&app->model->functions, row)
		if (!best || row->self > best->self)
			best = row;
	if (best)
		app_select(app, best->frame);
}

/* What was read borrows from the profile that was. */
static void source_renew(void *state, const struct renewal *renewal)
{
	struct source_view *view = state;
	(void)renewal;
	listing_release(view->listing);
	view->listing = NULL;
	view->annotation = NULL;
	view->rows.len = view->opened.len = 0;
	view->has_selected = view->is_moved = false;
	view->shown = (struct listing_identity){0};
}

static void source_update(void *state, struct app *app)
{
	struct source_view *view = state;
	if (!app_function(app))
		select_hottest(app);
	uint32_t function = app_function(app);
	if (view->listing)
		remember_row(view);
	view->annotation = NULL;
	view->rows.len = 0;
	if (function && model_function_of(app->model, app->wish.annotated) != function)
		app_annotate(app, app->selection.frame);
	struct annotation *annotation = app->model->annotation;
	if (!function || !annotation || annotation->function != function || !app->options->code)
		return;
	struct listing_request request =
		code_request(app->options->code, app->model, app->is_intel);
	struct listing_identity now = listing_identity_of(&request);
	if (!app->listing || !listing_identity_is_equal(&app->listing->identity, &now)) {
		app->listing_wish++;
		/* What is read anew for the same function (its names have come) stays meanwhile. */
		if (!app->listing || !view_source_is_shown(view, &now) ||
			view->listing != app->listing)
			return;
	}
	take_listing(view, app->listing, &now);
	view->annotation = annotation;
	rebuild(view);
}

/* ---- searching ---- */

static void choose_row(struct source_view *view)
{
	view->is_moved = true;
	remember_row(view);
}

static struct list *view_source_list(void *state)
{
	return &((struct source_view *)state)->list;
}

static bool view_source_is_match(
	const void *state, const struct app *app, const struct pattern *pattern, size_t row)
{
	const struct source_view *view = state;
	(void)app;
	return row < view->rows.len && pattern_matches(pattern, view->rows.data[row].text);
}

static uint64_t view_source_weight(const void *state, const struct app *app, size_t row)
{
	const struct source_view *view = state;
	(void)app;
	return view->rows.data[row].weight.self;
}

static void view_source_select_match(void *state, struct app *app)
{
	(void)app;
	choose_row(state);
}

static const struct row_search search = {
	.list = view_source_list,
	.is_match = view_source_is_match,
	.select = view_source_select_match,
	.weight = view_source_weight,
};

/* ---- drawing ---- */

struct columns {
	int self, total, line, text; /* x; total and line may be where the next one is */
};

static struct columns view_source_place_columns(struct rect area)
{
	struct columns columns = {.self = area.x};
	columns.total = columns.self + NUMBER;
	columns.line = columns.total + (area.width >= ROOM_FOR_TOTAL ? NUMBER : 0);
	columns.text = columns.line + (area.width >= ROOM_FOR_LINE ? LINE : 0);
	return columns;
}

static unsigned view_source_share_style(double percent)
{
	return percent >= 10 ? STYLE_HOT : percent >= 1 ? STYLE_WARM : STYLE_DIM;
}

/* Percent are those of the function: how much of everything that is stands in the title. */
static void draw_number(const struct source_view *view, const struct app *app, struct grid *grid,
	struct rect at, uint64_t value, uint64_t samples)
{
	CLEANUP(str_deinit) struct str text = {0};
	double percent = profile_percent(value, view->annotation->whole.total);
	if (!value)
		return;
	if (app->unit == APP_PERCENT)
		str_printf(&text, "%.2f%%", percent);
	else
		app_put_value(app, &text, value, samples);
	grid_put_right(
		grid, at.x, at.y, at.width, view_source_share_style(percent), str_text(&text));
}

static void view_source_draw_numbers(const struct source_view *view, const struct app *app,
	struct grid *grid, const struct columns *columns, int y, const struct listing_row *row)
{
	struct rect self = {columns->self, y, columns->total - columns->self - 1, 1};
	struct rect total = {columns->total, y, columns->line - columns->total - 1, 1};
	draw_number(view, app, grid, self, row->weight.self, row->weight.self_samples);
	if (total.width > 0)
		draw_number(view, app, grid, total, row->weight.total, row->weight.samples);
	if (row->kind == LISTING_ROW_SOURCE && columns->text > columns->line)
		grid_printf(grid, columns->line, y, LINE - 1, STYLE_DIM, "%6u", row->line);
}

static unsigned view_source_row_style(const struct source_view *view, const struct listing_row *row)
{
	const struct listing_source *source = row->source < view->listing->sources.len
						      ? &view->listing->sources.data[row->source]
						      : NULL;
	if (row->kind == LISTING_ROW_NOTE)
		return row->weight.samples ? STYLE_UNKNOWN : STYLE_WARNING;
	if (row->kind == LISTING_ROW_FILE)
		return STYLE_HEADER;
	if (row->kind == LISTING_ROW_LABEL)
		return STYLE_DIM;
	if (listing_row_is_hot(row, view->annotation))
		return STYLE_HOT | STYLE_BOLD;
	if (row->kind == LISTING_ROW_CODE)
		return row->is_from_inlined ? STYLE_INLINED : STYLE_CODE;
	if (row->kind == LISTING_ROW_INLINED)
		return STYLE_INLINED;
	bool is_of_function = source && row->line >= source->first && row->line <= source->last;
	return is_of_function ? STYLE_NORMAL : STYLE_DIM;
}

/* As far as it is scrolled; what then stands left of it is drawn over afterwards. */
static void draw_text(const struct source_view *view, struct grid *grid,
	const struct columns *columns, struct rect line, const struct listing_row *row,
	unsigned match)
{
	int x = columns->text - view->scroll, end = line.x + line.width;
	unsigned style = view_source_row_style(view, row) | match;
	if (row->kind == LISTING_ROW_NOTE || row->kind == LISTING_ROW_FILE) {
		int room = row->weight.samples ? columns->text : line.x;
		grid_put_elided(grid, room, line.y, end - room, style, row->text);
		return;
	}
	if (row->kind == LISTING_ROW_CODE && columns->text > columns->line)
		x += grid_printf(grid, x, line.y, end - x, STYLE_DIM, "%8llx  ",
			(unsigned long long)row->address);
	if (row->kind == LISTING_ROW_INLINED)
		x += INLINED_INDENT;
	grid_put(grid, x, line.y, end - x, style, row->text);
}

static void view_source_draw_row(const struct source_view *view, const struct app *app,
	struct grid *grid, const struct columns *columns, struct rect line,
	const struct listing_row *row, unsigned match)
{
	draw_text(view, grid, columns, line, row, match);
	bool has_numbers = row->kind >= LISTING_ROW_SOURCE || row->weight.samples;
	if (!has_numbers)
		return;
	struct rect left = {line.x, line.y, columns->text - line.x, 1};
	grid_fill(grid, left, STYLE_NORMAL, " ");
	view_source_draw_numbers(view, app, grid, columns, line.y, row);
}

static void view_source_draw_title(const struct source_view *view, const struct app *app,
	struct grid *grid, struct rect line, const struct columns *columns)
{
	static const char *const layouts[] = {
		[LISTING_LAYOUT_SOURCE] = "source",
		[LISTING_LAYOUT_CODE] = "assembly",
		[LISTING_LAYOUT_BOTH] = "source and assembly",
	};
	const struct annotation_weight *whole = &view->annotation->whole;
	const struct profile_function *function =
		model_function(app->model, view->annotation->function);
	CLEANUP(str_deinit) struct str text = {0};
	grid_put_right(grid, columns->self, line.y, NUMBER - 1, STYLE_HEADER,
		app->unit == APP_PERCENT ? "self %" : "self");
	if (columns->line > columns->total)
		grid_put_right(grid, columns->total, line.y, NUMBER - 1, STYLE_HEADER,
			app->unit == APP_PERCENT ? "total %" : "total");
	str_printf(&text, "  %s", layouts[layout_of(view)]);
	if (app->unit == APP_PERCENT)
		str_puts(&text, "; % of function");
	str_printf(&text, "; %.2f%% of all", app_percent(app, whole->total));
	int end = line.x + line.width, room = end - columns->text;
	int wanted = grid_text_width(grid, function->name);
	int rest = grid_text_width(grid, str_text(&text));
	if (room - rest < rest / 2 && room - rest < wanted) /* the name is more important */
		str_truncate(&text, 0);
	else
		room -= rest;
	int used = grid_put_elided(grid, columns->text, line.y, room,
		app_name_style(app, view->annotation->function) | STYLE_BOLD, function->name);
	grid_put(grid, columns->text + used, line.y, end - columns->text - used, STYLE_HEADER,
		str_text(&text));
}

static void draw_waiting(const struct app *app, struct grid *grid, struct rect area)
{
	uint32_t function = app_function(app);
	if (function)
		grid_printf(grid, area.x, area.y, area.width, STYLE_DIM, "reading the code of %s",
			model_function(app->model, function)->name);
	else
		grid_put(grid, area.x, area.y, area.width, STYLE_WARNING,
			"select a function first: view 1");
}

static void source_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct source_view *view = state;
	if (!view->annotation) {
		draw_waiting(app, grid, area);
		return;
	}
	struct columns columns = view_source_place_columns(area);
	if (area.height >= HEIGHT_FOR_TITLE) {
		view_source_draw_title(view, app, grid, area, &columns);
		area.y++;
		area.height--;
	}
	size_t above = (size_t)(area.height > 0 ? area.height : 0) / 2;
	if (view->is_new)
		view->list.top = view->list.selected > above ? view->list.selected - above : 0;
	view->is_new = false;
	list_fit(&view->list, view->rows.len, area);
	struct row_marks marks;
	row_marks_init(&marks, &search, view, app);
	for (size_t i = 0; i < list_seen(&view->list); i++) {
		struct rect line = {area.x, area.y + (int)i, area.width, 1};
		size_t row = view->list.top + i;
		bool is_match = row_marks_has(&marks, &search, view, app, row);
		view_source_draw_row(view, app, grid, &columns, line, &view->rows.data[row],
			is_match ? STYLE_MATCH : 0);
	}
	row_marks_deinit(&marks);
	list_mark(&view->list, grid);
}

/* ---- input ---- */

static void toggle_line(void *state, struct app *app, enum action action)
{
	struct source_view *view = state;
	const struct listing_row *row = &view->rows.data[view->list.selected];
	size_t at = 0;
	if (layout_of(view) != LISTING_LAYOUT_SOURCE)
		return;
	while (at < view->opened.len && (view->opened.data[at].source != row->source ||
						view->opened.data[at].line != row->line))
		at++;
	bool is_open = at < view->opened.len;
	if (row->kind < LISTING_ROW_SOURCE || (is_open && action == ACTION_EXPAND) ||
		(!is_open && action == ACTION_COLLAPSE))
		return;
	if (is_open)
		view->opened.data[at] = view->opened.data[--view->opened.len];
	else if (row->has_code)
		vec_push(&view->opened, (struct listing_line){row->source, row->line});
	else
		app_warn(app, "%s",
			view->listing->code.disassembly.list.len
				? "this line has no instructions"
				: str_text(&view->listing->code.problem));
	view->is_moved = true;
	rebuild(view);
}

static void set_layout(struct source_view *view, struct app *app, enum listing_layout layout)
{
	if (!listing_has(view->listing, layout))
		app_warn(app, "%s",
			view->listing->sources.len
				? str_text(&view->listing->code.problem)
				: "there is no debug information that tells lines");
	view->layout = layout;
	view->is_chosen = true;
	view->is_new = true;
	rebuild(view);
}

/* The next that there is something of. */
static void next_layout(void *state, struct app *app, enum action action)
{
	(void)action;
	struct source_view *view = state;
	enum listing_layout next = layout_of(view);
	do
		next = (next + 1) % LISTING_LAYOUTS;
	while (next != layout_of(view) && !listing_has(view->listing, next));
	set_layout(view, app, next == layout_of(view) ? LISTING_LAYOUT_BOTH : next);
}

static bool line_is_hot(const void *context, size_t row)
{
	const struct source_view *view = context;
	return listing_row_is_hot(&view->rows.data[row], view->annotation);
}

/* Where nothing is searched for, the next match is what is hot. */
static bool go_to_hot_line(struct source_view *view, struct app *app, enum action action)
{
	bool is_step = action == ACTION_NEXT_MATCH || action == ACTION_PREVIOUS_MATCH;
	if (!is_step || app->wish.search)
		return false;
	if (!list_find(&view->list, action == ACTION_PREVIOUS_MATCH, line_is_hot, view))
		app_warn(app, "no line is hot");
	choose_row(view);
	return true;
}

static void scroll_sideways(void *state, struct app *app, enum action action)
{
	(void)app;
	struct source_view *view = state;
	int to = view->scroll + (action == ACTION_LEFT ? -SCROLL_COLUMNS : SCROLL_COLUMNS);
	view->scroll = to < 0 ? 0 : to > MAX_SCROLL ? MAX_SCROLL : to;
}

static void show_both_layouts(void *state, struct app *app, enum action action)
{
	(void)action;
	set_layout(state, app, LISTING_LAYOUT_BOTH);
}

static void show_source_alone(void *state, struct app *app, enum action action)
{
	(void)action;
	struct source_view *view = state;
	view->opened.len = 0;
	set_layout(view, app, LISTING_LAYOUT_SOURCE);
}

static void turn_syntax(void *state, struct app *app, enum action action)
{
	(void)action;
	app->is_intel = !app->is_intel;
	app_say(app, "%s syntax", app->is_intel ? "Intel" : "AT&T");
	source_update(state, app);
}

static const struct view_action actions[] = {
	{ACTION_LEFT, scroll_sideways},
	{ACTION_RIGHT, scroll_sideways},
	{ACTION_ENTER, toggle_line},
	{ACTION_EXPAND, toggle_line},
	{ACTION_COLLAPSE, toggle_line},
	{ACTION_TOGGLE, next_layout},
	{ACTION_EXPAND_ALL, show_both_layouts},
	{ACTION_COLLAPSE_ALL, show_source_alone},
	{ACTION_OPTIONS, turn_syntax},
	{ACTION_NONE, NULL},
};

static bool source_act(void *state, struct app *app, enum action action)
{
	struct source_view *view = state;
	if (!view->annotation || !view->rows.len)
		return false;
	if (view_action_run(actions, view, app, action) || go_to_hot_line(view, app, action))
		return true;
	if (!list_act(&view->list, action))
		return false;
	choose_row(view);
	return true;
}

static bool source_mouse(void *state, struct app *app, const struct input *input)
{
	struct source_view *view = state;
	(void)app;
	if (!view->annotation || !list_mouse(&view->list, input))
		return false;
	choose_row(view);
	return true;
}

/* The function without the rest of its file. */
static void source_print(void *state, struct app *app, struct str *out)
{
	struct source_view *view = state;
	if (!view->annotation)
		return;
	const char *name = model_function(app->model, view->annotation->function)->name;
	struct listing_rows rows = {0};
	view_source_put_rows(view, false, &rows);
	str_puts(out, "# ");
	str_puts_escaped(out, name);
	str_putc(out, '\n');
	listing_put_text(&rows, view->annotation, out);
	vec_deinit(&rows);
}

static const enum action hints[] = {ACTION_ENTER, ACTION_TOGGLE, ACTION_NEXT_MATCH, ACTION_UNIT,
	ACTION_OPTIONS, ACTION_PRINT, ACTION_NONE};

static const struct view_word words[] = {
	{ACTION_ENTER, "instructions"}, {ACTION_TOGGLE, "assembly"}, {ACTION_NONE, NULL}};

const struct view view_source = {
	.name = "Source",
	.create = source_create,
	.destroy = source_destroy,
	.update = source_update,
	.renew = source_renew,
	.draw = source_draw,
	.act = source_act,
	.mouse = source_mouse,
	.print = source_print,
	.search = &search,
	.hints = hints,
	.words = words,
};
