#include "report/tui/view/branch_list.h"

#include <string.h>

#include "report/name/chain_text.h"
#include "report/tui/app_state.h"
#include "report/tui/fitting_name.h"
#include "report/tui/view/view_action.h"

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
	const struct focus_node *first =
		branches_node(branches, branches_first_in_row(branches, row.node));
	return (struct function_weight){
		.self = branches_node(branches, row.node)->self,
		.total = first->total,
		.self_samples = own,
		.samples = first->samples,
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
	unsigned style = app_row_style(app, branches_node(branches, row.node)->function);
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

static void branch_list_place_columns(struct branch_list *list, struct rect area)
{
	list->columns.name_x = numbers_in(list)->place(list, area);
	list->columns.end = area.x + area.width;
}

static int branch_list_level_of(const struct branch_list *list, struct branch_row row)
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
		int level = branch_list_level_of(list, list->rows.data[list->list.top + i]);
		deepest = level > deepest ? level : deepest;
	}
	columns->step = deepest <= levels / 2 ? 2 : 1;
	int selected = list->rows.len ? branch_list_level_of(list, branch_list_row(list)) : 0;
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

static int branch_marker_x(const struct branch_list *list, struct branch_row row)
{
	const struct branch_columns *columns = &list->columns;
	return columns->name_x +
	       clamp_x(columns, level_x(columns, branch_list_level_of(list, row)));
}

/* ---- drawing ---- */

/* Its arrows as the terminal can draw them. */
static void put_title_words(const struct grid *grid, const char *title, struct str *out)
{
	static const struct {
		const char *text;
		enum glyph glyph;
	} arrows[] = {{"▲", GLYPH_UP}, {"▼", GLYPH_DOWN}};
	for (const char *at = title; *at;) {
		size_t i = strncmp(at, arrows[0].text, strlen(arrows[0].text)) == 0   ? 0
			   : strncmp(at, arrows[1].text, strlen(arrows[1].text)) == 0 ? 1
										      : 2;
		if (i < 2)
			str_puts(out, grid_glyph(grid, arrows[i].glyph));
		else
			str_putc(out, *at);
		at += i < 2 ? strlen(arrows[i].text) : 1;
	}
}

static void branch_list_draw_header(
	const struct branch_list *list, struct grid *grid, int y, const char *title)
{
	const struct branch_columns *columns = &list->columns;
	numbers_in(list)->draw_header(list, grid, y);
	CLEANUP(str_deinit) struct str text = {0};
	int levels = (columns->shift + columns->step - 1) / columns->step;
	if (columns->shift)
		str_printf(&text, "%s%d %s  ", grid_glyph(grid, GLYPH_ELLIPSIS), levels,
			str_plural((uint64_t)levels, "level", "levels"));
	put_title_words(grid, title, &text);
	int room = columns->end - columns->name_x - list_place_width(&list->list);
	grid_put(grid, columns->name_x, y, room, STYLE_HEADER, str_text(&text));
}

static void draw_guides(
	const struct branch_list *list, struct grid *grid, int y, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	const struct branch_columns *columns = &list->columns;
	int marker = branch_marker_x(list, row);
	uint32_t at = branches_first_in_row(branches, row.node), own = at;
	for (int level = branch_list_level_of(list, row); level > 0; level--) {
		const struct focus_node *node = branches_node(branches, at);
		int x = columns->name_x + level_x(columns, level - 1);
		if (x < columns->name_x)
			break;
		bool is_own = at == own, is_last = !node->next_sibling;
		enum glyph corner = row.part == BRANCH_ABOVE ? GLYPH_CORNER_UP : GLYPH_CORNER;
		enum glyph glyph = !is_own ? GLYPH_WALL : is_last ? corner : GLYPH_TEE;
		if (x < marker && (is_own || !is_last))
			grid_put(grid, x, y, 1, STYLE_DIM, grid_glyph(grid, glyph));
		if (is_own && x + 1 < marker)
			grid_put(grid, x + 1, y, 1, STYLE_DIM, grid_glyph(grid, GLYPH_RULE));
		at = branches_first_in_row(branches, node->parent);
	}
}

