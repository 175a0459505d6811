/* What keys do about groups of samples: choosing them, and filtering by the one that is selected.
 */
#ifndef EBPROF_GROUP_ACTIONS_H
#define EBPROF_GROUP_ACTIONS_H

#include "report/tui/app_state.h"

/* Opens the menu of what samples can be grouped by. */
void group_actions_open(struct app *app, enum action action);
/* What was chosen there. Zooms into branches of other groups end. */
void group_actions_choose(struct app *app, enum action action);
/* Whether a group is selected, and no function. Then it is kept, or excluded. */
bool group_actions_filter(struct app *app, bool excludes);

#endif
