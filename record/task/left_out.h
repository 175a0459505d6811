/*
 * Processes that the targets had forked before the recording began, and that are no targets
 * themselves: the workers of a server that is recorded by its master's pid.
 */
#ifndef EBPROF_LEFT_OUT_H
#define EBPROF_LEFT_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct left_out {
	VEC(struct left_out_process {
		uint32_t pid;
		uint64_t cpu_ns; /* when the recording began */
	}) processes;
};

struct left_out_busy {
	uint32_t pid;    /* 0: none */
	uint64_t cpu_ns; /* since the recording began */
};

/* Those of these targets. */
void left_out_begin(struct left_out *left_out, const uint32_t *pids, size_t nr_pids);
/* How many have run since then, and the busiest of them first, at most `max`. */
size_t left_out_count_busy(const struct left_out *left_out, struct left_out_busy *ret, size_t max);
void left_out_deinit(struct left_out *left_out);

#endif
