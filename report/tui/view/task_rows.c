#include "report/tui/view/task_rows.h"

#include <stdlib.h>
#include <string.h>

void task_rows_deinit(struct task_rows *rows)
{
	vec_deinit(rows);
	map_deinit(&rows->turned);
}

static const struct task *task_at(const struct app *app, uint32_t task)
{
	return &app->model->tasks.tasks.data[task];
}

const struct task *task_rows_task(const struct task_rows *rows, const struct app *app, size_t row)
{
	return row < rows->len ? task_at(app, rows->data[row].task) : NULL;
}

/* ---- names ---- */

static const struct profile_process *task_rows_process_of(
	const struct app *app, const struct task *task)
{
	const struct profile *profile = app->model->profile;
	uint32_t process = task->kind == TASK_THREAD ? profile->threads.data[task->index].process
						     : task->index;
	return &profile->processes.data[process];
}

const char *task_program(const struct app *app, const struct task *task)
{
	if (task->kind != TASK_PROCESS && task->kind != TASK_THREAD)
		return "";
	uint32_t exe = task_rows_process_of(app, task)->info.exe;
	return exe ? model_object(app->model, exe)->name : "";
}

/* 0: it is not known. */
static uint32_t process_leader_of(const struct app *app, const struct task *process)
{
	const struct profile *profile = app->model->profile;
	const struct task *first = task_at(app, process->first_child);
	for (uint32_t i = 0; i < process->nr_children; i++) {
		const struct profile_thread *thread = &profile->threads.data[first[i].index];
		if (thread->tid == thread->pid)
			return first[i].index;
	}
	return process->leader;
}

/* As process_names_put() has it: where its first thread is not known, by its program. */
static const char *process_name(const struct app *app, const struct task *process)
{
	const struct profile_thread *threads = app->model->profile->threads.data;
	uint32_t leader = process_leader_of(app, process);
	const char *program = task_program(app, process);
	if (!leader && program[0])
		return program;
	/* Or by the hottest one: children stand by falling value. */
	return threads[leader ? leader : task_at(app, process->first_child)->index].comm;
}

const char *task_name(const struct app *app, const struct task *task)
{
	if (task->kind == TASK_PROCESS)
		return process_name(app, task);
	if (task->kind == TASK_THREAD)
		return app->model->profile->threads.data[task->index].comm;
	const char *container = scope_container(task_rows_process_of(app, task));
	return container[0] ? container : "(no cgroup)";
}

uint32_t task_number(const struct app *app, const struct task *task)
{
	if (task->kind == TASK_THREAD)
		return app->model->profile->threads.data[task->index].tid;
	return task->kind == TASK_PROCESS ? task_rows_process_of(app, task)->info.pid : 0;
}

void task_put_name(const struct app *app, const struct task *task, struct str *out)
{
	str_puts(out, task_name(app, task));
	task_put_id(app, task, out);
}

void task_put_id(const struct app *app, const struct task *task, struct str *out)
{
	if (task->kind == TASK_PROCESS || task->kind == TASK_THREAD)
		str_printf(
			out, "%s%u", task->kind == TASK_THREAD ? ":" : " ", task_number(app, task));
}

/* ---- rows ---- */

/* Models come and go; what a task stands for stays. */
static uint64_t task_rows_key_of(const struct app *app, const struct task *task)
{
	const struct layout_process *process = &task_rows_process_of(app, task)->info;
	if (task->kind == TASK_CONTAINER)
		return (uint64_t)task->kind << 32 |
		       (process->container ? process->container : process->cgroup);
	return (uint64_t)task->kind << 32 | task->index;
}

static bool task_rows_is_open(
	const struct task_rows *rows, const struct app *app, const struct task *task)
{
	const uint64_t *turned = map_get(&rows->turned, task_rows_key_of(app, task));
	return turned ? *turned : rows->opens[task->kind];
}

struct ordering {
	const struct app *app;
	const struct task_order *order;
};

static int compare_tasks(const void *a, const void *b, void *context)
{
	const struct ordering *by = context;
	const uint32_t *x = a, *y = b;
	int order = by->order->compare(by->app, task_at(by->app, *x), task_at(by->app, *y));
	if (order)
		return by->order->is_reversed ? -order : order;
	return *x < *y ? -1 : *x > *y;
}

static void add_below(struct task_rows *rows, const struct app *app, uint32_t task, uint32_t depth,
	const struct task_order *order);

