/* The call tree as an icicle: what calls stands above what is called, as wide as its share. */
#include "report/export/flame_svg.h"
#include "report/tui/view/flame_view.h"

enum {
	WHEEL_ROWS = 3,
	CALLERS_SEEN = 2,    /* above a zoom */
	ROWS_SEARCHED = 512, /* for the next match */
};

static void *flame_create(void)
{
	return mem_zalloc(sizeof(struct flame_view));
}

static void forget_model(struct flame_view *view)
{
	flame_deinit(&view->flame);
	focus_deinit(&view->focus);
	short_names_deinit(&view->names);
}

static void flame_destroy(void *state)
{
	struct flame_view *view = state;
	forget_model(view);
	vec_deinit(&view->path);
	mem_free(view);
}

/* ---- finding nodes again ---- */

static uint32_t child_of(struct focus *focus, uint32_t parent, uint32_t function)
{
	focus_expand(focus, parent);
	uint32_t at = focus->nodes.data[parent].first_child;
	while (at && focus->nodes.data[at].function != function)
		at = focus->nodes.data[at].next_sibling;
	return at;
}

/* The deepest node on a path from a leaf to its callers. */
static uint32_t follow_path(struct flame_view *view, const struct app *app, const struct path *path)
{
	uint32_t at = 0;
	for (size_t i = 0; i < path->len; i++) {
		uint32_t function = model_function_of(app->model, path->data[i]);
		uint32_t child = child_of(&view->focus, at, function);
		if (!child)
			break;
		at = child;
	}
	return at;
}

/* What stands for a node of the tree. */
static uint32_t follow_node(struct flame_view *view, const struct app *app, uint32_t node)
{
	const struct tree_node *nodes = app->model->names->tree.nodes.data;
	VEC(uint32_t) functions = {0};
	for (uint32_t at = node; at; at = nodes[at].parent)
		vec_push(&functions, nodes[at].function);
	uint32_t at = 0;
	while (functions.len) {
		uint32_t child = child_of(&view->focus, at, functions.data[--functions.len]);
		if (!child)
			break;
		at = child;
	}
	vec_deinit(&functions);
	return at;
}

static bool is_below(const struct tree *tree, uint32_t node, uint32_t caller)
{
	while (node > caller)
		node = tree->nodes.data[node].parent;
	return node == caller;
}

/* Where a function takes most, below a node. */
static uint32_t hottest_node(const struct app *app, uint32_t function, uint32_t caller)
{
	const struct tree *tree = &app->model->names->tree;
	const struct tree_weight *weights = app->model->weights;
	uint32_t best = 0;
	for (uint32_t i = caller + 1; i < tree->nodes.len; i++)
		if (tree->nodes.data[i].function == function &&
			weights[i].total > (best ? weights[best].total : 0) &&
			is_below(tree, i, caller))
			best = i;
	return best;
}

static uint32_t find_selected(struct flame_view *view, const struct app *app)
{
	uint32_t function = app_function(app);
	if (!view->is_inverted && !function)
		return 0;
	if (!view->is_inverted) {
		uint32_t node = app_node(app);
		if (!app->selection.path.len)
			node = hottest_node(app, function, app_zoomed_node(app));
		return follow_node(view, app, node);
	}
	const struct path *path = &view->path;
	if (!function ||
		(path->len && model_function_of(app->model, path->data[path->len - 1]) == function))
		return follow_path(view, app, path);
	return child_of(&view->focus, 0, function);
}

static bool is_caller(const struct focus *focus, uint32_t caller, uint32_t node)
{
	while (focus->nodes.data[node].depth > focus->nodes.data[caller].depth)
		node = focus->nodes.data[node].parent;
	return node == caller;
}

/* ---- the layout ---- */

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

static void set_root(struct flame_view *view, uint32_t root)
{
	bool is_other = root != view->root;
	view->root = root;
	if (!is_caller(&view->focus, root, view->selected) &&
		!is_caller(&view->focus, view->selected, root))
		view->selected = root;
	lay_out(view);
	if (!is_other)
		return;
	size_t above = flame_view_above(view);
	view->top = above > CALLERS_SEEN ? above - CALLERS_SEEN : 0;
	view->keeps_sight = true;
}

