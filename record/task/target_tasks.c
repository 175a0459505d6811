#include "record/task/target_tasks.h"

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "record/host/proc.h"

struct target_tasks target_tasks_choose(
	const struct session_options *options, const uint32_t *command_pid)
{
	bool are_threads = options->target == SESSION_THREADS;
	return (struct target_tasks){
		.ids = *command_pid ? command_pid : options->pids,
		.nr_ids = *command_pid ? 1 : options->nr_pids,
		.are_threads = are_threads,
		.with_descendants = options->with_descendants,
		/* The threads of a process are its own in any case. */
		.inherit = !options->no_inherit ? TARGET_INHERIT_ALL
			   : are_threads        ? TARGET_INHERIT_NOTHING
						: TARGET_INHERIT_THREADS,
	};
}

struct walk {
	target_task_fn *fn;
	void *context;
	struct map seen; /* thread ids */
};

static struct err *target_tasks_visit(struct walk *walk, uint32_t tid, bool *is_new)
{
	map_put(&walk->seen, tid, is_new);
	return *is_new ? walk->fn(walk->context, tid) : NULL;
}

static struct err *visit_process(struct walk *walk, uint32_t pid)
{
	CLEANUP(proc_pids_deinit) struct proc_pids threads = {0};
	for (bool found = true; found;) {
		found = false;
		threads.len = 0;
		proc_list_threads(pid, &threads);
		for (size_t i = 0; i < threads.len; i++) {
			bool is_new;
			try(target_tasks_visit(walk, threads.data[i], &is_new));
			found |= is_new;
		}
	}
	return NULL;
}

/* Children that were forked meanwhile have not inherited anything if their parent came later. */
static struct err *visit_tree(struct walk *walk, const struct target_tasks *tasks)
{
	CLEANUP(proc_pids_deinit) struct proc_pids pids = {0};
	size_t visited = 0;
	vec_append(&pids, tasks->ids, tasks->nr_ids);
	do {
		for (; visited < pids.len; visited++)
			try(visit_process(walk, pids.data[visited]));
	} while (proc_add_descendants(&pids));
	return NULL;
}

struct err *target_tasks_each(const struct target_tasks *tasks, target_task_fn *fn, void *context)
{
	struct walk walk = {.fn = fn, .context = context};
	struct err *err = tasks->with_descendants ? visit_tree(&walk, tasks) : NULL;
	for (size_t i = 0; !err && !tasks->with_descendants && i < tasks->nr_ids; i++) {
		bool is_new;
		err = tasks->are_threads ? target_tasks_visit(&walk, tasks->ids[i], &is_new)
					 : visit_process(&walk, tasks->ids[i]);
	}
	map_deinit(&walk.seen);
	return err;
}
