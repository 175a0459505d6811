/*
 * The flat profile without a call tree: what tree_weigh_functions() says, in a fraction of the time
 * that the tree takes.
 */
#ifndef EBPROF_FLAT_WEIGHTS_H
#define EBPROF_FLAT_WEIGHTS_H

#include "report/analyse/tree.h"

/* False: this profile's stacks do not allow it, and nothing was made. */
bool flat_weigh_functions(const struct profile *profile, const struct tree_options *options,
	const struct slice *slice, struct function_weights *ret);

#endif
