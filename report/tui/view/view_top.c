/* The hottest functions. */
#include <limits.h>

#include "report/analyse/function_order.h"
#include "report/model/word_sort.h"
#include "report/tui/app_state.h"
#include "report/tui/fitting_name.h"
#include "report/tui/renewal.h"
#include "report/tui/view/list_header.h"
#include "report/tui/view/view_action.h"

enum top_column {
	TOP_SELF,
	TOP_TOTAL,
	TOP_GROUP,
	TOP_OBJECT,
	TOP_BAR,
	TOP_FUNCTION,
	TOP_COLUMNS,
};

struct top {
	struct list list;
	struct list_header header;
	struct list_column looks[TOP_COLUMNS];  /* of its columns */
	const struct model *model;              /* the application's, since the last update */
	const struct function_weights *weights; /* its, each function once or once in each group */
	uint64_t *group_totals;        /* by the function of a group; NULL: there are none */
	VEC(struct word_entry) rows;   /* of the weights */
	struct distinct_names names;   /* of the rows that are seen */
	size_t sorted_from, sorted_to; /* these rows are in order */
	/* Frames: what had been selected is not among the rows, and what is instead; 0: it is. */
	uint32_t missing, stand_in;
	/* At the last update: */
	unsigned shown; /* of the application */
	enum grouping grouping;
	uint32_t event;
};

/* ---- columns ---- */

/* Of a row: the weight is one of `weights`, at `element`. */
struct top_row {
	const struct top *top;
	const struct function_weight *weight;
	const struct profile_function *function;
};

static struct top_row row_of_element(const struct top *top, uint32_t element)
{
	const struct function_weight *weight = &top->weights->data[element];
	return (struct top_row){top, weight, model_function(top->model, weight->function)};
}

static bool key_of_name(const struct top_row *row, size_t index, uint64_t *ret)
{
	return word_of_text(profile_function_own_name(row->function), index, ret);
}

/* Group by group, the largest first. */
static bool key_of_group(const struct top_row *row, size_t index, uint64_t *ret)
{
	if (index >= 3)
		return key_of_name(row, index - 3, ret);
	if (index == 0)
		*ret = row->top->group_totals ? ~row->top->group_totals[row->weight->group] : 0;
	else
		*ret = index == 1 ? row->weight->group : ~row->weight->self;
	return true;
}

static struct function_rank rank_of_row(const struct top_row *row)
{
	return (struct function_rank){
		.self = row->weight->self,
		.total = row->weight->total,
		.kind = (enum frame_kind)row->top->model->names->kinds[row->weight->function],
		.function = row->function,
	};
}

static bool key_of_self(const struct top_row *row, size_t index, uint64_t *ret)
{
	struct function_rank rank = rank_of_row(row);
	return function_order_word(&rank, FUNCTION_ORDER_SELF, index, ret);
}

static bool key_of_total(const struct top_row *row, size_t index, uint64_t *ret)
{
	struct function_rank rank = rank_of_row(row);
	return function_order_word(&rank, FUNCTION_ORDER_TOTAL, index, ret);
}

/* By the name's first letters, then object by object. */
static bool key_of_object(const struct top_row *row, size_t index, uint64_t *ret)
{
	if (index >= 3)
		return key_of_name(row, index - 3, ret);
	if (index == 0)
		word_of_text(model_object(row->top->model, row->function->object)->name, 0, ret);
	else
		*ret = index == 1 ? row->function->object : ~row->weight->self;
	return true;
}

static void put_self(
	const struct top_row *row, const struct app *app, struct grid *grid, struct rect cell)
{
	app_draw_value(app, grid, cell, row->weight->self, row->weight->self_samples);
}

static void put_total(
	const struct top_row *row, const struct app *app, struct grid *grid, struct rect cell)
{
	app_draw_value(app, grid, cell, row->weight->total, row->weight->samples);
}

/* What stands for the cut part of stacks is of no file. */
static const char *object_name(const struct app *app, const struct profile_function *function)
{
	const char *name = model_object(app->model, function->object)->name;
	return name[0] ? name : "-";
}

static void put_object(
	const struct top_row *row, const struct app *app, struct grid *grid, struct rect cell)
{
	grid_put_elided(grid, cell.x, cell.y, cell.width,
		app_file_style(app, grid, row->weight->function), object_name(app, row->function));
}

static void put_group(
	const struct top_row *row, const struct app *app, struct grid *grid, struct rect cell)
{
	uint32_t group = row->weight->group;
	if (group)
		grid_put_elided(grid, cell.x, cell.y, cell.width, app_row_style(app, group),
			model_function(app->model, group)->name);
}

