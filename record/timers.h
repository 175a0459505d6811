/*
 * The clock that ticks: a perf event on each CPU, at whose every overflow a BPF program runs. It
 * counts cycles of the CPU, or nanoseconds.
 */
#ifndef EBPROF_TIMERS_H
#define EBPROF_TIMERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"

struct timers_clock {
	bool is_cycles;                    /* else nanoseconds: cpu-clock */
	uint32_t frequency_hz;             /* 0: use period */
	uint64_t period;                   /* in the clock's unit */
	bool exclude_user, exclude_kernel; /* of ticks */
};

struct timers {
	struct perf_event_attr attr;
	bool is_cycles;
	VEC(struct timer {
		int cpu;
		int fd;
	}) opened;
};

/* There are none yet; what is told of the clock is known from here on. */
void timers_init(struct timers *timers, const struct timers_clock *clock);
void timers_deinit(struct timers *timers);

/*
 * Opens one for each of nr_cpus CPUs (0: for all that are online), disarmed, and attaches the BPF
 * program of that descriptor. ERR_USAGE: such a CPU is not online. ERR_UNSUPPORTED: nothing counts
 * cycles here. What was opened before a failure is timers_deinit()'s.
 */
struct err *timers_open(
	struct timers *timers, const int *cpus, size_t nr_cpus, int program) ERR_MUST_CHECK;
struct err *timers_start(struct timers *timers) ERR_MUST_CHECK;
void timers_stop(struct timers *timers);

bool timers_has_cpu(const struct timers *timers, int cpu);
/*
 * Ticks of a CPU by its clock, since timers_start(): its count divided by the period. 0: it has no
 * timer, or that goes by a frequency. A CPU whose timer runs is interrupted, and waited for.
 */
uint64_t timers_due(const struct timers *timers, int cpu);

const char *timers_event_name(const struct timers *timers); /* "cycles", "cpu-clock" */
const char *timers_event_unit(const struct timers *timers); /* "cycles", "ns" */
uint64_t timers_period(const struct timers *timers);        /* 0 in frequency mode */

#endif
