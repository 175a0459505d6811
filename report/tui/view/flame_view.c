#include "report/tui/view/flame_view.h"

#include <string.h>

#include "report/analyse/frame_kind.h"
#include "report/tui/fitting_name.h"
#include "report/tui/view/view_action.h"

enum {
	WHEEL_ROWS = 3,
	CALLERS_SEEN = 2,    /* above a zoom */
	ROWS_SEARCHED = 512, /* for the next match */
	GAP = 2,             /* between a name and its value */
};

enum {
	ROOM_FOR_HEADER = 6, /* lines */
};

void flame_view_forget(struct flame_view *view)
{
	distinct_names_deinit(&view->names);
	flame_deinit(&view->flame);
	focus_deinit(&view->focus);
}

/* ---- the layout ---- */

static bool flame_view_is_caller(const struct focus *focus, uint32_t caller, uint32_t node)
{
	while (focus->nodes.data[node].depth > focus->nodes.data[caller].depth)
		node = focus->nodes.data[node].parent;
	return node == caller;
}

static void lay_out(struct flame_view *view)
{
	struct flame_options options = {
		.width = view->area.width > 0 ? (uint32_t)view->area.width : 80,
		.least = 1,
		.order = view->order,
	};
	flame_deinit(&view->flame);
	flame_init(&view->flame, &view->focus, view->root, &options);
}

size_t flame_view_above(const struct flame_view *view)
{
	return view->focus.nodes.data[view->root].depth;
}

struct flame_spot flame_view_spot(struct flame_view *view)
{
	size_t above = flame_view_above(view);
	uint32_t at = view->selected;
	for (;; at = view->focus.nodes.data[at].parent) {
		size_t row = view->focus.nodes.data[at].depth;
		if (row < above)
			return (struct flame_spot){at, row, NULL};
		flame_grow(&view->flame, row - above + 1);
		const struct flame_box *box = flame_box_of(&view->flame, row - above, at);
		if (box)
			return (struct flame_spot){at, row, box};
	}
}

void flame_view_zoom(struct flame_view *view, uint32_t root)
{
	bool is_other = root != view->root;
	view->root = root;
	if (!flame_view_is_caller(&view->focus, root, view->selected) &&
		!flame_view_is_caller(&view->focus, view->selected, root))
		view->selected = root;
	lay_out(view);
	if (!is_other)
		return;
	size_t above = flame_view_above(view);
	view->top = above > CALLERS_SEEN ? above - CALLERS_SEEN : 0;
	view->keeps_sight = true;
}

void flame_view_fit(struct flame_view *view, int width)
{
	if (view->area.width == width)
		return;
	view->area.width = width;
	lay_out(view);
}

/* ---- moving ---- */

static void select_node(struct flame_view *view, uint32_t node)
{
	view->selected = node;
	view->keeps_sight = true;
}

static uint32_t flame_view_node_below(struct flame_view *view, const struct flame_spot *spot)
{
	if (!spot->box) { /* on the way to the zoom */
		uint32_t at = view->root;
		while (view->focus.nodes.data[at].parent != spot->node)
			at = view->focus.nodes.data[at].parent;
		return at;
	}
	uint32_t parent = (uint32_t)(spot->box - view->flame.boxes.data);
	size_t row = spot->row - flame_view_above(view) + 1, count;
	flame_grow(&view->flame, row + 1);
	const struct flame_box *boxes = flame_row(&view->flame, row, &count), *best = NULL;
	for (size_t i = 0; i < count; i++)
		if (boxes[i].parent == parent && (!best || boxes[i].total > best->total))
			best = &boxes[i];
	return best ? best->node : spot->node;
}

/* Also from one to the other of those that share a box. */
static uint32_t node_beside(
	const struct flame_view *view, const struct flame_spot *spot, bool is_right)
{
	if (!spot->box)
		return spot->node;
	uint32_t within = spot->node - spot->box->node;
	if (is_right ? within + 1 < spot->box->count : within > 0)
		return is_right ? spot->node + 1 : spot->node - 1;
	size_t count;
	const struct flame_box *row =
		flame_row(&view->flame, spot->row - flame_view_above(view), &count);
	if (is_right ? spot->box + 1 == row + count : spot->box == row)
		return spot->node;
	const struct flame_box *to = is_right ? spot->box + 1 : spot->box - 1;
	return is_right ? to->node : to->node + to->count - 1;
}

