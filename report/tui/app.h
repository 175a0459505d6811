/*
 * The application without a terminal: inputs and models go in, a grid comes out, and a wish tells
 * what it would like to see next. Nothing here blocks or takes long.
 */
#ifndef EBPROF_APP_H
#define EBPROF_APP_H

#include "report/tui/app_state.h"

void app_init(struct app *app, const struct app_options *options);
void app_deinit(struct app *app);

void app_draw(struct app *app, struct grid *grid);
void app_input(struct app *app, const struct input *input);
void app_print_deinit(struct app_print *print);

#endif