static bool is_unfolded(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	return branches_is_open(branches, row.node) && branches_has_children(branches, row.node) &&
	       !branches_is_inlined_row(branches, row.node);
}

static bool has_marker(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	return branches_is_inlined_row(branches, row.node) ||
	       branches_has_children(branches, row.node);
}

static void draw_marker(
	const struct branch_list *list, struct grid *grid, int y, struct branch_row row)
{
	int x = branch_marker_x(list, row);
	if (has_marker(list, row)) {
		bool is_open = is_unfolded(list, row);
		grid_put(grid, x, y, 1, STYLE_KEY,
			grid_glyph(grid, is_open ? GLYPH_OPEN : GLYPH_CLOSED));
	} else if (branch_list_level_of(list, row)) {
		grid_put(grid, x, y, 1, STYLE_DIM, grid_glyph(grid, GLYPH_RULE));
	}
}

static const char *branch_list_remark_of(struct branch_list *list, struct branch_row row)
{
	if (numbers_in(list)->remark)
		return numbers_in(list)->remark(list, row);
	const struct branches *branches = &list->parts[row.part];
	bool is_inlined = branches_is_inlined(branches, row.node);
	uint32_t levels = branches_levels(branches, row.node);
	if (levels == 1)
		return is_inlined ? "(inlined) " : "";
	str_truncate(&list->remark, 0);
	str_printf(&list->remark, "(%srecursive x%u) ", is_inlined ? "inlined, " : "", levels);
	return str_text(&list->remark);
}

/* ---- names of rows ---- */

/* Of functions that share a row. */
struct row_names {
	const struct branches *branches;
	const struct grid *grid; /* NULL: whole, for a file */
	const uint32_t *nodes;   /* the outermost first */
};

static void put_name_in_row(const void *context, size_t index, size_t columns, struct str *out)
{
	const struct row_names *names = context;
	const struct focus_node *node = branches_node(names->branches, names->nodes[index]);
	const struct profile_function *function =
		model_function(names->branches->model, node->function);
	CLEANUP(str_deinit) struct str name = {0};
	str_puts(out, names->grid ? fitting_name(names->grid, function, (int)columns, &name)
				  : profile_function_own_name(function));
}

static size_t columns_in_row(const void *context, const char *text, size_t len)
{
	(void)len;
	const struct row_names *names = context;
	return names->grid ? (size_t)grid_text_width(names->grid, text) : 0;
}

static void put_names_of_row(const struct branches *branches, const struct grid *grid, uint32_t row,
	int width, struct str *out)
{
	size_t count = branches_nodes_in_row(branches, row);
	CLEANUP_FREE uint32_t *nodes = mem_zalloc_array(count, sizeof(*nodes));
	uint32_t at = row;
	for (size_t i = count; i-- > 0; at = branches_node(branches, at)->parent)
		nodes[i] = at;
	struct row_names names = {branches, grid, nodes};
	struct chain_text chain = {put_name_in_row, columns_in_row, &names};
	chain_text_put(&chain, count, width > 0 ? (size_t)width : 0, out);
}

/* What stands where names do: how many there are, where all of them were inlined. */
static void branch_list_put_row_name(const struct branches *branches, const struct grid *grid,
	uint32_t row, int width, struct str *out)
{
	if (branches_is_inlined_row(branches, row))
		str_printf(out, "%zu inlined frames", branches_nodes_in_row(branches, row));
	else
		put_names_of_row(branches, grid, row, width, out);
}

static const char *file_of_row(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	const struct model *model = branches->model;
	uint32_t function = branches_node(branches, row.node)->function;
	const char *name = model_object(model, model_function(model, function)->object)->name;
	return name ? name : "";
}

/* What colours say stands in words behind the name, too. */
static void put_suffix(struct branch_list *list, const struct grid *grid, struct branch_row row,
	int width, struct str *out)
{
	const struct branches *branches = &list->parts[row.part];
	if (branches_is_inlined_row(branches, row.node)) {
		put_names_of_row(branches, grid, row.node, width, out);
		return;
	}
	str_puts(out, branch_list_remark_of(list, row));
	str_puts(out, file_of_row(list, row));
}

