/* The tasks that a recording is about, where it is not about the whole system. */
#ifndef EBPROF_TARGET_TASKS_H
#define EBPROF_TARGET_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "record/session_options.h"

enum target_inherit { /* which tasks that they fork are targets as well */
	TARGET_INHERIT_NOTHING,
	TARGET_INHERIT_THREADS,
	TARGET_INHERIT_ALL,
};

struct target_tasks {
	const uint32_t *ids; /* of processes, of which each thread is meant, or of threads */
	size_t nr_ids;       /* 0: the whole system */
	bool are_threads;
	bool with_descendants; /* and the processes that they have forked, before the recording */
	enum target_inherit inherit;
};

/*
 * Those that a session is to profile, by their ids: of the whole system, of a user and of control
 * groups there are none. `command_pid`: of the command, 0 where that is not what is profiled.
 * Borrows both.
 */
struct target_tasks target_tasks_choose(
	const struct session_options *options, const uint32_t *command_pid);

typedef struct err *target_task_fn(void *context, uint32_t tid) ERR_MUST_CHECK;

/*
 * Calls fn for each thread once, and looks again until there are no new ones: where fn opens
 * something that a fork inherits, no thread is left without. Stops at fn's first error, returns it.
 */
struct err *target_tasks_each(
	const struct target_tasks *tasks, target_task_fn *fn, void *context) ERR_MUST_CHECK;

#endif
