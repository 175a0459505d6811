#include "report/analyse/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "report/analyse/scope.h"

/* While they are made, tasks stand in levels; `parent` is a place in the level above. */
struct level {
	struct task *data;
	size_t len, cap;
};

struct builder {
	const struct profile *profile;
	struct level containers, processes, threads;
	uint32_t *process_places;    /* of the profile's processes, plus 1; 0: none yet */
	struct map container_places; /* hash of the name -> place plus 1 */
	struct map threads_seen;     /* process << 32 | tid */
	uint64_t seed;
};

static const char *container_name(const struct builder *builder, const struct task *container)
{
	return scope_container(&builder->profile->processes.data[container->index]);
}

static uint32_t container_place(struct builder *builder, uint32_t process)
{
	struct level *containers = &builder->containers;
	struct task fresh = {.kind = TASK_CONTAINER, .index = process};
	const char *name = container_name(builder, &fresh);
	uint64_t hash = map_hash_bytes(name, strlen(name), builder->seed);
	uint64_t *place = map_put(&builder->container_places, hash, NULL);
	bool is_known =
		*place && strcmp(container_name(builder, &containers->data[*place - 1]), name) == 0;
	if (!is_known) {
		vec_push(containers, fresh);
		*place = containers->len;
	}
	return (uint32_t)*place - 1;
}

static uint32_t process_place(struct builder *builder, uint32_t process)
{
	uint32_t *place = &builder->process_places[process];
	if (!*place) {
		struct task fresh = {
			.kind = TASK_PROCESS,
			.index = process,
			.parent = container_place(builder, process),
		};
		vec_push(&builder->processes, fresh);
		*place = (uint32_t)builder->processes.len;
	}
	return *place - 1;
}

/* Where several recordings have the process, the first one's. */
static uint32_t first_process_of(const struct builder *builder, uint32_t thread)
{
	const struct profile *profile = builder->profile;
	return profile->processes.data[profile->threads.data[thread].process].first;
}

/* One that had several names has several rows, but counts once. */
static bool is_new_thread(struct builder *builder, uint32_t thread)
{
	uint32_t tid = builder->profile->threads.data[thread].tid;
	bool is_new;
	map_put(&builder->threads_seen, (uint64_t)first_process_of(builder, thread) << 32 | tid,
		&is_new);
	return is_new;
}

static void take_threads(struct builder *builder, const struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->nr_threads; i++) {
		const struct timeline_thread *thread = &timeline->threads[i];
		if (!thread->sum.samples)
			continue;
		struct task task = {
			.kind = TASK_THREAD,
			.index = i,
			.parent = process_place(builder, first_process_of(builder, i)),
			.nr_threads = is_new_thread(builder, i),
			.sum = thread->sum,
			.running = thread->running,
			.first_ns = thread->first_ns,
			.last_ns = thread->last_ns,
		};
		vec_push(&builder->threads, task);
	}
}

/* Also of processes whose first thread did not run: the last of its names. */
static void find_leaders(struct builder *builder)
{
	for (uint32_t i = 0; i < builder->profile->threads.len; i++) {
		const struct profile_thread *thread = &builder->profile->threads.data[i];
		uint32_t place = builder->process_places[first_process_of(builder, i)];
		if (place && thread->tid == thread->pid)
			builder->processes.data[place - 1].leader = i;
	}
}

/* ---- sums ---- */

static void tasks_add_child(struct task *parent, const struct task *child)
{
	if (!parent->sum.samples || child->first_ns < parent->first_ns)
		parent->first_ns = child->first_ns;
	if (child->last_ns > parent->last_ns)
		parent->last_ns = child->last_ns;
	parent->sum.value += child->sum.value;
	parent->sum.samples += child->sum.samples;
	parent->running += child->running;
	parent->nr_threads += child->nr_threads;
	parent->nr_children++;
}

static void add_level(struct level *parents, const struct level *children)
{
	vec_each(children, child)
		tasks_add_child(&parents->data[child->parent], child);
}

/* ---- order ---- */

static int tasks_compare_siblings(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->sum.value != y->sum.value)
		return x->sum.value > y->sum.value ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Sorts a level, and tells the one below where its parents stand now. */
static void sort_level(struct level *level, struct level *below)
{
	for (size_t i = 0; i < level->len; i++)
		level->data[i].first_child = (uint32_t)i; /* where it stood before */
	if (level->len)
		qsort(level->data, level->len, sizeof(*level->data), tasks_compare_siblings);
	CLEANUP_FREE uint32_t *places = mem_zalloc_array(level->len, sizeof(*places));
	for (size_t i = 0; i < level->len; i++)
		places[level->data[i].first_child] = (uint32_t)i;
	if (below)
		vec_each(below, task)
			task->parent = places[task->parent];
}

static void append_level(struct tasks *tasks, const struct level *level, uint32_t first_parent)
{
	vec_each(level, task) {
		struct task copy = *task;
		copy.parent += first_parent;
		copy.first_child = 0;
		struct task *parent = &tasks->tasks.data[copy.parent];
		if (!parent->first_child)
			parent->first_child = (uint32_t)tasks->tasks.len;
		vec_push(&tasks->tasks, copy);
	}
}

void tasks_init(struct tasks *tasks, const struct profile *profile, const struct timeline *timeline)
{
	struct builder builder = {.profile = profile, .seed = map_random_seed()};
	builder.process_places =
		mem_zalloc_array(profile->processes.len, sizeof(*builder.process_places));
	take_threads(&builder, timeline);
	find_leaders(&builder);
	add_level(&builder.processes, &builder.threads);
	add_level(&builder.containers, &builder.processes);
	struct task all = {.kind = TASK_ALL};
	add_level(&(struct level){.data = &all, .len = 1}, &builder.containers);
	sort_level(&builder.containers, &builder.processes);
	sort_level(&builder.processes, &builder.threads);
	sort_level(&builder.threads, NULL);
	*tasks = (struct tasks){
		.nr_containers = (uint32_t)builder.containers.len,
		.nr_processes = (uint32_t)builder.processes.len,
		.nr_threads = (uint32_t)builder.threads.len,
	};
	vec_push(&tasks->tasks, all);
	append_level(tasks, &builder.containers, 0);
	append_level(tasks, &builder.processes, 1);
	append_level(tasks, &builder.threads, 1 + tasks->nr_containers);
	map_deinit(&builder.threads_seen);
	vec_deinit(&builder.containers);
	vec_deinit(&builder.processes);
	vec_deinit(&builder.threads);
	mem_free(builder.process_places);
	map_deinit(&builder.container_places);
}

void tasks_deinit(struct tasks *tasks)
{
	vec_deinit(&tasks->tasks);
}
