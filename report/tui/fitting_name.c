#include "report/tui/fitting_name.h"

#include "report/name/short_names.h"

const char *fitting_name(const struct grid *grid, const struct profile_function *function,
	int width, struct str *storage)
{
	if (grid_text_width(grid, function->name) <= width)
		return function->name;
	str_truncate(storage, 0);
	return short_names_put(function, storage) ? str_text(storage) : function->name;
}