/* So many rows, as far as there are some. */
static void go_vertically(struct flame_view *view, long by)
{
	uint32_t node = view->selected;
	for (; by; by += by < 0 ? 1 : -1) {
		struct flame_spot spot = flame_view_spot(view);
		node = by < 0 ? view->focus.nodes.data[spot.node].parent
			      : flame_view_node_below(view, &spot);
		if (node == view->selected)
			break;
		view->selected = node;
	}
	select_node(view, view->selected);
}

static void go_sideways(struct flame_view *view, bool is_right)
{
	struct flame_spot spot = flame_view_spot(view);
	select_node(view, node_beside(view, &spot, is_right));
}

/* ---- matches ---- */

uint32_t flame_view_match(const struct flame_view *view, const struct flame_box *box)
{
	const bool *matches = view->model->matches;
	for (uint32_t i = 0; matches && i < box->count; i++)
		if (matches[view->focus.nodes.data[box->node + i].function])
			return box->node + i;
	return 0;
}

static void flame_view_go_to_match(struct flame_view *view, struct app *app, bool is_back)
{
	flame_grow(&view->flame, ROWS_SEARCHED);
	struct flame_spot spot = flame_view_spot(view);
	const struct flame_box *boxes = view->flame.boxes.data;
	size_t count = view->flame.boxes.len, from = spot.box ? (size_t)(spot.box - boxes) : 0;
	for (size_t step = 1; step <= count; step++) {
		size_t at = (from + (is_back ? count - step : step)) % count;
		uint32_t node = flame_view_match(view, &boxes[at]);
		if (!node)
			continue;
		if (step == count)
			app_say(app, "no other match");
		select_node(view, node);
		return;
	}
	app_warn(app, "%s",
		!view->model->matches     ? "search for something first: /"
		: view->model->nr_matches ? "no match that is wide enough here"
					  : "nothing matches");
}

/* The widest box; among many in one it is that with the most. */
static void flame_view_go_to_hottest_match(void *state, struct app *app, enum action action)
{
	(void)action;
	struct flame_view *view = state;
	const struct focus_node *nodes = view->focus.nodes.data;
	uint32_t best = 0;
	flame_grow(&view->flame, ROWS_SEARCHED);
	for (size_t i = 0; i < view->flame.boxes.len; i++) {
		uint32_t node = flame_view_match(view, &view->flame.boxes.data[i]);
		if (node && (!best || nodes[node].total > nodes[best].total))
			best = node;
	}
	if (best)
		select_node(view, best);
	else
		app_warn(app, "%s",
			view->model->nr_matches ? "no match that is wide enough here"
						: "nothing matches");
}

/* ---- input ---- */

static void flame_view_next_match(void *state, struct app *app, enum action action)
{
	flame_view_go_to_match(state, app, action == ACTION_PREVIOUS_MATCH);
}

static void flame_view_sideways(void *state, struct app *app, enum action action)
{
	(void)app;
	go_sideways(state, action == ACTION_RIGHT);
}

static void flame_view_to_root(void *state, struct app *app, enum action action)
{
	struct flame_view *view = state;
	(void)app;
	(void)action;
	select_node(view, view->root);
}

static void flame_view_to_end(void *state, struct app *app, enum action action)
{
	(void)app;
	(void)action;
	go_vertically(state, LIST_ALL);
}

static void flame_view_order(void *state, struct app *app, enum action action)
{
	struct flame_view *view = state;
	bool is_by_name = action == ACTION_SORT_REVERSE ? view->order != FLAME_BY_NAME
							: action == ACTION_SORT_LEFT;
	view->order = is_by_name ? FLAME_BY_NAME : FLAME_BY_TOTAL;
	lay_out(view);
	app_say(app, is_by_name ? "siblings by name" : "siblings by total");
}

