/*
 * Perf events at whose every overflow a BPF program runs: the clock that ticks, which counts cycles
 * of the CPU or nanoseconds, or other events; of each CPU, or of tasks and of what these fork.
 */
#ifndef EBPROF_TIMERS_H
#define EBPROF_TIMERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/event/pmu_cpus.h"
#include "record/host/cpu_watch.h"
#include "record/task/target_tasks.h"

struct timers_clock {
	bool is_cycles;                    /* else nanoseconds: cpu-clock */
	uint32_t frequency_hz;             /* 0: use period */
	uint64_t period;                   /* in the clock's unit */
	bool exclude_user, exclude_kernel; /* of ticks */
};

struct timers {
	struct perf_event_attr attr;
	const char *name; /* of the event; borrowed */
	/* NULL, or those of the CPUs that these are counted with, in a group each: they run while
	 * that one does, and are opened, and renewed, behind it. */
	const struct timers *leader;
	struct pmu_cpus pmus; /* read when timers are opened; none where any CPU counts the event */
	VEC(struct timer {
		int cpu;      /* -1: of a task */
		uint32_t tid; /* 0: of a CPU */
		int fd;
	}) opened;
	VEC(struct timers_count { /* of those that were closed */
		int cpu;
		uint64_t count;
	}) closed;
};

/* There are none yet; the clock's name, unit and period are known from here on. */
void timers_init(struct timers *timers, const struct timers_clock *clock);
/* The same for any event, as `attr` describes it; the name is borrowed. With attr.enable_on_exec
 * they count from the exec of their tasks on, and timers_start() does nothing. */
void timers_init_event(struct timers *timers, const struct perf_event_attr *attr, const char *name);
void timers_deinit(struct timers *timers);
/* Closes all of them; others may be opened then. */
void timers_close(struct timers *timers);

/*
 * Opens one for each of nr_cpus CPUs (0: for all that are online), disarmed, and attaches the BPF
 * program of that descriptor (-1: none). CPUs where the event's PMU does not count are left out.
 * ERR_USAGE: such a CPU is not online, or all are left out. ERR_UNSUPPORTED: nothing counts cycles
 * here. What was opened before a failure is timers_deinit()'s.
 */
struct err *timers_open_cpus(
	struct timers *timers, const int *cpus, size_t nr_cpus, int program) ERR_MUST_CHECK;
/*
 * The same for each thread of these tasks; those that end meanwhile are left out. ERR_UNSUPPORTED:
 * too many of them, this kernel cannot inherit timers as wanted (TARGET_INHERIT_THREADS: Linux
 * 5.13), or no PMU counts the event on all cores.
 */
struct err *timers_open_tasks(
	struct timers *timers, const struct target_tasks *tasks, int program) ERR_MUST_CHECK;
/*
 * After timers_open_cpus(), of a CPU that came online: opens one that runs, in place of any that it
 * had. Ticks of the gap count as due.
 */
struct err *timers_renew_cpu(
	struct timers *timers, const struct cpu_gap *gap, int program) ERR_MUST_CHECK;
/* Whether they count time, of a CPU or task, rather than events. */
bool timers_count_time(const struct timers *timers);
/* Whether there is a timer of that CPU, or was one. */
bool timers_have_had_cpu(const struct timers *timers, int cpu);
struct err *timers_start(struct timers *timers) ERR_MUST_CHECK;
void timers_stop(struct timers *timers);

/*
 * Ticks by the clock: what it has counted, of a CPU or with -1 of all tasks, divided by the period.
 * 0: there was no such timer, or it goes by a frequency. A CPU whose timer runs is interrupted, and
 * waited for.
 */
uint64_t timers_due(const struct timers *timers, int cpu);

/* What they have counted, likewise. */
uint64_t timers_counted(const struct timers *timers, int cpu);
/* What one has that is open, which BPF programs read, too. */
uint64_t timers_read(const struct timer *timer);

const char *timers_event_name(const struct timers *timers); /* "cycles", "cpu-clock" */
const char *timers_event_unit(const struct timers *timers); /* "cycles", "ns" */
uint64_t timers_period(const struct timers *timers);        /* 0 in frequency mode */

#endif
