#include "record/event/timer_choice.h"

enum {
	WINDOW_NS = 1000 * 1000 * 1000,
	MAX_CALM_WINDOWS = 16,
	MIN_PROCESSES = 4,
	MIN_THREADS = 64, /* programs start pools of threads, which last */
	/* Per mille of the ticks that were due. */
	MAX_MISSED_PERMILLE = 20,
	CALM_MISSED_PERMILLE = 5,
	MIN_TICKS = 50,
	MAX_SWITCHES_A_SECOND = 10000, /* of a task's CPU time: 1 % of it at 1 us each */
};

void timer_choice_init(struct timer_choice *choice, enum timer_kind kind, uint64_t now_ns)
{
	*choice = (struct timer_choice){
		.kind = kind, .calm_windows = 1, .window = {.now_ns = now_ns}};
}

static bool are_missed(uint64_t forked, uint64_t samples, uint64_t permille)
{
	uint64_t missed = forked / 2; /* half a period each */
	return missed * 1000 > (samples + missed) * permille;
}

static bool switch_often(const struct timer_load *then, const struct timer_load *now)
{
	uint64_t ticks = now->task_ticks - then->task_ticks;
	uint64_t rates = now->switch_rates - then->switch_rates;
	return ticks >= MIN_TICKS && rates / ticks > MAX_SWITCHES_A_SECOND;
}

enum timer_kind timer_choice_update(struct timer_choice *choice, const struct timer_load *load)
{
	const struct timer_load *then = &choice->window;
	enum timer_kind better = choice->kind;
	uint64_t processes = load->processes_forked - then->processes_forked;
	uint64_t threads = load->threads_forked - then->threads_forked;
	uint64_t samples = load->samples - then->samples, age_ns = load->now_ns - then->now_ns;
	uint64_t window_ns =
		choice->kind == TIMERS_OF_TASKS ? WINDOW_NS : choice->calm_windows * WINDOW_NS;
	if (choice->kind == TIMERS_OF_TASKS) {
		choice->switches_often |= switch_often(then, load);
		bool is_much = processes >= MIN_PROCESSES || threads >= MIN_THREADS;
		if (choice->switches_often ||
			(is_much && are_missed(processes + threads, samples, MAX_MISSED_PERMILLE)))
			better = TIMERS_OF_CPUS;
	} else if (!choice->switches_often && age_ns >= window_ns &&
		   !are_missed(processes + threads, samples, CALM_MISSED_PERMILLE)) {
		better = TIMERS_OF_TASKS;
		/* To change costs, too: programs that do so time and again stay longer. */
		if (choice->calm_windows < MAX_CALM_WINDOWS)
			choice->calm_windows *= 2;
	}
	if (better != choice->kind || age_ns >= window_ns)
		choice->window = *load;
	return better;
}