static const struct view_action flame_actions[] = {
	{ACTION_LEFT, flame_view_sideways},
	{ACTION_RIGHT, flame_view_sideways},
	{ACTION_FIRST, flame_view_to_root},
	{ACTION_EXPAND_ALL, flame_view_to_end},
	{ACTION_SORT_LEFT, flame_view_order},
	{ACTION_SORT_RIGHT, flame_view_order},
	{ACTION_SORT_REVERSE, flame_view_order},
	{ACTION_HOTTEST_MATCH, flame_view_go_to_hottest_match},
	{ACTION_NEXT_MATCH, flame_view_next_match},
	{ACTION_PREVIOUS_MATCH, flame_view_next_match},
	{ACTION_NONE, NULL},
};

bool flame_view_act(struct flame_view *view, struct app *app, enum action action)
{
	if (view_action_run(flame_actions, view, app, action))
		return true;
	long step = list_step(action, view->area.height);
	if (step)
		go_vertically(view, step);
	return step;
}

/* Of what stands in a box with others, the caller is seen first. */
uint32_t flame_view_entered(struct flame_view *view)
{
	struct flame_spot spot = flame_view_spot(view);
	uint32_t parent = view->focus.nodes.data[spot.node].parent;
	return spot.box && spot.box->count > 1 && parent != view->root ? parent : spot.node;
}

static void scroll(struct flame_view *view, long by)
{
	long top = (long)view->top + by;
	view->top = top < 0 ? 0 : (size_t)top;
	view->keeps_sight = false;
}

/* The node at a place on the screen; false where there is none. */
static bool flame_view_find_node(
	const struct flame_view *view, const struct input *input, uint32_t *ret)
{
	if (input->y < view->area.y || input->x < view->area.x)
		return false;
	size_t row = view->top + (size_t)(input->y - view->area.y);
	size_t above = flame_view_above(view), count;
	uint32_t x = (uint32_t)(input->x - view->area.x);
	if (row < above) {
		*ret = view->root;
		while (view->focus.nodes.data[*ret].depth > row)
			*ret = view->focus.nodes.data[*ret].parent;
		return true;
	}
	const struct flame_box *boxes = flame_row(&view->flame, row - above, &count);
	for (size_t i = 0; i < count; i++) {
		if (x < boxes[i].x || x - boxes[i].x >= boxes[i].width)
			continue;
		bool is_there = view->selected - boxes[i].node < boxes[i].count;
		*ret = is_there ? view->selected : boxes[i].node;
		return true;
	}
	return false;
}