static void add_siblings(struct task_rows *rows, const struct app *app, uint32_t first,
	uint32_t count, uint32_t depth, const struct task_order *order)
{
	CLEANUP_FREE uint32_t *tasks = mem_zalloc_array(count, sizeof(*tasks));
	for (uint32_t i = 0; i < count; i++)
		tasks[i] = first + i;
	struct ordering by = {app, order};
	if (count)
		qsort_r(tasks, count, sizeof(*tasks), compare_tasks, &by);
	for (uint32_t i = 0; i < count; i++)
		add_below(rows, app, tasks[i], depth, order);
}

/* A process of which one thread is seen, its first one, is that thread. */
static bool has_threads_of_its_own(const struct app *app, const struct task *process)
{
	const struct profile_thread *thread =
		&app->model->profile->threads.data[task_at(app, process->first_child)->index];
	return process->nr_children > 1 || thread->tid != thread->pid;
}

/* As deep as there are kinds. */
static void add_below(struct task_rows *rows, const struct app *app, uint32_t task, uint32_t depth,
	const struct task_order *order)
{
	const struct task *it = task_at(app, task);
	struct task_row row = {.task = task, .depth = depth};
	row.has_children =
		it->kind == TASK_PROCESS ? has_threads_of_its_own(app, it) : it->nr_children;
	row.is_open = row.has_children && task_rows_is_open(rows, app, it);
	vec_push(rows, row);
	if (row.is_open)
		add_siblings(rows, app, it->first_child, it->nr_children, depth + 1, order);
}

void task_rows_add(struct task_rows *rows, const struct app *app, uint32_t first, uint32_t count,
	const struct task_order *order)
{
	add_siblings(rows, app, first, count, 0, order);
}

void task_rows_turn(struct task_rows *rows, const struct app *app, size_t row, bool opens)
{
	if (row < rows->len && rows->data[row].has_children)
		*map_put(&rows->turned, task_rows_key_of(app, task_rows_task(rows, app, row)),
			NULL) = opens;
}

void task_rows_renew(struct task_rows *rows, const struct renewal *renewal)
{
	struct map turned = {0};
	size_t cursor = 0;
	for (const struct map_slot *slot; (slot = map_next(&rows->turned, &cursor));) {
		enum task_kind kind = (enum task_kind)(slot->key >> 32);
		uint32_t id = kind == TASK_PROCESS ? renewal_process(renewal, (uint32_t)slot->key)
			      : kind == TASK_CONTAINER
				      ? renewal_string(renewal, (uint32_t)slot->key)
				      : 0;
		if (id)
			*map_put(&turned, (uint64_t)kind << 32 | id, NULL) = slot->value;
	}
	map_deinit(&rows->turned);
	rows->turned = turned;
	rows->container = renewal_container(renewal, rows->container);
}

void task_rows_turn_all(struct task_rows *rows, bool opens)
{
	map_clear(&rows->turned);
	rows->opens[TASK_CONTAINER] = rows->opens[TASK_PROCESS] = opens;
}

size_t task_rows_parent(const struct task_rows *rows, size_t row)
{
	size_t at = row;
	while (at && rows->data[at].depth >= rows->data[row].depth)
		at--;
	return rows->len && rows->data[at].depth < rows->data[row].depth ? at : row;
}

/* ---- the selection ---- */

void task_rows_select(struct task_rows *rows, struct app *app, size_t row)
{
	const struct task *task = task_rows_task(rows, app, row);
	if (!task)
		return;
	rows->container = NULL;
	app->selection.thread = app->selection.process = 0;
	if (task->kind == TASK_CONTAINER)
		rows->container = scope_container(task_rows_process_of(app, task));
	if (task->kind == TASK_PROCESS) {
		app->selection.process = task->index;
		if (task->nr_children == 1)
			task = task_at(app, task->first_child);
	}
	if (task->kind == TASK_THREAD) {
		app->selection.thread = task->index;
		app->selection.process = app->model->profile->threads.data[task->index].process;
	}
}

static size_t task_rows_find_row(
	const struct task_rows *rows, const struct app *app, enum task_kind kind, uint32_t index)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct task *task = task_rows_task(rows, app, i);
		if (task->kind == kind && task->index == index)
			return i;
	}
	return rows->len;
}

static size_t find_container(
	const struct task_rows *rows, const struct app *app, const char *container)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct task *task = task_rows_task(rows, app, i);
		if (task->kind == TASK_CONTAINER &&
			scope_is_in_container(task_rows_process_of(app, task), container))
			return i;
	}
	return rows->len;
}

