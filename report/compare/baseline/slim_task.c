#include "report/compare/baseline/slim_task.h"

#include <string.h>

#include "format/base/str.h"

static uint32_t slim_task_origin_of(const struct profile *profile, uint32_t thread)
{
	uint32_t process = profile->threads.data[thread].process;
	return profile->processes.data[process].info.origin;
}

/* ---- threads of one name ---- */

struct sorting {
	const struct profile *profile;
	struct slim_tasks *tasks;
	struct slim_labels labels;
	struct strtab processes, threads; /* what tells them */
	VEC(uint32_t) firsts;             /* task that has the process; by those of `processes` */
};

static uint32_t slim_task_put_text(struct strtab *table, struct str *key, const char *text)
{
	str_puts(key, text);
	str_putc(key, '\0');
	return strtab_intern(table, str_text(key), key->len);
}

static uint32_t slim_task_process_of(struct sorting *sorting, uint32_t thread)
{
	const struct profile *profile = sorting->profile;
	uint32_t process = profile->threads.data[thread].process;
	const struct profile_process *it = &profile->processes.data[process];
	CLEANUP(str_deinit) struct str key = {0};
	str_write(&key, &it->info.origin, sizeof(it->info.origin));
	str_write(&key, &it->info.exe, sizeof(it->info.exe));
	slim_labels_put(profile, sorting->labels.of_processes[process], &key);
	str_puts(&key, it->cgroup);
	str_putc(&key, '\0');
	uint32_t id = slim_task_put_text(&sorting->processes, &key, it->container);
	if (id == sorting->firsts.len)
		vec_push(&sorting->firsts, (uint32_t)sorting->tasks->list.len);
	return sorting->firsts.data[id];
}

static uint32_t slim_task_add_task(struct sorting *sorting, uint32_t thread)
{
	uint32_t process = slim_task_process_of(sorting, thread);
	CLEANUP(str_deinit) struct str key = {0};
	str_write(&key, &process, sizeof(process));
	const char *comm = sorting->profile->threads.data[thread].comm;
	uint32_t id = slim_task_put_text(&sorting->threads, &key, comm);
	if (id == sorting->tasks->list.len)
		vec_push(&sorting->tasks->list,
			(struct slim_task){thread, process,
				sorting->labels.of_processes[sorting->profile->threads.data[thread]
								     .process]});
	return id;
}

/* ---- runs ---- */

static void note_run(struct slim_tasks *tasks, uint32_t origin, uint64_t time_ns)
{
	uint32_t *known = &tasks->of_origins[origin];
	if (!*known) {
		vec_push(&tasks->runs, (struct slim_run){.origin = origin, .first_ns = time_ns});
		*known = (uint32_t)tasks->runs.len;
	}
	tasks->runs.data[*known - 1].last_ns = time_ns;
}

void slim_tasks_init(struct slim_tasks *tasks, const struct profile *profile)
{
	*tasks = (struct slim_tasks){
		.of_threads = mem_zalloc_array(profile->threads.len, sizeof(uint32_t)),
		.of_origins = mem_zalloc_array(profile->origins.len, sizeof(uint32_t)),
	};
	struct sorting sorting = {.profile = profile, .tasks = tasks};
	slim_labels_init(&sorting.labels, profile);
	uint8_t *are_known = mem_zalloc_array(profile->threads.len, 1);
	vec_each(&profile->samples, sample) {
		uint32_t thread = sample->thread;
		if (!are_known[thread])
			tasks->of_threads[thread] = slim_task_add_task(&sorting, thread);
		are_known[thread] = true;
		note_run(tasks, slim_task_origin_of(profile, thread), sample->time_ns);
	}
	mem_free(are_known);
	slim_labels_deinit(&sorting.labels);
	strtab_deinit(&sorting.processes);
	strtab_deinit(&sorting.threads);
	vec_deinit(&sorting.firsts);
}

void slim_tasks_deinit(struct slim_tasks *tasks)
{
	vec_deinit(&tasks->list);
	vec_deinit(&tasks->runs);
	mem_free(tasks->of_threads);
	mem_free(tasks->of_origins);
}
