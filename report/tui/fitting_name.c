#include "report/tui/fitting_name.h"

#include "report/name/short_names.h"

const char *fitting_name(const struct grid *grid, const struct profile_function *function,
	int width, struct str *storage)
{
	const char *name = profile_function_own_name(function);
	if (function->has_bounds || grid_text_width(grid, name) <= width)
		return name;
	str_truncate(storage, 0);
	return short_names_put(function, storage) ? str_text(storage) : name;
}