static void put_self_bar(
	const struct top_row *row, const struct app *app, struct grid *grid, struct rect cell)
{
	grid_put_bar(grid, cell.x, cell.y, cell.width, STYLE_BAR,
		app_percent(app, row->weight->self) / 100);
}

/* Where objects have no column, they stand in names without bounds. */
static void put_function(
	const struct top_row *row, const struct app *app, struct grid *grid, struct rect cell)
{
	unsigned style = app_row_style(app, row->weight->function);
	if (!row->function->has_bounds || list_header_width(&row->top->header, TOP_OBJECT))
		fitting_name_draw(grid, cell, style, row->function, &row->top->names);
	else
		grid_put_elided(grid, cell.x, cell.y, cell.width, style, row->function->name);
}

/* Below some widths of the screen a column goes. */
static const struct top_column_row {
	struct list_column look;
	/* As struct word_order's word: what the rows are ordered by. */
	bool (*key)(const struct top_row *row, size_t index, uint64_t *ret);
	void (*put)(const struct top_row *row, const struct app *app, struct grid *grid,
		struct rect cell);
} columns[TOP_COLUMNS] = {
	[TOP_SELF] = {{"self", .width = 9, .is_right = true}, key_of_self, put_self},
	[TOP_TOTAL] = {{"total", .width = 9, .room = 34, .is_right = true}, key_of_total,
		put_total},
	[TOP_GROUP] = {{"group", .width = 20, .room = INT_MAX}, key_of_group, put_group},
	[TOP_OBJECT] = {{"file", .width = 18, .room = 60, .is_text = true}, key_of_object,
		put_object},
	[TOP_BAR] = {{"", .width = 11, .room = 70, .is_bar = true, .bar_of = TOP_SELF}, key_of_self,
		put_self_bar},
	[TOP_FUNCTION] = {{"function", .parts = 1, .is_text = true}, key_of_name, put_function},
};

static void *top_create(void)
{
	struct top *top = mem_zalloc(sizeof(*top));
	for (int i = 0; i < TOP_COLUMNS; i++)
		top->looks[i] = columns[i].look;
	return top;
}

static void top_destroy(void *state)
{
	struct top *top = state;
	vec_deinit(&top->rows);
	mem_free(top->group_totals);
	distinct_names_deinit(&top->names);
	mem_free(top);
}

/* ---- order ---- */

/* Of an element, which is one of the model's functions. */
static bool word_of_row(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	const struct top *top = context;
	struct top_row row = row_of_element(top, element);
	return columns[top->header.order].key(&row, index, ret);
}

static struct word_order order_of(const struct top *top)
{
	return (struct word_order){.word = word_of_row, .context = top};
}

static void sum_groups(struct top *top, const struct model *model)
{
	const struct tree *tree = &model->names->tree;
	mem_free(steal_ptr(top->group_totals));
	if (!model->names->groups_of)
		return;
	top->group_totals =
		mem_zalloc_array(model->names->functions.len, sizeof(*top->group_totals));
	for (uint32_t at = tree->nodes.data[0].first_child; at;
		at = tree->nodes.data[at].next_sibling)
		top->group_totals[tree->nodes.data[at].function] = model->weights[at].total;
}

/* The groups' column takes the room of what tells less than it. */
static void choose_columns(struct top *top, const struct model *model)
{
	enum {
		ROOM_FOR_GROUP = 50,
		MORE_ROOM = 40,
	};
	bool has_groups = model->names->groups_of;
	for (int i = 0; i < TOP_COLUMNS; i++)
		top->looks[i] = columns[i].look;
	if (!has_groups && top->header.order == TOP_GROUP)
		top->header.order = TOP_SELF;
	if (!has_groups)
		return;
	top->looks[TOP_GROUP].title = model_grouping_word(model->names->grouping);
	top->looks[TOP_GROUP].room = ROOM_FOR_GROUP;
	top->looks[TOP_OBJECT].room += MORE_ROOM;
	top->looks[TOP_BAR].room += MORE_ROOM;
}

static void put_rows_in_order_of_memory(struct top *top)
{
	for (uint32_t i = 0; i < top->rows.len; i++)
		top->rows.data[i].element = i;
}

/* The model's functions; they are sorted as far as the screen shows them. */
static void view_top_fill_rows(struct top *top, const struct model *model)
{
	top->model = model;
	top->weights = model->names->groups_of ? &model->of_groups : &model->functions;
	choose_columns(top, model);
	sum_groups(top, model);
	top->sorted_from = top->sorted_to = 0;
	vec_resize(&top->rows, top->weights->len);
	put_rows_in_order_of_memory(top);
}

