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
