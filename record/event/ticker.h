/*
 * Where ticks come from: timers of the targets' tasks or of the CPUs, whichever suits the targets
 * better (record/event/timer_choice.h), and changed while they run.
 */
#ifndef EBPROF_TICKER_H
#define EBPROF_TICKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "record/event/timer_choice.h"
#include "record/event/timers.h"
#include "record/host/proc.h"

struct ticker_options {
	int program;               /* the BPF program that a tick runs */
	bool *follows_tasks;       /* the program's: ticks are those of tasks' own timers */
	const int *cpus;           /* nr_cpus of them; 0: all that are online */
	size_t nr_cpus;            /* with them, it is always timers of the CPUs */
	struct target_tasks tasks; /* the targets to begin with; none: always timers of the CPUs */
	/* Appends the ids of the targets that there are by now, as tasks.ids has them. */
	void (*list_targets)(void *context, struct proc_pids *ret);
	void *context; /* of list_targets() */
};

/* What ticks came from, and for how long. */
struct ticker_times {
	enum timer_kind kind; /* at the end */
	bool switches_often;  /* why it is the CPUs: else the targets fork too many short tasks */
	uint64_t of_cpus_ns, of_tasks_ns;
};

struct ticker {
	struct ticker_options options;
	struct timers timers[TIMER_KINDS]; /* those of choice.kind are open */
	struct timer_choice choice;
	bool is_fixed;             /* there is nothing to choose */
	struct ticker_times times; /* until since_ns */
	uint64_t since_ns;         /* 0: it was not started */
};

void ticker_init(struct ticker *ticker, const struct timers_clock *clock);
void ticker_deinit(struct ticker *ticker);

/* Opens the timers, disarmed: errors as of timers_open_cpus(). */
struct err *ticker_open(struct ticker *ticker, const struct ticker_options *options) ERR_MUST_CHECK;
struct err *ticker_start(struct ticker *ticker, uint64_t now_ns) ERR_MUST_CHECK;
void ticker_stop(struct ticker *ticker, uint64_t now_ns);
/*
 * Changes to the other kind of timers when that is the better one by now. The present ones stay
 * where the others cannot be had.
 */
struct err *ticker_update(struct ticker *ticker, const struct timer_load *load) ERR_MUST_CHECK;
/* A CPU came online: see timers_renew_cpu(). */
struct err *ticker_renew_cpu(struct ticker *ticker, const struct cpu_gap *gap) ERR_MUST_CHECK;
struct ticker_times ticker_times_until(const struct ticker *ticker, uint64_t now_ns);
/* As timers_due(), of all timers of a kind since the start. */
uint64_t ticker_due(const struct ticker *ticker, enum timer_kind kind, int cpu);

#endif
