/* Whether this user sees the terminal interface for the first time. */
#ifndef EBPROF_FIRST_RUN_H
#define EBPROF_FIRST_RUN_H

#include <stdbool.h>

/*
 * Once in a while of at least a month in which it was not used; then that is remembered. Never
 * where that cannot be.
 */
bool first_run_begins(void);

#endif
