#include "report/tui/fitting_name.h"

#include "report/name/short_names.h"

struct room {
	const struct grid *grid;
	int width;
};

static bool fits_room(const void *context, const char *name)
{
	const struct room *room = context;
	return grid_text_width(room->grid, name) <= room->width;
}

const char *fitting_name(const struct grid *grid, const struct profile_function *function,
	int width, struct str *storage)
{
	struct room room = {grid, width};
	return short_names_fit(function, fits_room, &room, storage);
}

void fitting_name_add(const struct grid *grid, const struct profile_function *function, int width,
	struct distinct_names *names)
{
	CLEANUP(str_deinit) struct str storage = {0};
	distinct_names_add(names, function, fitting_name(grid, function, width, &storage));
}

int fitting_name_draw(struct grid *grid, struct rect cell, unsigned style,
	const struct profile_function *function, const struct distinct_names *names)
{
	enum {
		SHARE = 2, /* at most this part of the room is for the difference */
	};
	CLEANUP(str_deinit) struct str storage = {0}, braced = {0};
	const char *difference = distinct_names_of(names, function);
	if (difference[0])
		str_printf(&braced, " {%s}", difference);
	int wanted = grid_text_width(grid, str_text(&braced));
	int room = wanted < cell.width / SHARE ? wanted : cell.width / SHARE;
	int name_width = cell.width - room;
	int used = grid_put_elided(grid, cell.x, cell.y, name_width, style,
		fitting_name(grid, function, name_width, &storage));
	if (wanted)
		used += grid_put_elided(
			grid, cell.x + used, cell.y, cell.width - used, style, str_text(&braced));
	return used;
}
