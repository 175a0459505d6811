/*
 * The call trees of two recordings as a model, so that what draws and searches models does the same
 * with what both did.
 */
#ifndef EBPROF_COMPARE_MODEL_H
#define EBPROF_COMPARE_MODEL_H

#include "report/tui/model.h"

/* The names and the tree of both: functions, objects and frames are those of names->diff. */
struct model_names *compare_names_create(
	const struct diff_tree_side *base, const struct diff_tree_side *new);
/*
 * As wide as the mean of both sides, whose weights are of that tree. There is nothing in it but
 * names, weights and matches.
 */
struct model *compare_model_create(const struct model *model, struct model_names *names,
	struct tree_weight *const sides[MATCH_SIDES], const char *search);

#endif