bool flame_view_mouse(struct flame_view *view, const struct input *input)
{
	uint32_t node;
	switch (input->kind) {
	case INPUT_WHEEL_UP:
	case INPUT_WHEEL_DOWN:
		scroll(view, input->kind == INPUT_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
		return true;
	case INPUT_PRESS:
	case INPUT_DOUBLE:
	case INPUT_MENU:
		if (!flame_view_find_node(view, input, &node))
			return false;
		select_node(view, node);
		return true;
	default:
		return false;
	}
}

/* ---- what a box shows ---- */

static bool flame_view_is_inlined(const struct flame_view *view, uint32_t node)
{
	return view->model->names->frames.data[view->focus.nodes.data[node].frame].outer;
}

static enum frame_kind flame_view_kind_of(const struct flame_view *view, uint32_t node)
{
	return frame_kind_of_node(&view->focus, view->model->names->objects.data, node);
}

static unsigned flame_view_style_of(
	const struct flame_view *view, const struct app *app, uint32_t node)
{
	(void)app;
	return STYLE_FLAME_OF(flame_view_kind_of(view, node), flame_view_is_inlined(view, node));
}

static const char *flame_view_mark_of(const struct flame_view *view, uint32_t node)
{
	enum frame_kind kind = flame_view_kind_of(view, node);
	if (kind == FRAME_KERNEL)
		return " [k]";
	if (frame_kind_is_script(kind))
		return " [s]";
	return kind != FRAME_UNNAMED && flame_view_is_inlined(view, node) ? " [i]" : "";
}

static void flame_view_put_value(const struct flame_view *view, const struct app *app,
	const struct flame_box *box, struct str *out)
{
	(void)view;
	app_put_value(app, out, box->total, box->samples);
}

static const char *no_sign(const struct flame_view *view, const struct app *app, uint32_t node)
{
	(void)app;
	(void)view;
	(void)node;
	return NULL;
}

static const struct flame_paint *paint_of(const struct flame_view *view)
{
	static const struct flame_paint usual = {
		flame_view_style_of, flame_view_put_value, no_sign};
	return view->paint ? view->paint : &usual;
}

/* Of the focus' root: what leaves on top are the leaves of. */
static void put_root_name(const struct flame_view *view, struct str *out)
{
	const struct tree_node *base = &view->model->names->tree.nodes.data[view->focus.top];
	str_puts(out, "all");
	if (base->function)
		str_printf(out, " of %s", model_function(view->model, base->function)->name);
}

/* In a box's columns, the first of which is its edge; empty: there is no room for a name. */
static struct rect label_cell(int x, int y, int width)
{
	return (struct rect){x + 1, y, width - 1, 1};
}

static int flame_view_draw_name(const struct flame_view *view, struct grid *grid, struct rect cell,
	unsigned style, uint32_t node)
{
	uint32_t function = view->focus.nodes.data[node].function;
	if (function)
		return fitting_name_draw(
			grid, cell, style, &view->focus.functions[function], &view->names);
	CLEANUP(str_deinit) struct str name = {0};
	put_root_name(view, &name);
	return grid_put_elided(grid, cell.x, cell.y, cell.width, style, str_text(&name));
}

/* The name, shortened where it must be, and behind it what there is room for. */
static void flame_view_draw_label(struct flame_view *view, const struct app *app, struct grid *grid,
	struct rect cell, unsigned style, uint32_t node)
{
	const struct focus_node *it = &view->focus.nodes.data[node];
	int used = flame_view_draw_name(view, grid, cell, style, node);
	const char *mark = flame_view_mark_of(view, node);
	if (used + (int)strlen(mark) <= cell.width)
		grid_put(grid, cell.x + used, cell.y, cell.width - used, style, mark);
	used += (int)strlen(mark);
	CLEANUP(str_deinit) struct str value = {0};
	struct flame_box box = {
		.node = node, .count = 1, .total = it->total, .samples = it->samples};
	paint_of(view)->put_value(view, app, &box, &value);
	if (value.len && used + GAP + (int)value.len <= cell.width)
		grid_put(grid, cell.x + used + GAP, cell.y, cell.width - used - GAP, style,
			str_text(&value));
}

/* What tells names apart that are shown alike, of the boxes in these rows of the layout. */
static void flame_view_find_names(
	struct flame_view *view, struct grid *grid, size_t row, size_t end)
{
	enum {
		NARROW = 8 /* columns: narrower ones have no room for it */
	};
	distinct_names_deinit(&view->names);
	for (; row < end; row++) {
		size_t count;
		const struct flame_box *boxes = flame_row(&view->flame, row, &count);
		for (size_t i = 0; i < count; i++) {
			uint32_t function = view->focus.nodes.data[boxes[i].node].function;
			if (function && boxes[i].count == 1 && boxes[i].width >= NARROW)
				fitting_name_add(grid, &view->focus.functions[function],
					label_cell(0, 0, (int)boxes[i].width).width, &view->names);
		}
	}
	distinct_names_find(&view->names);
}

/* ---- boxes ---- */

static void draw_group(const struct flame_view *view, const struct app *app, struct grid *grid,
	const struct flame_box *box, int x, int y)
{
	const char *shade = grid_glyph(grid, GLYPH_SHADE);
	int width = (int)box->width;
	grid_fill(grid, (struct rect){x, y, width, 1}, STYLE_DIM, shade);
	CLEANUP(str_deinit) struct str text = {0}, value = {0};
	paint_of(view)->put_value(view, app, box, &value);
	if (value.len)
		str_printf(&text, "%s +%u (%s) ", shade, box->count, str_text(&value));
	if (!value.len || grid_text_width(grid, str_text(&text)) > width + 1) {
		str_truncate(&text, 0);
		str_printf(&text, "%s +%u ", shade, box->count);
	}
	if (grid_text_width(grid, str_text(&text)) <= width + 1) /* the last blank may go */
		grid_put(grid, x, y, width, STYLE_DIM, str_text(&text));
}

static void flame_view_frame(struct flame_view *view, const struct app *app, struct grid *grid,
	const struct flame_box *box, bool is_match, int x, int y)
{
	int width = (int)box->width;
	bool is_other = view->model->nr_matches && !is_match;
	unsigned style = is_other ? STYLE_DIM : paint_of(view)->style(view, app, box->node);
	grid_fill(grid, (struct rect){x, y, width, 1}, style, " ");
	const char *sign = is_match ? "*" : paint_of(view)->sign(view, app, box->node);
	grid_put(grid, x, y, 1, style, sign ? sign : grid_glyph(grid, GLYPH_EDGE));
	flame_view_draw_label(view, app, grid, label_cell(x, y, width), style, box->node);
}

static void draw_box(struct flame_view *view, const struct app *app, struct grid *grid,
	const struct flame_box *box, const struct flame_spot *spot, int y)
{
	int x = view->area.x + (int)box->x;
	bool is_match = flame_view_match(view, box);
	if (box->count > 1)
		draw_group(view, app, grid, box, x, y);
	else
		flame_view_frame(view, app, grid, box, is_match, x, y);
	unsigned flags = (is_match ? STYLE_MATCH : 0) | (spot->box == box ? STYLE_SELECTED : 0);
	grid_mark(grid, (struct rect){x, y, (int)box->width, 1}, flags);
}

/* A caller of what is zoomed to. */
static void draw_caller(struct flame_view *view, const struct app *app, struct grid *grid,
	size_t row, const struct flame_spot *spot, int y)
{
	uint32_t at = view->root;
	while (view->focus.nodes.data[at].depth > row)
		at = view->focus.nodes.data[at].parent;
	struct rect line = {view->area.x, y, view->area.width, 1};
	grid_fill(grid, line, STYLE_DIM, " ");
	grid_put(grid, line.x, y, 1, STYLE_DIM, grid_glyph(grid, GLYPH_EDGE));
	flame_view_draw_label(view, app, grid, label_cell(line.x, y, line.width), STYLE_DIM, at);
	if (!spot->box && spot->row == row)
		grid_mark(grid, line, STYLE_SELECTED);
}

/* ---- rows ---- */

static void scroll_into_sight(struct flame_view *view, size_t row)
{
	size_t height = (size_t)view->area.height;
	if (view->top > row)
		view->top = row;
	if (row - view->top >= height)
		view->top = row - height + 1;
}

/* Lays out what is seen and one row more; true when there is one. */
static bool fit_rows(struct flame_view *view)
{
	size_t height = (size_t)view->area.height, above = flame_view_above(view);
	size_t end = view->top + height;
	if (end >= above)
		flame_grow(&view->flame, end - above + 1);
	size_t rows = above + view->flame.rows.len;
	if (end > rows) /* no blank lines while there are others */
		view->top = rows > height ? rows - height : 0;
	return view->top + height < rows;
}

/* The colours of languages have to be told first: they are the least usual. */
static bool is_ahead_in_legend(
	const struct flame_view *view, enum frame_kind kind, enum frame_kind than)
{
	bool is_script = frame_kind_is_script(kind);
	return is_script != frame_kind_is_script(than)
		       ? is_script
		       : view->kind_selfs[kind] > view->kind_selfs[than];
}

/* Languages first, then by self; without the kinds that are not there. */
static size_t kinds_of_legend(const struct flame_view *view, enum frame_kind *ret)
{
	size_t count = 0;
	for (int kind = 0; kind < FRAME_KINDS_END; kind++) {
		size_t at = count;
		if (!view->kind_selfs[kind])
			continue;
		for (; at && is_ahead_in_legend(view, (enum frame_kind)kind, ret[at - 1]); at--)
			ret[at] = ret[at - 1];
		ret[at] = (enum frame_kind)kind;
		count++;
	}
	return count;
}

/* As many as there is room for; of one kind alone there is nothing to tell apart. */
static void draw_legend_of_kinds(struct flame_view *view, struct grid *grid, struct rect room)
{
	enum frame_kind kinds[FRAME_KINDS_END];
	size_t count = kinds_of_legend(view, kinds);
	view->legend = (struct flame_legend){.y = room.y};
	if (count < 2 || grid->colours == GRID_MONO)
		return;
	for (size_t i = 0; i < count; i++) {
		CLEANUP(str_deinit) struct str text = {0};
		str_printf(&text, " %s ", frame_kinds[kinds[i]].text);
		if ((int)text.len > room.width)
			return;
		grid_put(grid, room.x, room.y, room.width, STYLE_FLAME_OF(kinds[i], false),
			str_text(&text));
		view->legend.kinds[kinds[i]].x = room.x;
		view->legend.kinds[kinds[i]].end = room.x + (int)text.len;
		room.x += (int)text.len + 1;
		room.width -= (int)text.len + 1;
	}
}

enum frame_kind flame_view_legend_at(const struct flame_view *view, const struct input *input)
{
	int kind = 0;
	if (input->kind != INPUT_PRESS || input->y != view->legend.y)
		return FRAME_KINDS_END;
	while (kind < FRAME_KINDS_END &&
		(input->x < view->legend.kinds[kind].x || input->x >= view->legend.kinds[kind].end))
		kind++;
	return (enum frame_kind)kind;
}

static void flame_view_header(struct flame_view *view, struct grid *grid, int y, bool has_more)
{
	enum {
		ROOM_FOR_WORDS = 60,
	};
	CLEANUP(str_deinit) struct str place = {0};
	bool has_words = view->area.width >= ROOM_FOR_WORDS;
	if (view->top)
		str_printf(&place, " %s%zu%s", grid_glyph(grid, GLYPH_UP), view->top,
			!has_words ? ""
			: has_more ? " rows above,"
				   : " rows above");
	if (has_more)
		str_printf(&place, "%s %s", has_words ? " more rows below" : "",
			grid_glyph(grid, GLYPH_DOWN));
	int room = view->area.width - grid_text_width(grid, str_text(&place));
	int x = view->area.x;
	x += grid_printf(grid, x, y, room, STYLE_HEADER, "%s, by %s",
		view->is_inverted ? "leaves on top, callers below" : "callers on top",
		view->order == FLAME_BY_NAME ? "name" : "total");
	x += GAP;
	draw_legend_of_kinds(view, grid, (struct rect){x, y, view->area.x + room - x, 1});
	grid_put(grid, view->area.x + room, y, view->area.width - room, STYLE_HEADER,
		str_text(&place));
}

void flame_view_draw(struct flame_view *view, struct app *app, struct grid *grid, struct rect area)
{
	flame_view_fit(view, area.width);
	view->legend.y = -1;
	if (!view->focus.nodes.data[view->root].total) {
		app_draw_no_samples(app, grid, area);
		return;
	}
	bool has_header = area.height >= ROOM_FOR_HEADER;
	area.y += has_header;
	area.height -= has_header;
	if (area.height != view->area.height)
		view->keeps_sight = true;
	view->area = area;
	struct flame_spot spot = flame_view_spot(view);
	if (view->keeps_sight)
		scroll_into_sight(view, spot.row);
	bool has_more = fit_rows(view);
	spot = flame_view_spot(view); /* boxes may have moved */
	if (has_header)
		flame_view_header(view, grid, area.y - 1, has_more);
	size_t above = flame_view_above(view), end = view->top + (size_t)area.height;
	flame_view_find_names(view, grid, view->top > above ? view->top - above : 0,
		end > above ? end - above : 0);
	for (int i = 0; i < area.height; i++) {
		size_t row = view->top + (size_t)i, count = 0;
		if (row < above) {
			draw_caller(view, app, grid, row, &spot, area.y + i);
			continue;
		}
		const struct flame_box *boxes = flame_row(&view->flame, row - above, &count);
		for (size_t box = 0; box < count; box++)
			draw_box(view, app, grid, &boxes[box], &spot, area.y + i);
	}
}
