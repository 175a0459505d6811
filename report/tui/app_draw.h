/* What stands around every view: title, tabs, trail, detail of the selection, hints. */
#ifndef EBPROF_APP_DRAW_H
#define EBPROF_APP_DRAW_H

#include "report/tui/app_state.h"

void app_draw(struct app *app, struct grid *grid);
/* A click on what stands around the view; false when there is nothing. */
bool app_point_frame(struct app *app, const struct input *input);

#endif
