#include "report/tui/view/list_header.h"

#include "format/base/str.h"

static bool list_header_has_room(const struct list_column *column, struct rect area)
{
	return area.width >= column->room;
}

void list_header_place(
	struct list_header *header, const struct list_column *columns, int count, struct rect area)
{
	int left = area.width, parts = 0, x = area.x;
	for (int i = 0; i < count; i++) {
		if (!list_header_has_room(&columns[i], area))
			continue;
		left -= columns[i].width;
		parts += columns[i].parts;
	}
	header->columns = columns;
	header->count = count;
	header->y = area.y;
	for (int i = 0; i < count; i++) {
		header->x[i] = x;
		if (!list_header_has_room(&columns[i], area))
			continue;
		bool is_part = columns[i].parts && left > 0;
		x += is_part ? left * columns[i].parts / parts : columns[i].width;
	}
	header->x[count] = area.x + area.width;
}

int list_header_width(const struct list_header *header, int column)
{
	int width = header->x[column + 1] - header->x[column];
	bool has_blank = header->x[column + 1] < header->x[header->count];
	return width > 0 ? width - has_blank : 0;
}

void list_header_put(const struct list_header *header, struct grid *grid, int y, int column,
	unsigned style, const char *text)
{
	int x = header->x[column], width = list_header_width(header, column);
	if (header->columns[column].is_right)
		grid_put_right(grid, x, y, width, style, text);
	else
		grid_put_elided(grid, x, y, width, style, text);
}

void list_header_draw(const struct list_header *header, struct grid *grid)
{
	for (int i = 0; i < header->count; i++) {
		CLEANUP(str_deinit) struct str title = {0};
		bool is_order = i == header->order;
		str_puts(&title, header->columns[i].title);
		if (is_order)
			str_puts(&title,
				grid_glyph(grid, header->is_reversed != header->columns[i].is_text
							 ? GLYPH_UP
							 : GLYPH_DOWN));
		int x = header->x[i], width = list_header_width(header, i);
		unsigned style = STYLE_HEADER | (is_order ? STYLE_BOLD : 0);
		if (header->columns[i].is_right)
			grid_put_right(grid, x, header->y, width, style, str_text(&title));
		else
			grid_put(grid, x, header->y, width, style, str_text(&title));
	}
}

/* ---- input ---- */

static void order_by(struct list_header *header, int column)
{
	header->is_reversed = header->order == column && !header->is_reversed;
	header->order = column;
}

/* The nearest column on that side that is shown; the same where there is none. */
static void order_beside(struct list_header *header, int step)
{
	int column = header->order + step;
	while (column >= 0 && column < header->count &&
		(header->columns[column].is_bar || !list_header_width(header, column)))
		column += step;
	if (column >= 0 && column < header->count)
		order_by(header, column);
}

bool list_header_act(struct list_header *header, enum action action)
{
	if (action == ACTION_SORT_REVERSE)
		order_by(header, header->order);
	else if (action == ACTION_SORT_LEFT || action == ACTION_SORT_RIGHT)
		order_beside(header, action == ACTION_SORT_LEFT ? -1 : 1);
	else
		return false;
	return true;
}

bool list_header_mouse(struct list_header *header, const struct input *input)
{
	if (input->kind != INPUT_PRESS || input->y != header->y || !header->count)
		return false;
	int column = 0;
	while (column + 1 < header->count && input->x >= header->x[column + 1])
		column++;
	bool is_bar = header->columns[column].is_bar;
	order_by(header, is_bar ? header->columns[column].bar_of : column);
	return true;
}
