/* How rows of branches look, on the screen and as text. */
#include <string.h>

#include "report/tui/app_state.h"
#include "report/tui/fitting_name.h"
#include "report/tui/view/branch_list.h"

enum {
	NUMBER = 9, /* columns */
	BAR = 10,
	ROOM_FOR_BAR = 70, /* below, it goes, then self */
	ROOM_FOR_SELF = 46,
	NAME = 48, /* columns that levels leave to a name where there are so many; else two thirds
		    */
	LEAST_NAME = 12,
	GAP = 2, /* before what follows the name */
	LEAST_SUFFIX = 6,
	/* Remarks like "(inlined)" are written even if that shortens the name, where there is room.
	 */
	ROOM_FOR_REMARK = 33,
	PRINTED_LEVELS = 64, /* deeper ones are numbered */
};

/* ---- numbers ---- */

static uint64_t own_samples(struct branches *branches, uint32_t node)
{
	const struct focus_node *it = branches_node(branches, node);
	if (!it->self || it->self == it->total)
		return it->self ? it->samples : 0;
	focus_expand(&branches->focus, node);
	it = branches_node(branches, node);
	uint64_t samples = it->samples;
	for (uint32_t at = it->first_child; at; at = branches_node(branches, at)->next_sibling)
		samples -= branches_node(branches, at)->samples;
	return samples;
}

static struct function_weight numbers_of(
	struct branch_list *list, const struct app *app, struct branch_row row)
{
	struct branches *branches = &list->parts[row.part];
	if (!row.node && branches->origin.function)
		return list->centre;
	bool is_counted = app->unit == APP_SAMPLES;
	uint64_t own = is_counted ? own_samples(branches, row.node) : 0;
	const struct focus_node *node = branches_node(branches, row.node);
	return (struct function_weight){
		.self = node->self,
		.total = node->total,
		.self_samples = own,
		.samples = node->samples,
	};
}

/* A caller's own time is none of what is looked at. */
static bool has_self(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	return branches->origin.direction == FOCUS_CALLEES ||
	       branches_node(branches, row.node)->self;
}

/* ---- columns ---- */

enum usual_number {
	USUAL_SELF,
	USUAL_TOTAL,
	USUAL_BAR,
};

static int place_usual(struct branch_list *list, struct rect area)
{
	int *number_x = list->columns.number_x, x = area.x;
	number_x[USUAL_SELF] = x;
	number_x[USUAL_TOTAL] = x += area.width >= ROOM_FOR_SELF ? NUMBER : 0;
	number_x[USUAL_BAR] = x += NUMBER;
	return x + (area.width >= ROOM_FOR_BAR ? BAR + 1 : 0);
}

static bool shows_self(const struct branch_list *list)
{
	return list->columns.number_x[USUAL_TOTAL] > list->columns.number_x[USUAL_SELF];
}

static void draw_usual_header(const struct branch_list *list, struct grid *grid, int y)
{
	const int *number_x = list->columns.number_x;
	if (shows_self(list))
		grid_put_right(grid, number_x[USUAL_SELF], y, NUMBER - 1, STYLE_HEADER, "self");
	grid_put_right(
		grid, number_x[USUAL_TOTAL], y, NUMBER - 1, STYLE_HEADER | STYLE_BOLD, "total");
}

static void draw_usual(struct branch_list *list, const struct app *app, struct grid *grid, int y,
	struct branch_row row)
{
	const int *number_x = list->columns.number_x;
	struct function_weight numbers = numbers_of(list, app, row);
	struct rect self = {number_x[USUAL_SELF], y, NUMBER - 1, 1};
	struct rect total = {number_x[USUAL_TOTAL], y, NUMBER - 1, 1};
	if (shows_self(list) && has_self(list, row))
		app_draw_value(app, grid, self, numbers.self, numbers.self_samples);
	app_draw_value(app, grid, total, numbers.total, numbers.samples);
	if (list->columns.name_x > number_x[USUAL_BAR])
		grid_put_bar(grid, number_x[USUAL_BAR], y, BAR, STYLE_BAR,
			app_percent(app, numbers.total) / 100);
}

static unsigned usual_style(struct branch_list *list, const struct app *app, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	unsigned style = app_name_style(app, branches_node(branches, row.node)->function);
	if (branches_is_inlined(branches, row.node) && (style & STYLE_MASK) == STYLE_NORMAL)
		style |= STYLE_INLINED;
	return style;
}

static void print_usual_header(struct str *out)
{
	str_printf(out, "%9s %9s", "self", "total");
}

static void print_usual(
	struct branch_list *list, const struct app *app, struct branch_row row, struct str *out)
{
	struct function_weight numbers = numbers_of(list, app, row);
	CLEANUP(str_deinit) struct str self = {0}, total = {0};
	if (has_self(list, row))
		app_put_value(app, &self, numbers.self, numbers.self_samples);
	app_put_value(app, &total, numbers.total, numbers.samples);
	str_printf(out, "%9s %9s", str_text(&self), str_text(&total));
}