/* In the colour of its language, of functions of this model alone. */
static unsigned file_style(const struct branch_list *list, const struct app *app,
	const struct grid *grid, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	bool is_of_model = branches->model->names == app->model->names;
	return is_of_model ? app_file_style(app, grid, branches_node(branches, row.node)->function)
			   : STYLE_DIM;
}

/* The remark, whole as far as there is room, and in what is left the file's name. */
static void draw_suffix(struct branch_list *list, const struct app *app, struct grid *grid,
	struct rect cell, struct branch_row row)
{
	int x = cell.x, end = cell.x + cell.width;
	if (branches_is_inlined_row(&list->parts[row.part], row.node)) {
		CLEANUP(str_deinit) struct str names = {0};
		put_suffix(list, grid, row, cell.width, &names);
		grid_put_elided(grid, x, cell.y, cell.width, STYLE_DIM, str_text(&names));
		return;
	}
	x += grid_put_elided(
		grid, x, cell.y, cell.width, STYLE_DIM, branch_list_remark_of(list, row));
	if (end - x >= LEAST_SUFFIX)
		grid_put_elided(grid, x, cell.y, end - x, file_style(list, app, grid, row),
			file_of_row(list, row));
}

/* Where its name stands, up to what is said of it behind. */
static struct rect name_cell(struct branch_list *list, int y, struct branch_row row)
{
	int x = branch_marker_x(list, row) + 2, end = list->columns.end;
	int remark = (int)strlen(branch_list_remark_of(list, row));
	int width = end - x - (remark && end - x >= ROOM_FOR_REMARK ? remark - 1 + GAP : 0);
	return (struct rect){x, y, width, 1};
}

/* The function of a row that is of one; NULL: it is of several. */
static const struct profile_function *only_function(
	const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	return branches_nodes_in_row(branches, row.node) > 1
		       ? NULL
		       : model_function(
				 branches->model, branches_node(branches, row.node)->function);
}

static void branch_list_find_names(struct branch_list *list, const struct grid *grid)
{
	distinct_names_deinit(&list->names);
	for (size_t i = 0; i < list_seen(&list->list); i++) {
		struct branch_row row = list->rows.data[list->list.top + i];
		const struct profile_function *function = only_function(list, row);
		if (function)
			fitting_name_add(
				grid, function, name_cell(list, 0, row).width, &list->names);
	}
	distinct_names_find(&list->names);
}

static int draw_row_name(struct branch_list *list, struct grid *grid, struct rect cell,
	unsigned style, struct branch_row row)
{
	const struct profile_function *function = only_function(list, row);
	if (function)
		return fitting_name_draw(grid, cell, style, function, &list->names);
	CLEANUP(str_deinit) struct str name = {0};
	branch_list_put_row_name(&list->parts[row.part], grid, row.node, cell.width, &name);
	return grid_put_elided(grid, cell.x, cell.y, cell.width, style, str_text(&name));
}

static void branch_list_draw_name(struct branch_list *list, const struct app *app,
	struct grid *grid, int y, struct branch_row row)
{
	struct rect cell = name_cell(list, y, row);
	bool is_centre = !row.node && list->parts[row.part].origin.function;
	unsigned style =
		numbers_in(list)->name_style(list, app, row) | (is_centre ? STYLE_BOLD : 0);
	int x = cell.x + draw_row_name(list, grid, cell, style, row) + GAP;
	int room = list->columns.end - x;
	if (room >= LEAST_SUFFIX)
		draw_suffix(list, app, grid, (struct rect){x, y, room, 1}, row);
}

static void branch_list_draw_row(struct branch_list *list, const struct app *app, struct grid *grid,
	int y, struct branch_row row)
{
	numbers_in(list)->draw(list, app, grid, y, row);
	draw_guides(list, grid, y, row);
	draw_marker(list, grid, y, row);
	branch_list_draw_name(list, app, grid, y, row);
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
	branch_list_place_columns(list, area);
	place_levels(list);
	branch_list_find_names(list, grid);
	if (header)
		branch_list_draw_header(list, grid, area.y, title);
	for (size_t i = 0; i < list_seen(&list->list); i++)
		branch_list_draw_row(
			list, app, grid, rows.y + (int)i, list->rows.data[list->list.top + i]);
	list_mark(&list->list, grid);
	if (header)
		list_draw_place(&list->list, grid);
}