static void flame_update(void *state, struct app *app)
{
	struct flame_view *view = state;
	const struct model *model = app->model;
	const struct tree *tree = &model->names->tree;
	const struct profile_function *functions = model->names->functions.data;
	const struct path *zoom = trail_zoom(&app->trail, true);
	uint32_t zoomed = app_zoomed_node(app), root = 0;
	forget_model(view);
	if (view->is_inverted) {
		focus_init_leaves(&view->focus, tree, model->weights, functions, zoomed);
		root = zoom ? follow_path(view, app, zoom) : 0;
	} else {
		focus_init(&view->focus, tree, model->weights, functions, FOCUS_CALLEES);
		root = follow_node(view, app, zoomed);
	}
	view->selected = find_selected(view, app);
	set_root(view, root);
}

static void flame_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct flame_view *view = state;
	if (view->area.width != area.width) {
		view->area.width = area.width;
		lay_out(view);
	}
	flame_view_draw(view, app, grid, area);
}

/* ---- selecting ---- */

/* Of the tree: where the node takes most. */
static uint32_t place_of(const struct flame_view *view, uint32_t node)
{
	const struct focus_node *it = &view->focus.nodes.data[node];
	const struct focus_place *places = view->focus.places.data + it->first_place;
	size_t best = 0;
	for (size_t i = 1; i < it->nr_places; i++)
		if (places[i].value > places[best].value)
			best = i;
	return it->function && it->nr_places ? places[best].node : 0;
}

static void path_to(const struct focus *focus, uint32_t node, struct path *ret)
{
	uint32_t depth = focus->nodes.data[node].depth;
	vec_resize(ret, depth);
	for (uint32_t at = node; depth; at = focus->nodes.data[at].parent)
		ret->data[--depth] = focus->nodes.data[at].frame;
}

static void select_node(struct flame_view *view, struct app *app, uint32_t node)
{
	view->selected = node;
	view->keeps_sight = true;
	if (view->is_inverted)
		path_to(&view->focus, node, &view->path);
	app_select_node(app, place_of(view, node));
}

static uint32_t node_below(struct flame_view *view, const struct flame_spot *spot)
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
static void go_vertically(struct flame_view *view, struct app *app, long by)
{
	uint32_t node = view->selected;
	for (; by; by += by < 0 ? 1 : -1) {
		struct flame_spot spot = flame_view_spot(view);
		node = by < 0 ? view->focus.nodes.data[spot.node].parent : node_below(view, &spot);
		if (node == view->selected)
			break;
		view->selected = node;
	}
	select_node(view, app, view->selected);
}

static void go_sideways(struct flame_view *view, struct app *app, bool is_right)
{
	struct flame_spot spot = flame_view_spot(view);
	select_node(view, app, node_beside(view, &spot, is_right));
}

/* ---- matches ---- */

uint32_t flame_view_match(
	const struct flame_view *view, const struct app *app, const struct flame_box *box)
{
	const bool *matches = app->model->matches;
	for (uint32_t i = 0; matches && i < box->count; i++)
		if (matches[view->focus.nodes.data[box->node + i].function])
			return box->node + i;
	return 0;
}

static void go_to_match(struct flame_view *view, struct app *app, bool is_back)
{
	flame_grow(&view->flame, ROWS_SEARCHED);
	struct flame_spot spot = flame_view_spot(view);
	const struct flame_box *boxes = view->flame.boxes.data;
	size_t count = view->flame.boxes.len, from = spot.box ? (size_t)(spot.box - boxes) : 0;
	for (size_t step = 1; step <= count; step++) {
		size_t at = (from + (is_back ? count - step : step)) % count;
		uint32_t node = flame_view_match(view, app, &boxes[at]);
		if (!node)
			continue;
		select_node(view, app, node);
		return;
	}
	app_say(app, app->model->matches ? "no match that is wide enough here" : "no match");
}

/* ---- input ---- */

/* Of what stands in a box with others, the caller is seen first. */
static void zoom(struct flame_view *view, struct app *app)
{
	struct flame_spot spot = flame_view_spot(view);
	uint32_t node = spot.node, parent = view->focus.nodes.data[node].parent;
	if (spot.box && spot.box->count > 1 && parent != view->root)
		node = parent;
	if (node == view->root) {
		app_say(app, "this is all that is seen; Esc goes back");
		return;
	}
	if (view->is_inverted) {
		struct path path = {0};
		path_to(&view->focus, node, &path);
		app_zoom_callers(app, &path);
		vec_deinit(&path);
	} else {
		app_zoom(app, place_of(view, node));
	}
	set_root(view, node);
}

