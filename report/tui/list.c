#include "report/tui/list.h"

enum {
	WHEEL_LINES = 3,
};

size_t list_seen(const struct list *list)
{
	size_t left = list->count - list->top, height = (size_t)list->area.height;
	return left < height ? left : height;
}

void list_fit(struct list *list, size_t count, struct rect area)
{
	if (area.height < 0)
		area.height = 0;
	list->count = count;
	list->area = area;
	if (list->selected >= count)
		list->selected = count ? count - 1 : 0;
	size_t height = (size_t)area.height;
	if (list->top > list->selected)
		list->top = list->selected;
	if (height && list->selected - list->top >= height)
		list->top = list->selected - height + 1;
	if (list->top + height > count) /* no blank lines while there are others */
		list->top = count > height ? count - height : 0;
}

static void list_move(struct list *list, long by)
{
	long to = (long)list->selected + by, last = (long)list->count - 1;
	list->selected = to < 0 || last < 0 ? 0 : (size_t)(to > last ? last : to);
}

long list_step(enum action action, int height)
{
	enum step_unit {
		STEP_LINE,
		STEP_PAGE,
		STEP_HALF,
		STEP_ALL,
	};
	static const struct step {
		enum action action;
		enum step_unit unit;
		int sign;
	} steps[] = {
		{ACTION_UP, STEP_LINE, -1},
		{ACTION_DOWN, STEP_LINE, 1},
		{ACTION_PAGE_UP, STEP_PAGE, -1},
		{ACTION_PAGE_DOWN, STEP_PAGE, 1},
		{ACTION_HALF_UP, STEP_HALF, -1},
		{ACTION_HALF_DOWN, STEP_HALF, 1},
		{ACTION_FIRST, STEP_ALL, -1},
		{ACTION_LAST, STEP_ALL, 1},
	};
	long page = height > 1 ? height - 1 : 1;
	const long lines[] = {
		[STEP_LINE] = 1,
		[STEP_PAGE] = page,
		[STEP_HALF] = (page + 1) / 2,
		[STEP_ALL] = LIST_ALL,
	};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (steps[i].action == action)
			return steps[i].sign * lines[steps[i].unit];
	return 0;
}

bool list_act(struct list *list, enum action action)
{
	long step = list_step(action, list->area.height);
	if (step)
		list_move(list, step);
	return step;
}

bool list_mouse(struct list *list, const struct input *input)
{
	const struct rect *area = &list->area;
	if (input->kind == INPUT_WHEEL_UP || input->kind == INPUT_WHEEL_DOWN) {
		list_move(list, input->kind == INPUT_WHEEL_UP ? -WHEEL_LINES : WHEEL_LINES);
		return true;
	}
	bool is_click = input->kind == INPUT_PRESS || input->kind == INPUT_DOUBLE ||
			input->kind == INPUT_MENU;
	if (!is_click || input->x < area->x || input->x >= area->x + area->width ||
		input->y < area->y || (size_t)(input->y - area->y) >= list_seen(list))
		return false;
	list->selected = list->top + (size_t)(input->y - area->y);
	return true;
}

bool list_find(struct list *list, bool goes_up, list_match_fn *matches, const void *context)
{
	size_t count = list->count;
	for (size_t step = 1; step <= count; step++) {
		size_t at = (list->selected + (goes_up ? count - step : step)) % count;
		if (!matches(context, at))
			continue;
		list->selected = at;
		return true;
	}
	return false;
}

static void list_put_place(const struct list *list, struct str *out)
{
	enum {
		ROOM = 60 /* columns of the list */
	};
	size_t seen = list_seen(list);
	if (list->area.width >= ROOM && seen && seen != list->count)
		str_printf(out, " %zu-%zu of %zu", list->top + 1, list->top + seen, list->count);
}

int list_place_width(const struct list *list)
{
	CLEANUP(str_deinit) struct str text = {0};
	list_put_place(list, &text);
	return (int)text.len;
}

void list_draw_place(const struct list *list, struct grid *grid)
{
	const struct rect *area = &list->area;
	CLEANUP(str_deinit) struct str text = {0};
	list_put_place(list, &text);
	int width = (int)text.len;
	grid_put(grid, area->x + area->width - width, area->y - 1, width, STYLE_HEADER,
		str_text(&text));
}

void list_mark(const struct list *list, struct grid *grid)
{
	if (!list->count || !list->area.height)
		return;
	struct rect line = list->area;
	line.y += (int)(list->selected - list->top);
	line.height = 1;
	grid_mark(grid, line, STYLE_SELECTED);
}
