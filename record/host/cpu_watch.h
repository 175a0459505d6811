/*
 * Which CPUs came online while the recorder runs. The kernel detaches the perf events of a CPU that
 * goes offline, and those of all but one when the machine is suspended: their descriptors stay
 * valid but never fire again, also when the CPU is back (kernel/events/core.c,
 * perf_event_exit_cpu_context(), Linux 5.10 to 7.2). They have to be opened anew.
 */
#ifndef EBPROF_CPU_WATCH_H
#define EBPROF_CPU_WATCH_H

#include <stdint.h>

#include "format/base/vec.h"

/* A CPU whose events were dead, or that had none, for some of this time; CLOCK_MONOTONIC. */
struct cpu_gap {
	int cpu;
	uint64_t from_ns; /* when its events were last known to live, or it was offline */
	uint64_t until_ns;
};

struct cpu_watch {
	/* A CPU each: an event that counts nothing but the time in which it could. */
	VEC(struct watched_cpu {
		int cpu;
		int fd;
		uint64_t enabled_ns; /* as it was when the CPU was checked last */
	}) cpus;
	uint64_t checked_ns;
	VEC(struct cpu_gap) gaps; /* that the last check found */
};

/* Watches nothing where such events cannot be opened. */
void cpu_watch_init(struct cpu_watch *watch, uint64_t now_ns);
void cpu_watch_deinit(struct cpu_watch *watch);
/* Once a second, else it does nothing. Replaces watch->gaps. */
void cpu_watch_check(struct cpu_watch *watch, uint64_t now_ns);

#endif
