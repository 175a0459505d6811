#include "report/tui/view/function_list.h"

#include "report/tui/app_state.h"
#include "report/tui/fitting_name.h"

enum {
	NUMBER = 9, /* columns */
};

void function_list_deinit(struct function_list *list)
{
	vec_deinit(&list->rows);
}

void function_list_forget(struct function_list *list)
{
	list->rows.len = 0;
}

static void function_list_fill(struct function_list *list, const struct model *model)
{
	enum {
		MOST = 1000, /* a recording can have 100,000: the last ones are not looked for */
	};
	size_t all = model->functions.len, count = all < MOST ? all : MOST;
	CLEANUP_FREE struct word_entry *entries = mem_zalloc_array(all, sizeof(*entries));
	struct word_order order = model_hottest_first(model);
	for (size_t i = 0; i < all; i++)
		entries[i].element = (uint32_t)i;
	if (all)
		word_sort(entries, all, &order, 0, count);
	for (size_t i = 0; i < count; i++)
		vec_push(&list->rows, model->functions.data[entries[i].element]);
}

static void function_list_draw_row(const struct function_list *list, const struct app *app,
	struct grid *grid, const struct distinct_names *names, int y, size_t index)
{
	const struct rect *area = &list->list.area;
	const struct function_weight *row = &list->rows.data[index];
	struct rect self = {area->x, y, NUMBER - 1, 1};
	struct rect name = {area->x + NUMBER, y, area->width - NUMBER, 1};
	app_draw_value(app, grid, self, row->self, row->self_samples);
	fitting_name_draw(grid, name, app_row_style(app, row->function),
		model_function(app->model, row->function), names);
}

/* The rows of the model, with that of the function marked. */
static void function_list_look(
	struct function_list *list, const struct model *model, uint32_t function)
{
	if (!list->rows.len)
		function_list_fill(list, model);
	list->has_marked = false;
	for (size_t i = 0; i < list->rows.len && !list->has_marked; i++)
		if (list->rows.data[i].function == function) {
			list->list.selected = i;
			list->has_marked = true;
		}
}

void function_list_draw(struct function_list *list, const struct app *app, struct grid *grid,
	struct rect area, uint32_t function)
{
	function_list_look(list, app->model, function);
	grid_put_right(grid, area.x, area.y, NUMBER - 1, STYLE_HEADER | STYLE_BOLD, "self");
	grid_put(grid, area.x + NUMBER, area.y, area.width - NUMBER, STYLE_HEADER, "function");
	struct rect rows = {area.x, area.y + 1, area.width, area.height - 1};
	list_fit(&list->list, list->rows.len, rows);
	CLEANUP(distinct_names_deinit) struct distinct_names names = {0};
	for (size_t i = 0; i < list_seen(&list->list); i++)
		fitting_name_add(grid,
			model_function(app->model, list->rows.data[list->list.top + i].function),
			area.width - NUMBER, &names);
	distinct_names_find(&names);
	for (size_t i = 0; i < list_seen(&list->list); i++)
		function_list_draw_row(
			list, app, grid, &names, rows.y + (int)i, list->list.top + i);
	if (list->has_marked)
		list_mark(&list->list, grid);
}

uint32_t function_list_next(
	struct function_list *list, const struct model *model, uint32_t function, int step)
{
	function_list_look(list, model, function);
	size_t len = list->rows.len, selected = list->list.selected;
	size_t next = step < 0 ? selected - 1 : selected + 1; /* wraps: beyond the list, too */
	bool is_below = false;
	if (!list->has_marked) {
		vec_each(&model->functions, row)
			is_below |= row->function == function;
		next = is_below ? len - 1 : 0;
	}
	bool has_next = list->has_marked || is_below == (step < 0);
	return has_next && next < len ? list->rows.data[next].frame : 0;
}

bool function_list_is_cut(const struct function_list *list, const struct model *model)
{
	return list->rows.len < model->functions.len;
}

bool function_list_mouse(struct function_list *list, const struct input *input, uint32_t *frame)
{
	const struct rect *area = &list->list.area;
	if (!list->rows.len || input->x < area->x || input->x >= area->x + area->width)
		return false;
	*frame = 0;
	if (list_mouse(&list->list, input) && list->list.selected < list->rows.len)
		*frame = list->rows.data[list->list.selected].frame;
	return true;
}
