#include "record/event/timer_choice.h"

#include "tests/unit/unit.h"

enum {
	SECOND = 1000 * 1000 * 1000,
};

static struct timer_choice choice;

static enum timer_kind update(const struct timer_load *load)
{
	enum timer_kind kind = timer_choice_update(&choice, load);
	choice.kind = kind;
	return kind;
}

TEST(tasks_that_last_have_timers_of_their_own)
{
	struct timer_load load = {0};
	timer_choice_init(&choice, TIMERS_OF_TASKS, 0);
	for (uint64_t i = 1; i <= 100; i++) {
		load.now_ns = i * SECOND / 10;
		load.samples = load.task_ticks = i * 100;
		load.processes_forked = i / 5; /* two a second */
		load.threads_forked = 40;      /* a pool */
		CHECK_INT(update(&load), TIMERS_OF_TASKS);
	}
}

TEST(many_short_processes_are_sampled_by_the_cpus)
{
	timer_choice_init(&choice, TIMERS_OF_TASKS, 0);
	CHECK_INT(update(&(struct timer_load){.now_ns = 1, .samples = 5, .processes_forked = 3}),
		TIMERS_OF_TASKS);
	CHECK_INT(update(&(struct timer_load){.now_ns = 2, .samples = 6, .processes_forked = 4}),
		TIMERS_OF_CPUS);
}

/* A long calm past does not hide what begins now. */
TEST(each_second_counts_by_itself)
{
	struct timer_load load = {.now_ns = 1, .samples = 1000000, .task_ticks = 1000000};
	timer_choice_init(&choice, TIMERS_OF_TASKS, 0);
	load.now_ns = 2ULL * SECOND;
	CHECK_INT(update(&load), TIMERS_OF_TASKS);
	load.now_ns += SECOND / 2;
	load.samples += 500;
	load.processes_forked = 100;
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
}

TEST(tasks_that_switch_often_stay_with_the_cpus)
{
	struct timer_load load = {.now_ns = 1, .samples = 49, .task_ticks = 49};
	timer_choice_init(&choice, TIMERS_OF_TASKS, 0);
	load.switch_rates = 49 * 100000;
	CHECK_INT(update(&load), TIMERS_OF_TASKS); /* too few to say */
	load.samples = load.task_ticks = 50;
	load.switch_rates = 50 * 100000;
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
	CHECK(choice.switches_often);
	for (uint64_t i = 1; i < 100; i++) {
		load.now_ns = i * SECOND;
		load.samples += 1000;
		CHECK_INT(update(&load), TIMERS_OF_CPUS);
	}
}

/* What forks at its start only gets timers of its own back; what does so again, later each time. */
TEST(calm_tasks_get_their_timers_back)
{
	struct timer_load load = {.now_ns = 1, .processes_forked = 10};
	timer_choice_init(&choice, TIMERS_OF_TASKS, 0);
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
	load.now_ns += SECOND - 1;
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
	load.now_ns += 1;
	CHECK_INT(update(&load), TIMERS_OF_TASKS);
	load.processes_forked += 10;
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
	load.now_ns += SECOND;
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
	load.now_ns += SECOND;
	CHECK_INT(update(&load), TIMERS_OF_TASKS);
}

TEST(what_goes_on_forking_stays_with_the_cpus)
{
	struct timer_load load = {.now_ns = 1, .processes_forked = 10};
	timer_choice_init(&choice, TIMERS_OF_TASKS, 0);
	CHECK_INT(update(&load), TIMERS_OF_CPUS);
	for (uint64_t i = 1; i < 100; i++) {
		load.now_ns = i * SECOND;
		load.samples += 1000;
		load.processes_forked += 100;
		CHECK_INT(update(&load), TIMERS_OF_CPUS);
	}
}