static void sort_rows(struct top *top, size_t from, size_t to)
{
	struct word_order order = order_of(top);
	if (from >= top->sorted_from && to <= top->sorted_to)
		return;
	put_rows_in_order_of_memory(top); /* or each is fetched from anywhere */
	word_sort(top->rows.data, top->rows.len, &order, from, to);
	top->sorted_from = from;
	top->sorted_to = to;
}

static size_t view_top_turn(const struct top *top, size_t line)
{
	return top->header.is_reversed ? top->rows.len - 1 - line : line;
}

/* What stands on a line, and with it a few pages around. */
static uint32_t element_at(struct top *top, size_t line)
{
	enum {
		AROUND = 512
	};
	size_t at = view_top_turn(top, line), left = top->rows.len - at;
	if (at < top->sorted_from || at >= top->sorted_to)
		sort_rows(top, at < AROUND ? 0 : at - AROUND, at + (left < AROUND ? left : AROUND));
	return top->rows.data[at].element;
}

static const struct function_weight *view_top_row_at(struct top *top, size_t line)
{
	return &top->weights->data[element_at(top, line)];
}

static void go_to_element(struct top *top, uint32_t element)
{
	struct word_order order = order_of(top);
	size_t rank = word_rank(top->rows.data, top->rows.len, &order, element);
	top->list.selected = view_top_turn(top, rank);
}

/*
 * Goes to the line of the function, in the group that is selected where it is there, else where it
 * takes most; false: it has none.
 */
static bool view_top_find_function(struct top *top, const struct app *app, uint32_t function)
{
	uint32_t group = model_function_of(app->model, app->selection.group), best = 0;
	bool is_found = false;
	for (uint32_t i = 0; function && i < top->rows.len; i++) {
		const struct function_weight *weight = &top->weights->data[i];
		if (weight->function != function)
			continue;
		bool is_wanted = group && weight->group == group;
		if (!is_found || is_wanted || weight->self > top->weights->data[best].self)
			best = i;
		is_found = true;
		if (is_wanted)
			break;
	}
	if (is_found)
		go_to_element(top, best);
	return is_found;
}

static uint32_t frame_of_group(const struct top *top, const struct function_weight *row)
{
	const struct tree *tree = &top->model->names->tree;
	uint32_t at = row->group ? tree->nodes.data[0].first_child : 0;
	while (at && tree->nodes.data[at].function != row->group)
		at = tree->nodes.data[at].next_sibling;
	return at ? tree->nodes.data[at].frame : 0;
}

static void view_top_select_row(struct top *top, struct app *app)
{
	top->missing = 0;
	if (top->list.selected >= top->rows.len)
		return;
	const struct function_weight *row = view_top_row_at(top, top->list.selected);
	app_select_in_group(app, row->frame, frame_of_group(top, row));
}

/* After a filter, of which the function that was selected is no part: until another is chosen. */
static void select_stand_in(struct top *top, struct app *app)
{
	if (!top->rows.len)
		return;
	uint32_t missing = top->missing ? top->missing : app->selection.frame;
	top->list.selected = 0;
	view_top_select_row(top, app);
	top->missing = missing;
	top->stand_in = app->selection.frame;
}

/* Who comes here wants to see what is at the top, not where a function of another view stands. */
static void go_to_top(struct top *top, struct app *app)
{
	top->list.selected = 0;
	view_top_select_row(top, app);
	app->selection.is_default = true;
}

static bool is_on_first_screen(const struct top *top, const struct app *app)
{
	int height = app->chrome.body.height - 1; /* without the header */
	return height <= 0 || top->list.selected < (size_t)height;
}

/* Another list than that of the last update is seen. */
static bool top_is_arriving(struct top *top, const struct app *app)
{
	const struct model *model = app->model;
	bool is_known = top->event;
	bool is_arriving =
		top->shown != app->shown || (is_known && (top->grouping != model->names->grouping ||
								 top->event != model->event));
	top->shown = app->shown;
	top->grouping = model->names->grouping;
	top->event = model->event;
	return is_arriving;
}

