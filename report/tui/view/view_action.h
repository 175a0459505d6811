/* Tables of what a view, or a part of one, does for actions. */
#ifndef EBPROF_VIEW_ACTION_H
#define EBPROF_VIEW_ACTION_H

#include <stdbool.h>

#include "report/tui/keys.h"

struct app;

struct view_action {
	enum action action;
	void (*run)(void *state, struct app *app, enum action action);
};

/* Runs the row of the action; false: there is none. Rows end with ACTION_NONE. */
bool view_action_run(
	const struct view_action *rows, void *state, struct app *app, enum action action);

#endif