/* ---- as text ---- */

static void print_indent(const struct branch_list *list, struct branch_row row, struct str *out)
{
	int level = branch_list_level_of(list, row);
	if (level > PRINTED_LEVELS)
		str_printf(out, "%d> ", level);
	str_pad(out, ' ', 2 * (size_t)(level > PRINTED_LEVELS ? PRINTED_LEVELS : level));
}

static void branch_list_print_row(const struct branch_list *list, const struct app *app,
	struct branch_row row, struct str *out)
{
	const struct branches *branches = &list->parts[row.part];
	CLEANUP(str_deinit) struct str name = {0}, suffix = {0};
	branch_list_put_row_name(branches, NULL, row.node, 0, &name);
	put_suffix((struct branch_list *)list, NULL, row, 0, &suffix);
	/* Counting own samples expands a node, which changes nothing that is seen. */
	numbers_in(list)->print((struct branch_list *)list, app, row, out);
	str_puts(out, "  ");
	print_indent(list, row, out);
	bool is_folded =
		branches_has_children(branches, row.node) && !branches_is_open(branches, row.node);
	str_puts(out, is_folded ? "+ " : "  ");
	str_puts_escaped(out, str_text(&name));
	str_puts(out, "  ");
	str_puts_escaped(out, str_text(&suffix));
	str_putc(out, '\n');
}

void branch_list_print(
	const struct branch_list *list, const struct app *app, const char *title, struct str *out)
{
	numbers_in(list)->print_header(out);
	str_printf(out, "  %s\n", title);
	vec_each(&list->rows, row)
		branch_list_print_row(list, app, *row, out);
}

/* ---- acting ---- */

void branch_list_deinit(struct branch_list *list)
{
	for (int i = 0; i < BRANCH_PARTS; i++)
		branches_deinit(&list->parts[i]);
	distinct_names_deinit(&list->names);
	str_deinit(&list->remark);
	vec_deinit(&list->rows);
}

/* ---- rows ---- */

struct branch_row branch_list_row(const struct branch_list *list)
{
	return list->list.selected < list->rows.len
		       ? list->rows.data[list->list.selected]
		       : (struct branch_row){BRANCH_BELOW, BRANCH_NONE};
}

uint32_t branch_list_node(const struct branch_list *list)
{
	struct branch_row row = branch_list_row(list);
	const struct branches *branches = &list->parts[row.part];
	bool has_nearest = row.node != BRANCH_NONE && branches->origin.direction == FOCUS_CALLERS;
	return has_nearest ? branches_first_in_row(branches, row.node) : row.node;
}

const struct focus_node *branch_list_selected(const struct branch_list *list)
{
	uint32_t node = branch_list_node(list);
	return node == BRANCH_NONE ? NULL
				   : branches_node(&list->parts[branch_list_row(list).part], node);
}

static void push_part(struct branch_list *list, enum branch_part part)
{
	const struct branches *branches = &list->parts[part];
	size_t count = branches->lines.len;
	for (size_t i = 0; i < count; i++) {
		size_t at = part == BRANCH_ABOVE ? count - 1 - i : i;
		vec_push(&list->rows, (struct branch_row){part, branches->lines.data[at]});
	}
}

static bool is_row(struct branch_row a, struct branch_row b)
{
	return a.part == b.part && a.node == b.node;
}

/* The line of a row, or of the nearest above it in its tree. */
static size_t branch_list_find_row(const struct branch_list *list, struct branch_row row)
{
	const struct branches *branches = &list->parts[row.part];
	while (row.node != BRANCH_NONE && branches->model) {
		row.node = branches_row(branches, row.node);
		for (size_t i = 0; i < list->rows.len; i++)
			if (is_row(list->rows.data[i], row))
				return i;
		if (!row.node)
			break;
		row.node = branches_node(branches, row.node)->parent;
	}
	return 0;
}

/* The row of the deepest that is not hidden by a closed one. */
static uint32_t visible_node(const struct branches *branches, uint32_t node)
{
	uint32_t seen = node;
	for (uint32_t at = node; at && at != branches->top;) {
		at = branches_node(branches, at)->parent;
		if (!branches_is_open(branches, at))
			seen = at;
	}
	return branches_row(branches, seen);
}