static void top_update(void *state, struct app *app)
{
	struct top *top = state;
	bool is_arriving = top_is_arriving(top, app);
	view_top_fill_rows(top, app->model);
	top->list.count = top->rows.len;
	if (!app_function(app) || app->selection.is_default) {
		/* Names change the order: until a function is chosen, it is not the first one that
		   moves away, but another one that is the first. */
		top->list.selected = 0;
		view_top_select_row(top, app);
		app->selection.is_default = true;
		return;
	}
	if (top->stand_in != app->selection.frame)
		top->missing = 0;
	if (top->missing &&
		view_top_find_function(top, app, model_function_of(app->model, top->missing))) {
		app_select(app, top->missing);
		top->missing = 0;
	} else if (!view_top_find_function(top, app, app_function(app)) || top->missing) {
		select_stand_in(top, app);
	}
	if (is_arriving && !is_on_first_screen(top, app))
		go_to_top(top, app);
}

static void top_renew(void *state, const struct renewal *renewal)
{
	struct top *top = state;
	top->missing = renewal_frame(renewal, top->missing);
	top->stand_in = renewal_frame(renewal, top->stand_in);
}

/* ---- drawing ---- */

static void view_top_draw_row(
	struct top *top, const struct app *app, struct grid *grid, int y, size_t index)
{
	struct top_row row = row_of_element(top, element_at(top, index));
	for (int i = 0; i < TOP_COLUMNS; i++) {
		struct rect cell = {top->header.x[i], y, list_header_width(&top->header, i), 1};
		columns[i].put(&row, app, grid, cell);
	}
}

/* Of the rows that are seen. */
static void find_distinct_names(struct top *top, const struct grid *grid)
{
	distinct_names_deinit(&top->names);
	for (size_t i = 0; i < list_seen(&top->list); i++)
		fitting_name_add(grid,
			row_of_element(top, element_at(top, top->list.top + i)).function,
			list_header_width(&top->header, TOP_FUNCTION), &top->names);
	distinct_names_find(&top->names);
}

static void top_draw(void *state, struct app *app, struct grid *grid, struct rect area)
{
	struct top *top = state;
	list_header_place(&top->header, top->looks, TOP_COLUMNS, area);
	list_header_draw(&top->header, grid);
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&top->list, top->rows.len, rows);
	find_distinct_names(top, grid);
	for (size_t i = 0; i < list_seen(&top->list); i++)
		view_top_draw_row(top, app, grid, rows.y + (int)i, top->list.top + i);
	list_mark(&top->list, grid);
	list_draw_place(&top->list, grid);
	if (!top->rows.len)
		app_draw_no_samples(app, grid, rows);
}

/* ---- input ---- */

static bool view_top_is_match(const struct top *top, const struct app *app, uint32_t element)
{
	const struct function_weight *weight = &top->weights->data[element];
	return app->model->matches[weight->function] ||
	       (weight->group && app->model->matches[weight->group]);
}

/* Of the functions that match, the nearest behind the selected one, or from the other end on. */
static bool find_match(struct top *top, const struct app *app, bool goes_back, uint32_t *ret)
{
	struct word_order order = order_of(top);
	uint32_t from = element_at(top, top->list.selected);
	bool has_any = false, is_behind = false; /* whether *ret is */
	for (uint32_t i = 0; i < top->rows.len; i++) {
		if (!view_top_is_match(top, app, i))
			continue;
		bool i_is_behind =
			goes_back ? word_less(&order, i, from) : word_less(&order, from, i);
		bool is_nearer = !has_any || (goes_back ? word_less(&order, *ret, i)
							: word_less(&order, i, *ret));
		if (i_is_behind == is_behind ? is_nearer : i_is_behind) {
			*ret = i;
			is_behind = i_is_behind;
		}
		has_any = true;
	}
	return has_any;
}

static void view_top_go_to_match(void *state, struct app *app, enum action action)
{
	struct top *top = state;
	bool goes_up = action == ACTION_PREVIOUS_MATCH;
	uint32_t element = 0;
	if (!app->model->matches) {
		app_warn(app, "search for something first: /");
		return;
	}
	if (!top->rows.len || !find_match(top, app, goes_up != top->header.is_reversed, &element)) {
		app_warn(app, "nothing matches");
		return;
	}
	if (element == element_at(top, top->list.selected))
		app_say(app, "no other match");
	go_to_element(top, element);
	view_top_select_row(top, app);
}

/* By self, whatever the rows are ordered by. */
static bool word_by_heat(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	struct top_row row = row_of_element(context, element);
	return key_of_self(&row, index, ret);
}

static void view_top_go_to_hottest(void *state, struct app *app, enum action action)
{
	struct top *top = state;
	struct word_order order = {.word = word_by_heat, .context = top};
	uint32_t best = UINT32_MAX;
	(void)action;
	for (uint32_t i = 0; app->model->matches && i < top->rows.len; i++)
		if (view_top_is_match(top, app, i) &&
			(best == UINT32_MAX || word_less(&order, i, best)))
			best = i;
	if (best == UINT32_MAX) {
		app_warn(app, "nothing matches");
		return;
	}
	go_to_element(top, best);
	view_top_select_row(top, app);
}

