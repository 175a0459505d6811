#include "report/tui/view/function_list.h"

#include <stdlib.h>
#include <string.h>

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

static int compare_by_self(const void *a, const void *b, void *context)
{
	const struct function_weight *x = a, *y = b;
	const struct model *model = context;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(
		model_function(model, x->function)->name, model_function(model, y->function)->name);
}

static void function_list_fill(struct function_list *list, const struct model *model)
{
	vec_each(&model->functions, weight)
		vec_push(&list->rows, *weight);
	qsort_r(list->rows.data, list->rows.len, sizeof(*list->rows.data), compare_by_self,
		(void *)model);
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

static void function_list_select(struct function_list *list, uint32_t function)
{
	for (size_t i = 0; i < list->rows.len; i++)
		if (list->rows.data[i].function == function)
			list->list.selected = i;
}

void function_list_draw(struct function_list *list, const struct app *app, struct grid *grid,
	struct rect area, uint32_t function)
{
	if (!list->rows.len)
		function_list_fill(list, app->model);
	function_list_select(list, function);
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
	list_mark(&list->list, grid);
}

uint32_t function_list_next(const struct function_list *list, int step)
{
	size_t selected = list->list.selected;
	if (step < 0 ? !selected : selected + 1 >= list->rows.len)
		return 0;
	return list->rows.data[step < 0 ? selected - 1 : selected + 1].frame;
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
