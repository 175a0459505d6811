/*
 * What stands around every view: title, tabs, trail above it, below it the detail of the selection
 * and the hints, or what is typed.
 */
#ifndef EBPROF_CHROME_H
#define EBPROF_CHROME_H

#include "report/tui/grid.h"
#include "report/tui/input_event.h"
#include "report/tui/view.h"

struct app;

enum {
	CHROME_CRUMBS_MAX = 32, /* steps of the trail that the mouse can reach */
	CHROME_BUTTONS_MAX = 32,
};

/* Where something was drawn on a line, and what it stands for. */
struct chrome_spot {
	int x, end;
	size_t what;
};

/* Words on the first and on the last line that tell a key: a click does what that does. */
struct chrome_button {
	struct rect cell;
	enum action action;
};

struct chrome {
	struct chrome_spot tabs[VIEW_COUNT]; /* on line 1; what: the view */
	size_t nr_tabs;
	struct chrome_spot crumbs[CHROME_CRUMBS_MAX]; /* what: the steps up to it */
	size_t nr_crumbs;
	struct chrome_button buttons[CHROME_BUTTONS_MAX];
	size_t nr_buttons;
	int trail_y;      /* -1: it is not shown */
	struct rect body; /* what is left to the view */
};

/* Finds the body. False: the grid is too small for anything, which is all that it says then. */
bool chrome_draw_above(struct chrome *chrome, const struct app *app, struct grid *grid);
/* After the view was drawn, which has what is said of its selection. */
void chrome_draw_below(struct app *app, struct grid *grid);
/* What a view is of, ahead of its text in a file: lines that begin with #. */
void chrome_put_heading(const struct app *app, struct str *out);
/* A click on what stands around the view; false when there is nothing. *ret is what is to be done
 * then; ACTION_NONE: it is done. */
bool chrome_point(
	const struct chrome *chrome, struct app *app, const struct input *input, enum action *ret);

#endif