/* In groups a function has several rows, one after the other by self, which are counted each. */
static size_t view_top_count_matches(const void *state, const struct app *app, size_t *number)
{
	struct top *top = (struct top *)state; /* rows are sorted as they are asked for */
	struct word_order order = {.word = word_by_heat, .context = top};
	*number = 0;
	if (!top->rows.len)
		return 0;
	const struct function_weight *weights = top->weights->data;
	uint32_t selected = element_at(top, top->list.selected);
	bool is_match = view_top_is_match(top, app, selected);
	size_t count = 0;
	for (uint32_t i = 0; i < top->rows.len; i++) {
		if (!view_top_is_match(top, app, i))
			continue;
		count++;
		bool may_be_ahead = is_match && weights[i].self >= weights[selected].self;
		*number += may_be_ahead && (i == selected || word_less(&order, i, selected));
	}
	return count;
}

static void view_top_enter(void *state, struct app *app, enum action action)
{
	(void)state;
	(void)action;
	app_show(app, VIEW_BUTTERFLY);
}

static const struct view_action actions[] = {
	{ACTION_ENTER, view_top_enter},
	{ACTION_HOTTEST_MATCH, view_top_go_to_hottest},
	{ACTION_NEXT_MATCH, view_top_go_to_match},
	{ACTION_PREVIOUS_MATCH, view_top_go_to_match},
	{ACTION_NONE, NULL},
};

static bool top_act(void *state, struct app *app, enum action action)
{
	struct top *top = state;
	if (list_header_act(&top->header, action)) {
		go_to_top(top, app);
		top_update(top, app);
		return true;
	}
	if (view_action_run(actions, top, app, action))
		return true;
	if (!list_act(&top->list, action))
		return false;
	view_top_select_row(top, app);
	return true;
}

static bool top_mouse(void *state, struct app *app, const struct input *input)
{
	struct top *top = state;
	if (list_header_mouse(&top->header, input)) {
		go_to_top(top, app);
		top_update(top, app);
		return true;
	}
	if (!list_mouse(&top->list, input))
		return false;
	view_top_select_row(top, app);
	return true;
}

static void top_put_padded(struct str *out, const char *text, size_t width)
{
	size_t before = out->len;
	str_puts_escaped(out, text);
	str_pad(out, ' ', out->len - before < width ? width - (out->len - before) : 0);
	str_putc(out, ' ');
}

/* The whole list, as wide as its names. */
static void top_print(void *state, struct app *app, struct str *out)
{
	enum {
		NAME = 24,
	};
	struct top *top = state;
	const char *group = model_grouping_word(app->model->names->grouping);
	str_printf(out, "%9s %9s  ", "self", "total");
	if (group)
		top_put_padded(out, group, NAME);
	str_printf(out, "%-24s %s\n", "file", "function");
	sort_rows(top, 0, top->rows.len);
	for (size_t i = 0; i < top->rows.len; i++) {
		const struct function_weight *row = view_top_row_at(top, i);
		const struct profile_function *function = model_function(app->model, row->function);
		CLEANUP(str_deinit) struct str self = {0}, total = {0};
		app_put_value(app, &self, row->self, row->self_samples);
		app_put_value(app, &total, row->total, row->samples);
		str_printf(out, "%9s %9s  ", str_text(&self), str_text(&total));
		if (group)
			top_put_padded(out, model_function(app->model, row->group)->name, NAME);
		top_put_padded(out, object_name(app, function), NAME);
		const char *name = profile_function_own_name(function);
		str_puts_escaped(out, name);
		str_putc(out, '\n');
	}
}

static const enum action hints[] = {ACTION_ENTER, ACTION_VIEW_1 + VIEW_SOURCE, ACTION_EVENT,
	ACTION_GROUP, ACTION_SORT_RIGHT, ACTION_UNIT, ACTION_KEEP, ACTION_UNDO, ACTION_NEXT_VIEW,
	ACTION_NONE};

static const struct view_word words[] = {{ACTION_ENTER, "callers"}, {ACTION_NONE, NULL}};

const struct view view_top = {
	.name = "Top",
	.create = top_create,
	.destroy = top_destroy,
	.update = top_update,
	.renew = top_renew,
	.draw = top_draw,
	.act = top_act,
	.mouse = top_mouse,
	.print = top_print,
	.count_matches = view_top_count_matches,
	.hints = hints,
	.is_flat = true,
	.words = words,
};