static void branch_list_fill_rows(struct branch_list *list, struct branch_row selected)
{
	size_t before = list->list.selected;
	list->rows.len = 0;
	for (int part = BRANCH_PARTS; part-- > 0;) {
		if (!list->parts[part].model)
			continue;
		branches_list(&list->parts[part]);
		push_part(list, (enum branch_part)part);
	}
	if (selected.node != BRANCH_NONE)
		selected.node = visible_node(&list->parts[selected.part], selected.node);
	size_t now = branch_list_find_row(list, selected), top = list->list.top;
	/* It stays where it is on the screen, as far as the rows suffice. */
	list->list.top = top + now > before ? top + now - before : 0;
	list->list.selected = now;
	list->list.count = list->rows.len;
}

void branch_list_fill(struct branch_list *list)
{
	branch_list_fill_rows(list, branch_list_row(list));
}

struct branch_row branch_list_remember(struct branch_list *list)
{
	struct branch_row row = branch_list_row(list);
	if (row.node != BRANCH_NONE)
		row.node = branches_mark(&list->parts[row.part], row.node);
	return row;
}

void branch_list_recall(struct branch_list *list, struct branch_row remembered)
{
	struct branches *branches = &list->parts[remembered.part];
	if (remembered.node != BRANCH_NONE && branches->model)
		remembered.node = branches_marked(branches, remembered.node);
	branch_list_fill_rows(list, remembered);
}

void branch_list_renew(struct branch_list *list, const struct renewal *renewal)
{
	struct branch_row selected = branch_list_row(list);
	bool is_selected = selected.node != BRANCH_NONE;
	for (int part = 0; part < BRANCH_PARTS; part++) {
		bool is_its = is_selected && part == (int)selected.part;
		uint32_t node =
			branches_renew(&list->parts[part], is_its ? selected.node : 0, renewal);
		if (is_its)
			selected.node = node;
	}
	if (is_selected)
		list->list.selected = branch_list_find_row(list, selected);
}

void branch_list_select(struct branch_list *list, struct branch_row row)
{
	branches_reveal(&list->parts[row.part], row.node);
	branch_list_fill(list);
	list->list.selected = branch_list_find_row(list, row);
	size_t height = list->list.area.height > 0 ? (size_t)list->list.area.height : 0;
	size_t selected = list->list.selected, top = list->list.top;
	list->is_to_be_centred = selected < top || selected - top >= height;
}

/* ---- opening and closing ---- */

static void say_if_full(struct app *app, bool is_done)
{
	if (!is_done)
		app_warn(app, "too many branches were opened: C closes them");
}

/* Selected is the first of the rows that there are then. */
static void unfold_row(struct branch_list *list, struct app *app, struct branch_row row)
{
	struct branches *branches = &list->parts[row.part];
	uint32_t first = branches_first_in_row(branches, row.node);
	list->is_touched = true;
	say_if_full(app, branches_unfold(branches, row.node));
	branch_list_fill(list);
	list->list.selected = branch_list_find_row(list, (struct branch_row){row.part, first});
}

static void set_open(struct branch_list *list, struct app *app, struct branch_row row, bool is_open)
{
	struct branches *branches = &list->parts[row.part];
	list->is_touched = true;
	if (!is_open)
		branches_close(branches, row.node);
	else if (branches_is_inlined_row(branches, row.node))
		unfold_row(list, app, row);
	else if (branches_has_children(branches, row.node))
		say_if_full(app, branches_open(branches, row.node));
	branch_list_fill(list);
}

static void go_left(void *state, struct app *app, enum action action)
{
	(void)action;
	struct branch_list *list = state;
	struct branch_row row = branch_list_row(list);
	const struct branches *branches = &list->parts[row.part];
	if (is_unfolded(list, row) && row.node != branches->top) {
		set_open(list, app, row, false);
		return;
	}
	if (row.node == branches->top)
		return;
	uint32_t first = branches_first_in_row(branches, row.node);
	struct branch_row parent = {row.part, branches_node(branches, first)->parent};
	/* A function's callers stand above the line of the function, which is the other part's. */
	if (parent.node == branches->top && branches->hides_root)
		parent = (struct branch_row){BRANCH_BELOW, list->parts[BRANCH_BELOW].top};
	else if (parent.node == branches->top && !branches_shows_top(branches))
		return;
	list->list.selected = branch_list_find_row(list, parent);
}

