/* Processes or threads that the recorder did not start, and whether they still run. */
#ifndef EBPROF_WATCHED_TASKS_H
#define EBPROF_WATCHED_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"

struct watched_tasks {
	const uint32_t *ids; /* borrowed */
	VEC(int) fds;        /* their pidfds; -1 where there can be none (threads) */
};

/* ERR_USAGE: one of them does not run. `ids` have to stay; deinit after an error, too. */
struct err *watched_tasks_open(
	const uint32_t *ids, size_t count, struct watched_tasks *ret) ERR_MUST_CHECK;
/* All of them; false when there are none to watch. */
bool watched_tasks_are_gone(const struct watched_tasks *tasks);
void watched_tasks_deinit(struct watched_tasks *tasks);

#endif
