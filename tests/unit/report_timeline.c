#include <string.h>

#include "report/analyse/scope.h"
#include "report/analyse/tasks.h"
#include "report/analyse/timeline.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* A sample a ms, from 1 ms on: thread 1, 2, 1, 2... for 1 s. */
static struct profile *taking_turns(void)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	uint32_t process = fixture_process(&fixture, 100, object);
	uint32_t threads[] = {fixture_thread(&fixture, process, 100, "a"),
		fixture_thread(&fixture, process, 101, "b")};
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run"));
	for (unsigned i = 0; i < 1000; i++)
		fixture_samples(&fixture, threads[i % 2], stack, 0, 1);
	return fixture_profile(&fixture);
}

static void sum(const struct profile *profile, const struct scope *scope, struct timeline *ret)
{
	uint64_t from_ns, to_ns;
	struct scope_walk walk;
	scope_span(scope, profile, &from_ns, &to_ns);
	timeline_init(ret, profile, from_ns, to_ns);
	scope_walk_init(&walk, scope, profile, NULL, NULL);
	for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));)
		timeline_add(ret, profile, sample);
	scope_walk_deinit(&walk);
	timeline_finish(ret);
}

static uint64_t count_cells(const struct timeline *timeline, uint32_t thread)
{
	const struct timeline_thread *it = &timeline->threads[thread];
	uint64_t samples = 0;
	uint32_t bucket = 0;
	for (size_t i = 0; i < it->nr_cells; i++) {
		const struct timeline_cell *cell = &timeline->cells[it->first_cell + i];
		CHECK(i == 0 || cell->bucket > bucket);
		CHECK(cell->bucket < timeline->nr_buckets);
		bucket = cell->bucket;
		samples += cell->samples;
	}
	return samples;
}

TEST(timeline_sums_by_thread_and_time)
{
	struct profile *profile = taking_turns();
	struct scope scope = {0};
	struct timeline timeline;
	sum(profile, &scope, &timeline);
	CHECK_INT(timeline.threads[1].sum.samples, 500);
	CHECK_INT(timeline.threads[2].sum.value, 500000000);
	CHECK_INT(timeline.threads[1].first_ns, 1000000);
	CHECK_INT(timeline.threads[2].last_ns, 1000000000);
	CHECK_INT(count_cells(&timeline, 1), 500);
	CHECK_INT(count_cells(&timeline, 2), 500);
	CHECK(timeline.nr_buckets <= TIMELINE_BUCKETS);
	/* Two columns: half of it each, and of all threads both. */
	struct timeline_window window = {.per_column = timeline.nr_buckets / 2 + 1, .columns = 2};
	struct timeline_sum columns[2] = {{0}};
	timeline_add_thread(&timeline, 1, &window, columns);
	CHECK_INT(columns[0].samples, 250);
	CHECK_INT(columns[1].samples, 250);
	CHECK_INT(timeline_thread_peak(&timeline, 1, &window), 250000000);
	timeline_add_all(&timeline, &window, columns);
	CHECK_INT(columns[0].samples + columns[1].samples, 1500);
	/* One column from the second half on. */
	window.first = timeline.nr_buckets / 2 + 1;
	window.columns = 1;
	columns[0] = (struct timeline_sum){0};
	timeline_add_thread(&timeline, 1, &window, columns);
	CHECK_INT(columns[0].samples, 250);
	CHECK_INT(timeline_thread_peak(&timeline, 1, &window), columns[0].value);
	window.columns = 0;
	CHECK_INT(timeline_thread_peak(&timeline, 1, &window), 0);
	timeline_deinit(&timeline);
	profile_destroy(profile);
}

TEST(timeline_of_filtered_samples)
{
	struct profile *profile = taking_turns();
	struct scope scope = {0};
	scope_add(&scope, &(struct scope_term){.kind = SCOPE_THREAD, .number = 2});
	scope_add(&scope,
		&(struct scope_term){.kind = SCOPE_TIME, .from_ns = 500000000, .to_ns = 600000000});
	struct timeline timeline;
	sum(profile, &scope, &timeline);
	CHECK_INT(timeline.from_ns, 500000000);
	CHECK_INT(timeline.to_ns, 600000000);
	CHECK_INT(timeline.threads[1].sum.samples, 0);
	CHECK_INT(count_cells(&timeline, 2), 50);
	struct tasks tasks;
	tasks_init(&tasks, profile, &timeline);
	CHECK_INT(tasks.nr_threads, 1);
	CHECK_INT(tasks.tasks.data[0].sum.samples, 50);
	tasks_deinit(&tasks);
	timeline_deinit(&timeline);
	/* What leaves no time at all is no trap. */
	scope_add(&scope, &(struct scope_term){.kind = SCOPE_TIME, .from_ns = 9, .to_ns = 9});
	sum(profile, &scope, &timeline);
	CHECK_INT(timeline.threads[2].sum.samples, 0);
	CHECK_INT(timeline.nr_buckets, 1);
	tasks_init(&tasks, profile, &timeline);
	CHECK_INT(tasks.tasks.len, 1);
	tasks_deinit(&tasks);
	timeline_deinit(&timeline);
	scope_deinit(&scope);
	profile_destroy(profile);
}

TEST(timeline_tasks_stand_by_falling_value_below_their_parents)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 16, "run"));
	for (unsigned p = 1; p <= 40; p++) {
		char cgroup[] = {'/', (char)('a' + p % 3), 0};
		struct layout_process process = {
			.pid = p * 100, .exe = object, .cgroup = fixture_string(&fixture, cgroup)};
		uint32_t id = writer_process(fixture.writer, &process);
		for (unsigned t = 0; t < 5; t++)
			fixture_samples(&fixture, fixture_thread(&fixture, id, p * 100 + t, "t"),
				stack, 0, 1 + p * 7 % 11 + t * 3 % 5);
	}
	struct profile *profile = fixture_profile(&fixture);
	struct timeline timeline;
	struct tasks tasks;
	sum(profile, &(struct scope){0}, &timeline);
	tasks_init(&tasks, profile, &timeline);
	CHECK_INT(tasks.nr_containers, 3);
	CHECK_INT(tasks.nr_processes, 40);
	CHECK_INT(tasks.nr_threads, 200);
	for (uint32_t i = 0; i < tasks.tasks.len; i++) {
		const struct task *task = &tasks.tasks.data[i];
		uint64_t samples = 0, before = UINT64_MAX;
		for (uint32_t c = 0; c < task->nr_children; c++) {
			const struct task *child = &tasks.tasks.data[task->first_child + c];
			CHECK_INT(child->parent, i);
			CHECK(child->sum.value <= before);
			CHECK(child->first_ns >= task->first_ns && child->last_ns <= task->last_ns);
			before = child->sum.value;
			samples += child->sum.samples;
			if (task->kind == TASK_CONTAINER)
				CHECK_STR(scope_container(&profile->processes.data[child->index]),
					scope_container(&profile->processes.data[task->index]));
			if (task->kind == TASK_PROCESS)
				CHECK_INT(profile->threads.data[child->index].process, task->index);
		}
		CHECK(task->kind == TASK_THREAD || samples == task->sum.samples);
	}
	tasks_deinit(&tasks);
	timeline_deinit(&timeline);
	profile_destroy(profile);
}
