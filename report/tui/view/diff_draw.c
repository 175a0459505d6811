#include <math.h>
#include <string.h>

#include "report/model/event_value.h"
#include "report/tui/fitting_name.h"
#include "report/tui/view/diff.h"
#include "report/write/diff/diff_words.h"

enum {
	SIGN_WIDTH = 2,        /* of "+ " in front of a name */
	ROOM_FOR_VERDICT = 14, /* lines */
	ROOM_FOR_LINES = 18,   /* for several of them */
	VERDICT_LINES = 3,
};

static void diff_draw_place_columns(struct diff *diff, const struct app *app, struct rect area)
{
	/* Below some widths of the screen a column goes, the least telling first. */
	static const struct list_column columns[DIFF_COLUMNS] = {
		[DIFF_BASE] = {"before", .width = 9, .room = 44, .is_right = true},
		[DIFF_NEW] = {"new", .width = 9, .room = 32, .is_right = true},
		[DIFF_DELTA] = {"", .width = 11, .is_right = true},
		[DIFF_TOTAL] = {"in total", .width = 11, .room = 100, .is_right = true},
		[DIFF_BAR] = {"less | more", 12, .room = 76, .is_bar = true, .bar_of = DIFF_DELTA},
		[DIFF_OBJECT] = {"file", .width = 16, .room = 62, .is_text = true},
		[DIFF_FUNCTION] = {"  function (+new -old)", .parts = 1, .is_text = true},
	};
	enum {
		WIDE = 120,
		MORE = 10,      /* columns for bars and objects of a wide one */
		PLACE_ROOM = 42 /* of a title with what the list says of its place behind it */
	};
	memcpy(diff->columns, columns, sizeof(columns));
	diff->columns[DIFF_DELTA].title = diff_title(diff, app);
	diff->columns[DIFF_BAR].width += area.width >= WIDE ? MORE : 0;
	diff->columns[DIFF_OBJECT].width += area.width >= WIDE ? MORE : 0;
	list_header_place(&diff->header, diff->columns, DIFF_COLUMNS, area);
	struct list_column *function = &diff->columns[DIFF_FUNCTION];
	int room = list_header_width(&diff->header, DIFF_FUNCTION);
	if ((int)strlen(function->title) + list_place_width(&diff->list) > room)
		function->title = "  function";
}

/* From the middle to the right for what is slower, to the left for what is faster. */
static void draw_bar(struct grid *grid, int x, int y, int width, unsigned style, double share)
{
	static const char *const whole[] = {"█", "█", "-", "+"};
	static const char *const half[] = {"▐", "▌", "-", "+"};
	int room = (width - 1) / 2, middle = x + room;
	if (room <= 0)
		return;
	size_t kind = (grid->is_ascii ? 2 : 0) + (share > 0);
	int halves = (int)(fabs(share) * room * 2 + 0.5);
	grid_put(grid, middle, y, 1, STYLE_DIM, grid_glyph(grid, GLYPH_WALL));
	for (int i = 1; i <= room && halves > 0; i++, halves -= 2)
		grid_put(grid, share > 0 ? middle + i : middle - i, y, 1, style,
			halves > 1 ? whole[kind] : half[kind]);
}

static void draw_value(const struct diff *diff, const struct app *app, struct grid *grid, int y,
	enum diff_column column, const struct compare_row *row)
{
	CLEANUP(str_deinit) struct str text = {0};
	unsigned style = STYLE_NORMAL;
	enum compare_metric metric = column == DIFF_TOTAL ? COMPARE_TOTAL : COMPARE_SELF;
	if (column == DIFF_BASE)
		diff_put_value(app, row, MATCH_BASE, COMPARE_SELF, &text);
	else if (column == DIFF_NEW)
		diff_put_value(app, row, MATCH_NEW, COMPARE_SELF, &text);
	else
		diff_put_delta(diff, app, row, metric, &text);
	if (column >= DIFF_DELTA)
		style = diff_delta_style(app, row, metric);
	list_header_put(&diff->header, grid, y, column, style, str_text(&text));
}

