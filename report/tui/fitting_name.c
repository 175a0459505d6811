#include "report/tui/fitting_name.h"

#include "report/name/short_names.h"

struct grid_cell {
	struct grid *grid; /* NULL: `measured` is not drawn into */
	const struct grid *measured;
	int x, y;
	unsigned style;
};

static size_t grid_columns_of(const void *context, const char *text)
{
	const struct grid_cell *cell = context;
	return (size_t)grid_text_width(cell->measured, text);
}

static void grid_put_name(void *context, const char *text, size_t columns)
{
	struct grid_cell *cell = context;
	cell->x += grid_put_elided(cell->grid, cell->x, cell->y, (int)columns, cell->style, text);
}

static struct name_room grid_room(struct grid_cell *cell, int width)
{
	return (struct name_room){
		width > 0 ? (size_t)width : 0, grid_columns_of, grid_put_name, cell};
}

static bool fits_grid_room(const void *context, const char *name)
{
	const struct name_room *room = context;
	return room->columns_of(room->context, name) <= room->columns;
}

const char *fitting_name(const struct grid *grid, const struct profile_function *function,
	int width, struct str *storage)
{
	struct grid_cell cell = {.measured = grid};
	struct name_room room = grid_room(&cell, width);
	return short_names_fit(function, fits_grid_room, &room, storage);
}

void fitting_name_add(const struct grid *grid, const struct profile_function *function, int width,
	struct distinct_names *names)
{
	struct grid_cell cell = {.measured = grid};
	struct name_room room = grid_room(&cell, width);
	distinct_names_add_fitting(names, function, &room);
}

int fitting_name_draw(struct grid *grid, struct rect cell, unsigned style,
	const struct profile_function *function, const struct distinct_names *names)
{
	struct grid_cell at = {grid, grid, cell.x, cell.y, style};
	struct name_room room = grid_room(&at, cell.width);
	distinct_names_put_fitting(names, function, &room);
	return at.x - cell.x;
}
