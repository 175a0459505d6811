/*
 * The hottest functions by the time that they took themselves, for a place beside something that
 * is about one of them.
 */
#ifndef EBPROF_FUNCTION_LIST_H
#define EBPROF_FUNCTION_LIST_H

#include "report/tui/list.h"
#include "report/tui/model.h"

struct app;

struct function_list {
	struct list list;
	struct function_weights rows; /* in order, at most 1,000; none until they are needed */
	bool has_marked;              /* ... the function that the rest is about */
};

void function_list_deinit(struct function_list *list);
/* The model is another one. */
void function_list_forget(struct function_list *list);
/* With a header; that function is marked. */
void function_list_draw(struct function_list *list, const struct app *app, struct grid *grid,
	struct rect area, uint32_t function);
/*
 * A frame of the function in the row below (step > 0) or above that of `function`; 0: there is
 * none. What has no time of its own in the model, as a group has none, stands above the first row,
 * and functions for which there was no room stand below the last one. The list need not be drawn.
 */
uint32_t function_list_next(
	struct function_list *list, const struct model *model, uint32_t function, int step);
/* Whether the model has more functions than there is room for; the list is that of the model. */
bool function_list_is_cut(const struct function_list *list, const struct model *model);
/* Whether it was about the list; *frame: one of the function that was clicked on, or 0. */
bool function_list_mouse(struct function_list *list, const struct input *input, uint32_t *frame);

#endif