static unsigned diff_draw_name_style(const struct app *app, const struct compare_row *row)
{
	if (!row->is_known)
		return STYLE_UNKNOWN;
	bool is_kernel = row->frame && profile_is_kernel(app->model->profile,
					       app->model->names->frames.data[row->frame].object);
	return is_kernel ? STYLE_KERNEL : STYLE_NORMAL;
}

static void diff_draw_row(const struct diff *diff, const struct app *app, struct grid *grid, int y,
	size_t index, const struct row_marks *marks)
{
	const struct compare_row *row = diff_row(diff, app, index);
	for (int column = 0; column <= DIFF_TOTAL; column++)
		draw_value(diff, app, grid, y, column, row);
	double delta = diff_delta(app, row, COMPARE_SELF);
	if (diff->greatest > 0)
		draw_bar(grid, diff->header.x[DIFF_BAR], y,
			list_header_width(&diff->header, DIFF_BAR),
			diff_delta_style(app, row, COMPARE_SELF), delta / diff->greatest);
	list_header_put(&diff->header, grid, y, DIFF_OBJECT, STYLE_DIM, row->object);
	CLEANUP(str_deinit) struct str name = {0}, storage = {0};
	const char *sign = diff_sign(row);
	const char *own_name = profile_own_name(row->name, row->object);
	struct profile_function function = {.name = own_name, .system_name = own_name};
	int room = list_header_width(&diff->header, DIFF_FUNCTION) - SIGN_WIDTH;
	str_printf(&name, "%s %s", sign[0] ? sign : " ",
		fitting_name(grid, &function, room, &storage));
	unsigned style = diff_draw_name_style(app, row);
	if (sign[0] && style == STYLE_NORMAL)
		style = diff_delta_style(app, row, COMPARE_TOTAL);
	style = row_marks_style(marks, app_form(app)->search, diff, app, index, style);
	list_header_put(&diff->header, grid, y, DIFF_FUNCTION, style, str_text(&name));
}

static void diff_draw_put_side(
	const struct slice_sum *whole, const struct profile_event *event, struct str *out)
{
	str_printf(out, "%llu %s", (unsigned long long)whole->samples,
		str_plural(whole->samples, "sample", "samples"));
	str_puts(out, ", ");
	event_value_put(event, whole->value, false, out);
}

const char *diff_base_name(const struct app *app, const char *path)
{
	const struct app_options *options = app->options;
	bool is_named = options->baseline_name && strcmp(path, options->baseline) == 0;
	return is_named ? options->baseline_name : path;
}

/* As many whole words as fit into a line. */
static size_t words_of_line(const struct grid *grid, const char *text, int width)
{
	size_t len = strlen(text), fits = grid_text_fit(grid, text, len, width), words = fits;
	if (fits == len)
		return len;
	while (words && text[words] != ' ')
		words--;
	return words ? words : fits;
}

/* Returns how many lines they took; what is left is elided in the last one. */
static int diff_draw_sentences(
	struct grid *grid, struct rect area, unsigned style, const char *text)
{
	int line = 0;
	while (line < area.height && *text) {
		size_t len = line + 1 < area.height ? words_of_line(grid, text, area.width)
						    : strlen(text);
		CLEANUP_FREE char *words = mem_strndup(text, len);
		grid_put_elided(grid, area.x, area.y + line++, area.width, style, words);
		text += len;
		text += *text == ' ';
	}
	return line;
}

/* What is to be told in one sentence; under filters it is about what they leave. */
static int diff_draw_verdict(
	const struct comparison *comparison, struct grid *grid, struct rect area)
{
	const struct difference *judged = comparison->compare.judged;
	if (!judged || area.height < ROOM_FOR_VERDICT)
		return 0;
	CLEANUP(str_deinit) struct str text = {0};
	diff_put_verdict(&text, judged);
	unsigned style = judged->verdict == DIFF_REGRESSION ? STYLE_WORSE : STYLE_NORMAL;
	area.height = area.height < ROOM_FOR_LINES ? 1 : VERDICT_LINES;
	return diff_draw_sentences(grid, area, style | STYLE_BOLD, str_text(&text));
}

static const char *const side_words[] = {[MATCH_BASE] = "before", [MATCH_NEW] = "new"};