size_t task_rows_selected(const struct task_rows *rows, const struct app *app, size_t fallback)
{
	const struct profile *profile = app->model->profile;
	uint32_t thread = app->selection.thread, process = app->selection.process;
	const char *container = rows->container;
	size_t row = rows->len;
	if (process)
		container = scope_container(&profile->processes.data[process]);
	if (thread)
		row = task_rows_find_row(rows, app, TASK_THREAD, thread);
	if (row == rows->len && process)
		row = task_rows_find_row(rows, app, TASK_PROCESS, process);
	if (row == rows->len && container)
		row = find_container(rows, app, container);
	return row == rows->len ? fallback : row;
}

void task_rows_filter(const struct task_rows *rows, struct app *app, size_t row)
{
	const struct task *task = task_rows_task(rows, app, row);
	if (!task)
		return;
	struct scope_term term = {.number = task->index};
	if (task->kind == TASK_CONTAINER) {
		term.kind = SCOPE_CONTAINER;
		term.text = (char *)scope_container(task_rows_process_of(app, task));
	} else {
		term.kind = task->kind == TASK_PROCESS ? SCOPE_PROCESS : SCOPE_THREAD;
	}
	app_filter(app, &term);
}

/* ---- names in full ---- */

/* All recordings that have the process. */
static void put_process_origins(
	const struct profile *profile, const struct profile_process *process, struct str *out)
{
	vec_each(&profile->processes, other)
		if (other->first == process->first && other->info.origin)
			str_printf(out, "origin     %s\n",
				profile->origins.data[other->info.origin].name);
}

static void put_fields(const struct app *app, const struct task *task, struct str *out)
{
	const struct profile_process *process = task_rows_process_of(app, task);
	task_put_name(app, task, out);
	str_printf(out,
		"\n\nthreads    %u\nsamples    %llu\nfirst      %.3f s\nlast       %.3f s\n",
		task->nr_threads, (unsigned long long)task->sum.samples,
		(double)task->first_ns / 1e9, (double)task->last_ns / 1e9);
	if (task->kind != TASK_CONTAINER) {
		str_printf(out, "pid        %u", process->info.pid);
		if (process->info.ns_pid)
			str_printf(out, ", %u in its namespace", process->info.ns_pid);
		str_printf(out, "\nparent     %u\n", process->info.parent_pid);
		if (process->info.exe)
			str_printf(out, "program    %s\n",
				model_object(app->model, process->info.exe)->path);
	}
	put_process_origins(app->model->profile, process, out);
	if (process->container[0])
		str_printf(out, "container  %s\n", process->container);
	if (process->cgroup[0])
		str_printf(out, "cgroup     %s\n", process->cgroup);
}

bool task_rows_act(const struct task_rows *rows, struct app *app, size_t row, enum action action)
{
	const struct task *task = task_rows_task(rows, app, row);
	if (!task)
		return false;
	if (action == ACTION_WHOLE_NAME) {
		struct str text = {0};
		put_fields(app, task, &text);
		overlay_open_text(&app->overlay, "Name", &text);
		return true;
	}
	if (action == ACTION_COPY) {
		str_truncate(&app->to_copy, 0);
		task_put_name(app, task, &app->to_copy);
		app_say(app, "copied");
		return true;
	}
	return false;
}

/* ---- searching ---- */

static bool task_is_match(
	const struct app *app, const struct task *task, const struct pattern *pattern)
{
	CLEANUP(str_deinit) struct str name = {0};
	task_put_name(app, task, &name);
	return pattern_matches(pattern, str_text(&name)) ||
	       pattern_matches(pattern, task_program(app, task));
}

bool task_rows_is_match(const struct task_rows *rows, const struct app *app,
	const struct pattern *pattern, size_t row)
{
	const struct task *task = task_rows_task(rows, app, row);
	return task && task_is_match(app, task, pattern);
}

uint64_t task_rows_weight(const struct task_rows *rows, const struct app *app, size_t row)
{
	return task_rows_task(rows, app, row)->sum.value;
}

bool task_rows_reveal(struct task_rows *rows, const struct app *app, const struct pattern *pattern)
{
	vec_each(&app->model->tasks.tasks, task) {
		if (task->kind == TASK_ALL || !task_is_match(app, task, pattern))
			continue;
		task_rows_turn_all(rows, true);
		return true;
	}
	return false;
}
