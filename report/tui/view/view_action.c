#include "report/tui/view/view_action.h"

bool view_action_run(
	const struct view_action *rows, void *state, struct app *app, enum action action)
{
	for (const struct view_action *row = rows; row->run; row++) {
		if (row->action != action)
			continue;
		row->run(state, app, action);
		return true;
	}
	return false;
}