static void invert(struct flame_view *view, struct app *app)
{
	view->is_inverted = !view->is_inverted;
	view->path.len = 0;
	view->top = 0;
	view->keeps_sight = true;
	flame_update(view, app);
}

static void set_order(struct flame_view *view, struct app *app, enum flame_order order)
{
	view->order = order;
	lay_out(view);
	app_say(app, order == FLAME_BY_NAME ? "siblings by name" : "siblings by total");
}

static bool move(struct flame_view *view, struct app *app, enum action action)
{
	enum {
		ALL = 1 << 20 /* rows */
	};
	long page = view->area.height > 1 ? view->area.height - 1 : 1;
	switch (action) {
	case ACTION_UP:
	case ACTION_DOWN:
		go_vertically(view, app, action == ACTION_UP ? -1 : 1);
		return true;
	case ACTION_LEFT:
	case ACTION_RIGHT:
		go_sideways(view, app, action == ACTION_RIGHT);
		return true;
	case ACTION_PAGE_UP:
	case ACTION_PAGE_DOWN:
		go_vertically(view, app, action == ACTION_PAGE_UP ? -page : page);
		return true;
	case ACTION_HALF_UP:
	case ACTION_HALF_DOWN:
		go_vertically(view, app, (action == ACTION_HALF_UP ? -1 : 1) * (page + 1) / 2);
		return true;
	case ACTION_FIRST:
		select_node(view, app, view->root);
		return true;
	case ACTION_LAST:
	case ACTION_EXPAND_ALL:
		go_vertically(view, app, ALL);
		return true;
	default:
		return false;
	}
}

static bool flame_act(void *state, struct app *app, enum action action)
{
	struct flame_view *view = state;
	switch (action) {
	case ACTION_ENTER:
		zoom(view, app);
		return true;
	case ACTION_INVERT:
		invert(view, app);
		return true;
	case ACTION_SORT_LEFT:
		set_order(view, app, FLAME_BY_NAME);
		return true;
	case ACTION_SORT_RIGHT:
		set_order(view, app, FLAME_BY_TOTAL);
		return true;
	case ACTION_SORT_REVERSE:
		set_order(view, app, view->order == FLAME_BY_NAME ? FLAME_BY_TOTAL : FLAME_BY_NAME);
		return true;
	case ACTION_NEXT_MATCH:
	case ACTION_PREVIOUS_MATCH:
		go_to_match(view, app, action == ACTION_PREVIOUS_MATCH);
		return true;
	default:
		return move(view, app, action);
	}
}

static void scroll(struct flame_view *view, long by)
{
	long top = (long)view->top + by;
	view->top = top < 0 ? 0 : (size_t)top;
	view->keeps_sight = false;
}

/* The node at a place on the screen; false where there is none. */
static bool find_node(const struct flame_view *view, const struct input *input, uint32_t *ret)
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

static bool flame_mouse(void *state, struct app *app, const struct input *input)
{
	struct flame_view *view = state;
	uint32_t node;
	switch (input->kind) {
	case INPUT_WHEEL_UP:
	case INPUT_WHEEL_DOWN:
		scroll(view, input->kind == INPUT_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
		return true;
	case INPUT_PRESS:
	case INPUT_DOUBLE:
	case INPUT_MENU:
		if (!find_node(view, input, &node))
			return false;
		select_node(view, app, node);
		return true;
	default:
		return false;
	}
}

/* ---- */

static void flame_print(void *state, struct app *app, struct str *out)
{
	struct flame_view *view = state;
	const struct model *model = app->model;
	struct flame_svg_options options = {
		.title = app->options->file_name,
		.root = view->root,
		.order = view->order,
		.objects = model->names->objects.data,
		.frames = model->names->frames.data,
		.matches = model->matches,
		.whole = model->slice.whole.value,
		.names = &view->names,
	};
	flame_svg_put(&view->focus, &options, out);
}

static const enum action hints[] = {ACTION_ENTER, ACTION_UNDO, ACTION_INVERT, ACTION_SORT_REVERSE,
	ACTION_WHOLE_NAME, ACTION_PRINT, ACTION_NONE};

const struct view view_flame = {
	.name = "Flame",
	.create = flame_create,
	.destroy = flame_destroy,
	.update = flame_update,
	.draw = flame_draw,
	.act = flame_act,
	.mouse = flame_mouse,
	.print = flame_print,
	.print_suffix = "svg",
	.hints = hints,
};
