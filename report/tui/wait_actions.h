/* The menu of the longest waits, and what choosing one of them does. */
#ifndef EBPROF_WAIT_ACTIONS_H
#define EBPROF_WAIT_ACTIONS_H

#include "report/tui/app_state.h"

/* Opens it, with those that the filters leave, but for filters that it made itself; where the
 * recording has no waits, how to get some is said. */
void wait_actions_open(struct app *app, enum action action);
bool wait_actions_are_open(const struct app *app);
/* While it is open, and the model has become another one: what that calls the functions. */
void wait_actions_renew(struct app *app);
/* Only the waits of that thread for that reason with the function that waited there, in place of
 * those that were chosen before; shows an event that has them. */
void wait_actions_choose(struct app *app, enum action action);

#endif
