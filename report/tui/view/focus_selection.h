/*
 * Between what is selected and zoomed to, which is remembered by frames, and the nodes of a focus:
 * for all views that show one.
 */
#ifndef EBPROF_FOCUS_SELECTION_H
#define EBPROF_FOCUS_SELECTION_H

#include "report/analyse/focus.h"
#include "report/tui/app_state.h"

/* From the root of the focus to a node. */
void focus_path(const struct focus *focus, uint32_t node, struct path *ret);
/* The deepest node of the focus on the path; NULL: the root. */
uint32_t focus_follow(struct focus *focus, const struct model *model, const struct path *path);
/* Zooms to a node: a branch of the tree, or from the leaves on the way to it. */
void focus_zoom(const struct focus *focus, struct app *app, uint32_t node);

#endif