static void go_right(void *state, struct app *app, enum action action)
{
	(void)action;
	struct branch_list *list = state;
	struct branch_row row = branch_list_row(list);
	if (!is_unfolded(list, row)) {
		set_open(list, app, row, true);
		return;
	}
	uint32_t child = branches_node(&list->parts[row.part], row.node)->first_child;
	list->list.selected = branch_list_find_row(list, (struct branch_row){row.part, child});
}

/* The levels of recursion that the row is of, or is one of. False: it is none. */
static bool turn_recursion(struct branch_list *list, struct branch_row row)
{
	struct branches *branches = &list->parts[row.part];
	bool is_merged = branches_levels(branches, row.node) > 1;
	if (!is_merged && !branches_is_level(branches, row.node))
		return false;
	row.node = branches_show_recursion(branches, row.node, is_merged);
	/* The rows are of nodes that are gone. */
	branch_list_fill_rows(list, row);
	return true;
}

/* The chain that the row is, or was part of. */
static void branch_list_turn_fold(void *state, struct app *app, enum action action)
{
	(void)action;
	struct branch_list *list = state;
	struct branch_row row = branch_list_row(list);
	struct branches *branches = &list->parts[row.part];
	if (branches_nodes_in_row(branches, row.node) > 1) {
		unfold_row(list, app, row);
		return;
	}
	list->is_touched = true;
	if (turn_recursion(list, row))
		return;
	branches_fold(branches, row.node);
	branch_list_fill(list);
}

static void branch_list_turn(void *state, struct app *app, enum action action)
{
	struct branch_list *list = state;
	struct branch_row row = branch_list_row(list);
	bool is_open = action == ACTION_TOGGLE ? !is_unfolded(list, row) : action == ACTION_EXPAND;
	set_open(list, app, row, is_open);
}

static void close_all(void *state, struct app *app, enum action action)
{
	(void)app;
	(void)action;
	struct branch_list *list = state;
	struct branch_row row = branch_list_row(list);
	list->is_touched = true;
	for (int part = 0; part < BRANCH_PARTS; part++) {
		struct branches *branches = &list->parts[part];
		if (!branches->model)
			continue;
		if (branches->shows_recursion && part == (int)row.part)
			row.node = branches_show_recursion(branches, row.node, false);
		else if (branches->shows_recursion)
			branches_show_recursion(branches, 0, false);
		branches_forget(branches);
	}
	branch_list_fill_rows(list, row);
}

static void open_hot_path(void *state, struct app *app, enum action action)
{
	(void)action;
	struct branch_list *list = state;
	struct branch_row row = branch_list_row(list);
	size_t before = list->rows.len;
	list->is_touched = true;
	say_if_full(app, branches_open_hot_path(&list->parts[row.part], row.node, 0));
	branch_list_fill(list);
	if (list->rows.len == before)
		app_say(app, "nothing more to open below it");
}

static void branch_list_open_all(void *state, struct app *app, enum action action)
{
	(void)action;
	struct branch_list *list = state;
	bool is_done = true;
	list->is_touched = true;
	for (int part = 0; part < BRANCH_PARTS; part++)
		if (list->parts[part].model)
			is_done &= branches_open_all(&list->parts[part]);
	branch_list_fill(list);
	if (!is_done)
		app_warn(app, "not all are open, the tree is too large: C closes them");
}

/* ---- searching ---- */

/* In a part that grows upwards, down is towards its root. */
static uint32_t match_in(struct branch_list *list, struct branch_row from, bool goes_up)
{
	struct branches *branches = &list->parts[from.part];
	if (!branches->model)
		return BRANCH_NONE;
	return goes_up == (from.part == BRANCH_ABOVE)
		       ? branches_next_match(branches, from.node)
		       : branches_previous_match(branches, from.node);
}

