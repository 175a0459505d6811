/* Going from box to box of any flame graph. */
#include "report/tui/view/flame_view.h"
#include "report/tui/view/view_action.h"

enum {
	WHEEL_ROWS = 3,
	CALLERS_SEEN = 2,    /* above a zoom */
	ROWS_SEARCHED = 512, /* for the next match */
};

void flame_view_forget(struct flame_view *view)
{
	flame_deinit(&view->flame);
	focus_deinit(&view->focus);
	short_names_deinit(&view->names);
}

/* ---- the layout ---- */

static bool flame_move_is_caller(const struct focus *focus, uint32_t caller, uint32_t node)
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
	if (!flame_move_is_caller(&view->focus, root, view->selected) &&
		!flame_move_is_caller(&view->focus, view->selected, root))
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

static uint32_t flame_move_node_below(struct flame_view *view, const struct flame_spot *spot)
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
			      : flame_move_node_below(view, &spot);
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

static void flame_move_go_to_match(struct flame_view *view, struct app *app, bool is_back)
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
		select_node(view, node);
		return;
	}
	app_say(app, view->model->matches ? "no match that is wide enough here" : "no match");
}

/* ---- input ---- */

static void flame_move_match(void *state, struct app *app, enum action action)
{
	flame_move_go_to_match(state, app, action == ACTION_PREVIOUS_MATCH);
}

static void flame_move_sideways(void *state, struct app *app, enum action action)
{
	(void)app;
	go_sideways(state, action == ACTION_RIGHT);
}

static void flame_move_to_root(void *state, struct app *app, enum action action)
{
	struct flame_view *view = state;
	(void)app;
	(void)action;
	select_node(view, view->root);
}

static void flame_move_to_end(void *state, struct app *app, enum action action)
{
	(void)app;
	(void)action;
	go_vertically(state, LIST_ALL);
}

static void flame_move_order(void *state, struct app *app, enum action action)
{
	struct flame_view *view = state;
	bool is_by_name = action == ACTION_SORT_REVERSE ? view->order != FLAME_BY_NAME
							: action == ACTION_SORT_LEFT;
	view->order = is_by_name ? FLAME_BY_NAME : FLAME_BY_TOTAL;
	lay_out(view);
	app_say(app, is_by_name ? "siblings by name" : "siblings by total");
}

static const struct view_action flame_actions[] = {
	{ACTION_LEFT, flame_move_sideways},
	{ACTION_RIGHT, flame_move_sideways},
	{ACTION_FIRST, flame_move_to_root},
	{ACTION_EXPAND_ALL, flame_move_to_end},
	{ACTION_SORT_LEFT, flame_move_order},
	{ACTION_SORT_RIGHT, flame_move_order},
	{ACTION_SORT_REVERSE, flame_move_order},
	{ACTION_NEXT_MATCH, flame_move_match},
	{ACTION_PREVIOUS_MATCH, flame_move_match},
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
static bool flame_move_find_node(
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
		if (!flame_move_find_node(view, input, &node))
			return false;
		select_node(view, node);
		return true;
	default:
		return false;
	}
}