/* The recording that is open has its name in the title. */
static void diff_draw_put_name(const struct app *app, enum match_side side, struct str *out)
{
	const struct comparison *comparison = app->model->comparison;
	str_puts(out, side_words[side]);
	if (side != comparison->own_side)
		str_printf(out, " %s", diff_base_name(app, comparison->path));
	str_puts(out, ": ");
}

int diff_draw_summary(
	const struct diff *diff, const struct app *app, struct grid *grid, struct rect area)
{
	const struct comparison *comparison = app->model->comparison;
	const struct profile_event *event = app_event(app);
	CLEANUP(str_deinit) struct str text = {0}, notes = {0};
	int verdict = diff_draw_verdict(comparison, grid, area);
	area.y += verdict;
	area.height -= verdict;
	diff_draw_put_name(app, MATCH_BASE, &text);
	diff_draw_put_side(&comparison->compare.wholes.base, event, &text);
	str_puts(&text, "  ");
	diff_draw_put_name(app, MATCH_NEW, &text);
	diff_draw_put_side(&comparison->compare.wholes.new, event, &text);
	grid_put_elided(grid, area.x, area.y, area.width, STYLE_NORMAL, str_text(&text));
	if (comparison->nr_left_out)
		str_printf(&notes, "%s is of all threads and of all its time; ",
			side_words[match_other_side(comparison->own_side)]);
	if (diff->has_doubts)
		str_puts(&notes, "~ cannot tell; ");
	str_puts(&notes, str_text(&comparison->notes));
	if (!notes.len || area.height < 6)
		return verdict + 1;
	str_truncate(&notes, notes.len - strlen("; "));
	grid_put(grid, area.x, area.y + 1, area.width,
		comparison->nr_left_out || comparison->notes.len ? STYLE_WARNING : STYLE_DIM,
		str_text(&notes));
	return verdict + 2;
}

/* Why there is no comparison, and what to do about it: lines. */
static unsigned explain(const struct app *app, struct str *out)
{
	const struct comparison *comparison = app->model->comparison;
	bool is_answer = comparison && comparison->serial == app->wish.baseline_serial;
	if (!app->wish.baseline) {
		str_printf(out,
			"There is nothing to compare with yet.\n"
			"D loads an earlier recording: the baseline, \"before\".\n"
			"Or: ebprof report %s --baseline FILE\n",
			app->options->file_name);
		return STYLE_NORMAL;
	}
	if (is_answer && comparison->problem)
		str_printf(out, "%s: %s\nD chooses another recording.\n",
			diff_base_name(app, comparison->path), comparison->problem);
	else if (app->busy || app->model->wish_serial != app->wish.serial)
		str_printf(out, "reading %s\n", diff_base_name(app, app->wish.baseline));
	else
		str_printf(out, "%s was not read.\nD reads it.\n",
			diff_base_name(app, app->wish.baseline));
	return STYLE_WARNING;
}

void diff_draw_without(const struct app *app, struct grid *grid, struct rect area)
{
	CLEANUP(str_deinit) struct str text = {0};
	unsigned style = explain(app, &text);
	const char *at = str_text(&text);
	for (int y = 0; *at && y < area.height; y++) {
		size_t len = strcspn(at, "\n");
		CLEANUP_FREE char *line = mem_strndup(at, len);
		grid_put_elided(grid, area.x, area.y + y, area.width, style, line);
		at += len + (at[len] == '\n');
	}
}

static void draw_rows(struct diff *diff, const struct app *app, struct grid *grid, struct rect area)
{
	struct row_marks marks;
	row_marks_init(&marks, app_form(app)->search, diff, app);
	for (size_t i = 0; i < list_seen(&diff->list); i++)
		diff_draw_row(diff, app, grid, area.y + (int)i, diff->list.top + i, &marks);
	row_marks_deinit(&marks);
	list_mark(&diff->list, grid);
	list_draw_place(&diff->list, grid);
	if (!diff->rows.len)
		grid_put(grid, area.x, area.y, area.width, STYLE_WARNING,
			"no samples on either side: Esc undoes the last filter");
}

void diff_list_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct diff *diff = state;
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&diff->list, diff->rows.len, rows);
	diff_draw_place_columns(diff, app, area);
	list_header_draw(&diff->header, grid);
	draw_rows(diff, app, grid, rows);
}
