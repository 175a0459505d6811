/*
 * How long the main loop is away from its signals: the longest turn between two looks at them, by
 * what it went on. A busy machine, where the loop waits for a CPU, is distinguished from a turn
 * that computes or that waits for a file, a lock or another process.
 */
#ifndef EBPROF_TURN_TIME_H
#define EBPROF_TURN_TIME_H

#include <stdint.h>

struct turn { /* the parts add up to the time that passed */
	uint64_t cpu_ns;
	uint64_t blocked_ns; /* neither on a CPU nor waiting for one */
	uint64_t starved_ns; /* ready to run, waiting for a CPU; 0 where the kernel does not tell */
};

struct turn_time {
	int schedstat_fd; /* of the thread; -1: none */
	uint64_t begun_ns, begun_cpu_ns, begun_starved_ns;
	struct turn longest; /* that with the most time but for starved_ns */
};

/* Of the calling thread, which alone may call the other functions. */
void turn_time_init(struct turn_time *time);
void turn_time_deinit(struct turn_time *time);

void turn_time_begin(struct turn_time *time);
void turn_time_end(struct turn_time *time);

#endif
