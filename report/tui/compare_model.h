/*
 * The call trees of two recordings as a model, so that what draws and searches models does the same
 * with what both did.
 */
#ifndef EBPROF_COMPARE_MODEL_H
#define EBPROF_COMPARE_MODEL_H

#include "report/compare_tree.h"
#include "report/tui/model.h"

/*
 * Of the model and the base's names. Takes over the tree, but for the sides' weights. Functions and
 * frames are those of the tree, objects and values its own; there is nothing else in it.
 */
struct model *compare_model_create(const struct model *model, const struct model_names *base,
	const struct compare *compare, struct compare_tree *tree, const char *search);

#endif
