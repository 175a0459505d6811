/* What a function is called where there may be too little room for its name. */
#ifndef EBPROF_FITTING_NAME_H
#define EBPROF_FITTING_NAME_H

#include "report/model/profile.h"
#include "report/tui/grid.h"

/*
 * The name where that of its object stands beside it, shortened as far as it takes to fit into
 * `width` columns, as short_names_fit() has it: of parameters and arguments in the middle of a C++
 * name users cannot tell functions apart. May be wider still. Borrowed of the function or of
 * `storage`.
 */
const char *fitting_name(const struct grid *grid, const struct profile_function *function,
	int width, struct str *storage);

#endif
