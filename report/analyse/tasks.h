/* Who ran: containers, the processes in them, their threads; each with what was seen of it. */
#ifndef EBPROF_TASKS_H
#define EBPROF_TASKS_H

#include "report/analyse/timeline.h"

enum task_kind {
	TASK_ALL, /* the root */
	TASK_CONTAINER,
	TASK_PROCESS,
	TASK_THREAD,
};

struct task {
	enum task_kind kind;
	uint32_t index; /* of the profile's threads or processes; of a container, one of those */
	uint32_t parent;
	uint32_t first_child, nr_children; /* side by side, by falling value */
	uint32_t nr_threads;
	uint32_t leader; /* of a process: its first thread, seen or not; 0: none is known */
	struct slice_sum sum;
	uint64_t running;           /* of its value: not in waits */
	uint64_t first_ns, last_ns; /* of its samples, since the recording's beginning */
};

struct tasks {
	VEC(struct task) tasks; /* level by level; 0 is the root; who was not seen is not there */
	uint32_t nr_containers, nr_processes, nr_threads;
};

void tasks_init(
	struct tasks *tasks, const struct profile *profile, const struct timeline *timeline);
void tasks_deinit(struct tasks *tasks);

#endif