static const struct branch_numbers *numbers_in(const struct branch_list *list)
{
	static const struct branch_numbers usual = {
		.place = place_usual,
		.draw_header = draw_usual_header,
		.draw = draw_usual,
		.name_style = usual_style,
		.print_header = print_usual_header,
		.print = print_usual,
	};
	return list->numbers ? list->numbers : &usual;
}

static void place_columns(struct branch_list *list, struct rect area)
{
	list->columns.name_x = numbers_in(list)->place(list, area);
	list->columns.end = area.x + area.width;
}

static int level_of(const struct branch_list *list, struct branch_row row)
{
	return (int)branches_level(&list->parts[row.part], row.node);
}

/*
 * Levels take two columns, or one where that is too much; when the selected row would have no room
 * for its name, all move to the left.
 */
static void place_levels(struct branch_list *list)
{
	struct branch_columns *columns = &list->columns;
	int room = columns->end - columns->name_x;
	int levels = room - NAME > room / 3 ? room - NAME : room / 3;
	int deepest = 0;
	for (size_t i = 0; i < list_seen(&list->list); i++) {
		int level = level_of(list, list->rows.data[list->list.top + i]);
		deepest = level > deepest ? level : deepest;
	}
	columns->step = deepest <= levels / 2 ? 2 : 1;
	int selected = list->rows.len ? level_of(list, branch_list_row(list)) : 0;
	int wanted = selected * columns->step;
	columns->shift = wanted > levels ? wanted - levels : 0;
}

/* Of what stands on a level, from the beginning of names; negative: out of sight. */
static int level_x(const struct branch_columns *columns, int level)
{
	return level * columns->step - columns->shift;
}

/* Rows that are too deep, or not deep enough, stand where there is room. */
static int clamp_x(const struct branch_columns *columns, int x)
{
	int last = columns->end - columns->name_x - LEAST_NAME;
	if (x > last)
		x = last;
	return x < 0 ? 0 : x;
}

int branch_list_marker_x(const struct branch_list *list, struct branch_row row)
{
	const struct branch_columns *columns = &list->columns;
	return columns->name_x + clamp_x(columns, level_x(columns, level_of(list, row)));
}

/* ---- drawing ---- */

static void draw_header(const struct branch_list *list, struct grid *grid, int y, const char *title)
{
	const struct branch_columns *columns = &list->columns;
	numbers_in(list)->draw_header(list, grid, y);
	CLEANUP(str_deinit) struct str text = {0};
	int levels = (columns->shift + columns->step - 1) / columns->step;
	if (columns->shift)
		str_printf(&text, "%s%d %s  ", grid_glyph(grid, GLYPH_ELLIPSIS), levels,
			str_plural((uint64_t)levels, "level", "levels"));
	str_puts(&text, title);
	/* A title that is cut reads worse than its first words. */
	int room = columns->end - columns->name_x - list_place_width(&list->list);
	const char *comma = strrchr(title, ',');
	if (comma && grid_text_width(grid, str_text(&text)) > room)
		str_truncate(&text, text.len - strlen(comma));
	grid_put(grid, columns->name_x, y, room, STYLE_HEADER, str_text(&text));
}

static void draw_guides(
	const struct branch_list *list, struct grid *grid, int y, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	const struct branch_columns *columns = &list->columns;
	int marker = branch_list_marker_x(list, row);
	uint32_t at = row.node;
	for (int level = level_of(list, row); level > 0; level--) {
		const struct focus_node *node = branches_node(branches, at);
		int x = columns->name_x + level_x(columns, level - 1);
		if (x < columns->name_x)
			break;
		bool is_own = at == row.node, is_last = !node->next_sibling;
		enum glyph corner = row.part == BRANCH_ABOVE ? GLYPH_CORNER_UP : GLYPH_CORNER;
		enum glyph glyph = !is_own ? GLYPH_WALL : is_last ? corner : GLYPH_TEE;
		if (x < marker && (is_own || !is_last))
			grid_put(grid, x, y, 1, STYLE_DIM, grid_glyph(grid, glyph));
		if (is_own && x + 1 < marker)
			grid_put(grid, x + 1, y, 1, STYLE_DIM, grid_glyph(grid, GLYPH_RULE));
		at = node->parent;
	}
}

static void draw_marker(
	const struct branch_list *list, struct grid *grid, int y, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	int x = branch_list_marker_x(list, row);
	if (branches_has_children(branches, row.node)) {
		bool is_open = branches_is_open(branches, row.node);
		grid_put(grid, x, y, 1, STYLE_KEY,
			grid_glyph(grid, is_open ? GLYPH_OPEN : GLYPH_CLOSED));
	} else if (level_of(list, row)) {
		grid_put(grid, x, y, 1, STYLE_DIM, grid_glyph(grid, GLYPH_RULE));
	}
}

