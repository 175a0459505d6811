/* Whose samples they are: of all threads of a run that have one name and run one program, in one
 * container and service, one is kept. */
#ifndef EBPROF_SLIM_TASK_H
#define EBPROF_SLIM_TASK_H

#include "format/base/vec.h"
#include "report/compare/baseline/slim_labels.h"
#include "report/model/profile.h"

struct slim_task {
	uint32_t thread;  /* of the profile: the one that was sampled first */
	uint32_t process; /* index of the tasks whose process it shares; its own: it is new */
	uint32_t labels;  /* a set of the profile's, see slim_labels_put() */
};

struct slim_run {
	uint32_t origin; /* of the profile; 0: it was not merged */
	uint64_t first_ns, last_ns;
};

struct slim_tasks {
	VEC(struct slim_task) list;
	VEC(struct slim_run) runs; /* by their first samples */
	uint32_t *of_threads;      /* of the profile -> index of list, where it has samples */
	uint32_t *of_origins;      /* of the profile -> index of runs plus 1; 0: no samples */
};

void slim_tasks_init(struct slim_tasks *tasks, const struct profile *profile);
void slim_tasks_deinit(struct slim_tasks *tasks);

#endif
