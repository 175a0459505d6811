/* A column of lines of which one is selected and some are seen. */
#ifndef EBPROF_LIST_H
#define EBPROF_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "report/tui/grid.h"
#include "report/tui/input_event.h"
#include "report/tui/keys.h"

enum {
	LIST_ALL = 1 << 30, /* lines: more than there are */
};

struct list {
	size_t count;
	size_t selected, top;
	struct rect area; /* where it was drawn last */
};

/* Before drawing: so many lines in this area; the selected one is brought into sight. */
void list_fit(struct list *list, size_t count, struct rect area);
/* How many lines are seen, from `top` on. */
size_t list_seen(const struct list *list);
/*
 * How many lines down, where so many are seen, an action moves what is selected; less than 0: up,
 * LIST_ALL: to the end. 0: it does not move.
 */
long list_step(enum action action, int height);
/* True when the action moved it, or would have if there were more lines. */
bool list_act(struct list *list, enum action action);
/* True when the event was on a line, which is selected then, or a turn of the wheel. */
bool list_mouse(struct list *list, const struct input *input);
/*
 * Selects the next line that matches, or the one before, past the end if need be and back to the
 * selected one itself; false: there is none.
 */
typedef bool list_match_fn(const void *context, size_t line);
bool list_find(struct list *list, bool goes_up, list_match_fn *matches, const void *context);
/* On the line above, where not all lines are seen: which. Narrow lists go without. */
void list_draw_place(const struct list *list, struct grid *grid);
/* How many columns that takes there, from the right. */
int list_place_width(const struct list *list);
/* Marks the selected line. */
void list_mark(const struct list *list, struct grid *grid);

#endif