static const char *remark_of(struct branch_list *list, struct branch_row row)
{
	if (numbers_in(list)->remark)
		return numbers_in(list)->remark(list, row);
	return branches_is_inlined(&list->parts[row.part], row.node) ? "(inlined) " : "";
}

/* What colours tell is told by words behind the name, too. */
static void put_suffix(struct branch_list *list, struct branch_row row, struct str *out)
{
	const struct branches *branches = &list->parts[row.part];
	const struct model *model = branches->model;
	uint32_t function = branches_node(branches, row.node)->function;
	const struct profile_object *object =
		model_object(model, model_function(model, function)->object);
	str_puts(out, remark_of(list, row));
	str_puts(out, object->name ? object->name : "");
}

static void draw_name(struct branch_list *list, const struct app *app, struct grid *grid, int y,
	struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	uint32_t function = branches_node(branches, row.node)->function;
	int x = branch_list_marker_x(list, row) + 2, end = list->columns.end;
	int remark = (int)strlen(remark_of(list, row));
	bool is_centre = !row.node && branches->origin.function;
	unsigned style =
		numbers_in(list)->name_style(list, app, row) | (is_centre ? STYLE_BOLD : 0);
	int width = end - x - (remark && end - x >= ROOM_FOR_REMARK ? remark - 1 + GAP : 0);
	CLEANUP(str_deinit) struct str name = {0};
	x += grid_put_elided(grid, x, y, width, style,
		     fitting_name(grid, model_function(branches->model, function), width, &name)) +
	     GAP;
	CLEANUP(str_deinit) struct str suffix = {0};
	put_suffix(list, row, &suffix);
	if (end - x >= LEAST_SUFFIX)
		grid_put_elided(grid, x, y, end - x, STYLE_DIM, str_text(&suffix));
}

static void draw_row(struct branch_list *list, const struct app *app, struct grid *grid, int y,
	struct branch_row row)
{
	numbers_in(list)->draw(list, app, grid, y, row);
	draw_guides(list, grid, y, row);
	draw_marker(list, grid, y, row);
	draw_name(list, app, grid, y, row);
}

void branch_list_draw(struct branch_list *list, const struct app *app, struct grid *grid,
	struct rect area, const char *title)
{
	enum {
		ROOM_FOR_HEADER = 4
	};
	int header = area.height >= ROOM_FOR_HEADER;
	struct rect rows = {area.x, area.y + header, area.width, area.height - header};
	size_t half = rows.height > 0 ? (size_t)rows.height / 2 : 0;
	if (list->is_to_be_centred)
		list->list.top = list->list.selected > half ? list->list.selected - half : 0;
	list->is_to_be_centred = false;
	list_fit(&list->list, list->rows.len, rows);
	place_columns(list, area);
	place_levels(list);
	if (header)
		draw_header(list, grid, area.y, title);
	for (size_t i = 0; i < list_seen(&list->list); i++)
		draw_row(list, app, grid, rows.y + (int)i, list->rows.data[list->list.top + i]);
	list_mark(&list->list, grid);
	if (header)
		list_draw_place(&list->list, grid);
}

/* ---- as text ---- */

static void print_indent(const struct branch_list *list, struct branch_row row, struct str *out)
{
	int level = level_of(list, row);
	if (level > PRINTED_LEVELS)
		str_printf(out, "%d> ", level);
	str_pad(out, ' ', 2 * (size_t)(level > PRINTED_LEVELS ? PRINTED_LEVELS : level));
}

static void print_row(const struct branch_list *list, const struct app *app, struct branch_row row,
	struct str *out)
{
	const struct branches *branches = &list->parts[row.part];
	const char *name =
		model_function(branches->model, branches_node(branches, row.node)->function)->name;
	CLEANUP(str_deinit) struct str suffix = {0};
	put_suffix((struct branch_list *)list, row, &suffix);
	/* Counting own samples expands a node, which changes nothing that is seen. */
	numbers_in(list)->print((struct branch_list *)list, app, row, out);
	str_puts(out, "  ");
	print_indent(list, row, out);
	bool is_folded =
		branches_has_children(branches, row.node) && !branches_is_open(branches, row.node);
	str_puts(out, is_folded ? "+ " : "  ");
	str_put_escaped(out, name, strlen(name));
	str_puts(out, "  ");
	str_put_escaped(out, str_text(&suffix), suffix.len);
	str_putc(out, '\n');
}

void branch_list_print(
	const struct branch_list *list, const struct app *app, const char *title, struct str *out)
{
	numbers_in(list)->print_header(out);
	str_printf(out, "  %s\n", title);
	vec_each(&list->rows, row)
		print_row(list, app, *row, out);
}
