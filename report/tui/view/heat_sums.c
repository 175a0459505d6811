#include "report/tui/view/heat_sums.h"

void heat_sums_deinit(struct heat_sums *sums)
{
	vec_deinit(&sums->sums);
}

void heat_sums_forget(struct heat_sums *sums)
{
	sums->window = (struct timeline_window){0};
}

static void heat_sums_add_task(const struct model *model, const struct task *task,
	const struct timeline_window *window, struct timeline_sum *to)
{
	const struct timeline *timeline = &model->timeline;
	if (task->kind == TASK_ALL) {
		timeline_add_all(timeline, window, to);
		return;
	}
	if (task->kind == TASK_THREAD)
		timeline_add_thread(timeline, task->index, window, to);
	for (uint32_t i = 0; i < task->nr_children; i++) {
		uint32_t thread = model->tasks.tasks.data[task->first_child + i].index;
		timeline_add_thread(timeline, thread, window, to);
	}
}

static uint64_t highest(const struct timeline_sum *sums, uint32_t count)
{
	uint64_t peak = 0;
	for (uint32_t i = 0; i < count; i++)
		peak = sums[i].value > peak ? sums[i].value : peak;
	return peak;
}

/* One shade means the same in all rows of a kind, also in those out of sight. */
static void find_peaks(struct heat_sums *sums, const struct model *model, bool has_processes)
{
	const struct tasks *tasks = &model->tasks;
	sums->thread_peak = sums->process_peak = 0;
	for (uint32_t i = 1 + tasks->nr_containers; i < tasks->tasks.len; i++) {
		const struct task *task = &tasks->tasks.data[i];
		if (task->kind == TASK_THREAD) {
			uint64_t here =
				timeline_thread_peak(&model->timeline, task->index, &sums->window);
			sums->thread_peak = here > sums->thread_peak ? here : sums->thread_peak;
		} else if (has_processes) {
			uint64_t here = highest(heat_sums_of(sums, model, i), sums->window.columns);
			sums->process_peak = here > sums->process_peak ? here : sums->process_peak;
		}
	}
}

void heat_sums_place(struct heat_sums *sums, const struct model *model,
	const struct timeline_window *window, bool has_processes)
{
	if (memcmp(window, &sums->window, sizeof(*window)) == 0)
		return;
	sums->window = *window;
	memset(sums->tasks, 0, sizeof(sums->tasks));
	vec_resize(&sums->sums, HEAT_ROWS_KEPT * (size_t)window->columns);
	find_peaks(sums, model, has_processes);
}

const struct timeline_sum *heat_sums_of(
	struct heat_sums *sums, const struct model *model, uint32_t task)
{
	uint32_t place = task % HEAT_ROWS_KEPT; /* tasks that are seen together stand together */
	struct timeline_sum *row = &sums->sums.data[place * (size_t)sums->window.columns];
	if (sums->tasks[place] == task + 1)
		return row;
	sums->tasks[place] = task + 1;
	memset(row, 0, sums->window.columns * sizeof(*row));
	heat_sums_add_task(model, &model->tasks.tasks.data[task], &sums->window, row);
	return row;
}
