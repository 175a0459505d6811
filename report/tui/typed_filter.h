/* What an expression that is typed behind \ or ! filters by: functions, files or threads. */
#ifndef EBPROF_TYPED_FILTER_H
#define EBPROF_TYPED_FILTER_H

#include <stdbool.h>

struct app;

/*
 * Adds a filter by the functions whose names the expression matches; where none does, by the files,
 * then by the threads, which the user is told. Adds none where nothing has such a name, and says
 * so. While names are still looked for, and before there is a model, it is by functions.
 */
void typed_filter_add(struct app *app, const char *text, bool excludes);

#endif