/* From the selected row to the end of its part, through the other, and from the beginning again. */
static bool branch_list_go_to_match(struct branch_list *list, bool goes_up)
{
	struct branch_row row = branch_list_row(list);
	for (int round = 0; round <= BRANCH_PARTS; round++) {
		uint32_t node = match_in(list, row, goes_up);
		if (node != BRANCH_NONE) {
			branch_list_select(list, (struct branch_row){row.part, node});
			return true;
		}
		row.part = row.part == BRANCH_ABOVE ? BRANCH_BELOW : BRANCH_ABOVE;
		row.node = BRANCH_NONE;
	}
	return false;
}

/* Of both parts the match that takes most. */
static bool branch_list_go_to_hottest_match(struct branch_list *list)
{
	enum {
		MOST = 4096, /* matches that are looked at: the way to each is found for that */
	};
	struct branch_row best = {.node = BRANCH_NONE};
	uint64_t most = 0;
	for (int part = 0; part < BRANCH_PARTS; part++) {
		struct branches *branches = &list->parts[part];
		uint32_t node =
			branches->model ? branches_next_match(branches, BRANCH_NONE) : BRANCH_NONE;
		for (int i = 0; node != BRANCH_NONE && i < MOST; i++) {
			uint64_t total = branches_node(branches, node)->total;
			if (best.node == BRANCH_NONE || total > most) {
				best = (struct branch_row){(enum branch_part)part, node};
				most = total;
			}
			node = branches_next_match(branches, node);
		}
	}
	if (best.node != BRANCH_NONE)
		branch_list_select(list, best);
	return best.node != BRANCH_NONE;
}

/* ---- input ---- */

/* All are about the selected row. */
static const struct view_action branch_actions[] = {
	{ACTION_LEFT, go_left},
	{ACTION_RIGHT, go_right},
	{ACTION_EXPAND, branch_list_turn},
	{ACTION_COLLAPSE, branch_list_turn},
	{ACTION_TOGGLE, branch_list_turn},
	{ACTION_FOLD, branch_list_turn_fold},
	{ACTION_EXPAND_ALL, open_hot_path},
	{ACTION_OPEN_ALL, branch_list_open_all},
	{ACTION_COLLAPSE_ALL, close_all},
	{ACTION_NONE, NULL},
};

bool branch_list_enter_inlined(struct branch_list *list, struct app *app)
{
	struct branch_row row = branch_list_row(list);
	if (row.node == BRANCH_NONE || !branches_is_inlined_row(&list->parts[row.part], row.node))
		return false;
	unfold_row(list, app, row);
	return true;
}

bool branch_list_act(struct branch_list *list, struct app *app, enum action action)
{
	if (action == ACTION_HOTTEST_MATCH) {
		if (!branch_list_go_to_hottest_match(list))
			app_warn(app, "nothing matches");
		return true;
	}
	if (action == ACTION_NEXT_MATCH || action == ACTION_PREVIOUS_MATCH) {
		struct branch_row before = branch_list_row(list);
		if (!branch_list_go_to_match(list, action == ACTION_PREVIOUS_MATCH)) {
			app_warn(app, app->model->matches ? "nothing matches"
							  : "search for something first: /");
			return true;
		}
		struct branch_row now = branch_list_row(list);
		if (now.part == before.part && now.node == before.node)
			app_say(app, "no other match");
		return true;
	}
	bool has_row = branch_list_row(list).node != BRANCH_NONE;
	return (has_row && view_action_run(branch_actions, list, app, action)) ||
	       list_act(&list->list, action);
}

enum branch_click branch_list_mouse(
	struct branch_list *list, struct app *app, const struct input *input)
{
	if (!list_mouse(&list->list, input))
		return BRANCH_CLICK_NONE;
	struct branch_row row = branch_list_row(list);
	bool is_press = input->kind == INPUT_PRESS || input->kind == INPUT_DOUBLE;
	if (!is_press || row.node == BRANCH_NONE || input->x != branch_marker_x(list, row) ||
		!has_marker(list, row))
		return BRANCH_CLICK_ROW;
	set_open(list, app, row, !is_unfolded(list, row));
	return BRANCH_CLICK_MARKER;
}
