/*
 * What lets a BPF program raise an interrupt on its own CPU: an event of perf's there, with a ring
 * that nobody reads. A record in it wakes its readers, which perf does from an interrupt (irq_work,
 * kernel/events/ring_buffer.c), and new records take the place of old ones.
 */
#ifndef EBPROF_SWITCH_INTERRUPTS_H
#define EBPROF_SWITCH_INTERRUPTS_H

#include <stddef.h>

#include "format/base/err.h"

struct switch_interrupts {
	int map; /* BPF's perf event array, borrowed */
	struct switch_interrupt {
		int cpu, fd;
		void *ring;
	} * data;
	size_t len, cap;
};

/* For the CPUs that are online. `map` has an entry for each possible one. */
struct err *switch_interrupts_open(struct switch_interrupts *all, int map) ERR_MUST_CHECK;
/* The CPU was offline, or is new. */
struct err *switch_interrupts_renew(struct switch_interrupts *all, int cpu) ERR_MUST_CHECK;
void switch_interrupts_close(struct switch_interrupts *all);

#endif
