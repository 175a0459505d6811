/*
 * The line above a list that says what is in its columns, and which of them the list is ordered by:
 * chosen by keys or with the mouse.
 */
#ifndef EBPROF_LIST_HEADER_H
#define EBPROF_LIST_HEADER_H

#include "report/tui/grid.h"
#include "report/tui/input_event.h"
#include "report/tui/keys.h"

enum {
	LIST_COLUMNS_MAX = 8,
};

struct list_column {
	const char *title;
	int width;     /* with the blank behind it; 0: it has a part of what the others leave */
	int parts;     /* how many of all such parts */
	int room;      /* narrower lists go without it */
	bool is_right; /* aligned */
	bool is_text;  /* ordered from A to Z, which is upwards; numbers from the largest on */
	bool is_bar;   /* of the column `bar_of`, which is what orders by it */
	int bar_of;
};

struct list_header {
	int order; /* a column */
	bool is_reversed;
	/* As it was drawn last: */
	const struct list_column *columns;
	int count;
	int y;                       /* -1: it was not */
	int x[LIST_COLUMNS_MAX + 1]; /* where they begin, and the end */
};

/* The columns must stay. */
void list_header_place(
	struct list_header *header, const struct list_column *columns, int count, struct rect area);
/* What a column has for its text; 0: it is not shown. */
int list_header_width(const struct list_header *header, int column);
void list_header_draw(const struct list_header *header, struct grid *grid);
/* A cell of the column in some line, aligned like its title. */
void list_header_put(const struct list_header *header, struct grid *grid, int y, int column,
	unsigned style, const char *text);

/* True when the action or event is one about the order, which may be another one then. */
bool list_header_act(struct list_header *header, enum action action);
bool list_header_mouse(struct list_header *header, const struct input *input);

#endif
