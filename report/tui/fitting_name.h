/* What a function is called where there may be too little room for its name. */
#ifndef EBPROF_FITTING_NAME_H
#define EBPROF_FITTING_NAME_H

#include "report/model/profile.h"
#include "report/name/distinct_names.h"
#include "report/tui/grid.h"

/*
 * The name where that of its object stands beside it, shortened as far as it takes to fit into
 * `width` columns, as short_names_fit() has it: of parameters and arguments in the middle of a C++
 * name users cannot tell functions apart. May be wider still. Borrowed of the function or of
 * `storage`.
 */
const char *fitting_name(const struct grid *grid, const struct profile_function *function,
	int width, struct str *storage);

/* Adds what it is called in so many columns to the names that are seen with it. */
void fitting_name_add(const struct grid *grid, const struct profile_function *function, int width,
	struct distinct_names *names);
/*
 * Draws the name, and in braces what tells it from those that are seen with it. Returns how many
 * columns that took.
 */
int fitting_name_draw(struct grid *grid, struct rect cell, unsigned style,
	const struct profile_function *function, const struct distinct_names *names);

#endif
