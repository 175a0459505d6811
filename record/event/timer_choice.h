/*
 * Which timers sample the targets at the least cost and without bias: timers of their own tasks, or
 * those of all CPUs.
 *
 * A task's own timer, which its children inherit, costs nothing while other tasks run. But the
 * kernel sets it anew at each switch to the task (about 1 us), and first lets it expire when the
 * task has run for a whole period: what a task runs less than that, or more than a multiple of it,
 * is never sampled, half a period on average (kernel/events/core.c, perf_event_alloc() and
 * perf_swevent_start_hrtimer(), Linux 5.10 to 6.18). A CPU's timer goes on when tasks switch there:
 * no bias and no cost at switches, but each of its ticks that hits another process is filtered.
 *
 * So tasks have timers of their own as long as they are few, live long and switch seldom.
 */
#ifndef EBPROF_TIMER_CHOICE_H
#define EBPROF_TIMER_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum timer_kind {
	TIMERS_OF_CPUS,
	TIMERS_OF_TASKS,
	TIMER_KINDS,
};

/* Counted since sampling began. */
struct timer_load {
	uint64_t now_ns;
	uint64_t samples;
	uint64_t processes_forked, threads_forked;
	uint64_t task_ticks, switch_rates; /* as struct event_counters has them */
};

struct timer_choice {
	enum timer_kind kind;
	bool switches_often;      /* for good: what the tasks are like */
	uint64_t calm_windows;    /* how long forks must be rare for timers of tasks */
	struct timer_load window; /* the load when the window began */
};

/* With the kind that sampling begins with. */
void timer_choice_init(struct timer_choice *choice, enum timer_kind kind, uint64_t now_ns);
/* The better kind by what was seen until now. The caller sets choice->kind when it has changed. */
enum timer_kind timer_choice_update(struct timer_choice *choice, const struct timer_load *load);

#endif
