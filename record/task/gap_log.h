/*
 * How many samples were taken while records of processes were lost: how their frames are called is
 * less sure. That something was lost is known only afterwards, so the log keeps how many samples
 * there had been at some instants.
 */
#ifndef EBPROF_GAP_LOG_H
#define EBPROF_GAP_LOG_H

#include <stddef.h>
#include <stdint.h>

struct gap_log {
	struct gap_point {
		uint64_t time_ns, samples;
	} points[256];    /* a ring, in the order of time */
	size_t nr_points; /* that were ever noted */
	uint64_t samples_in_gaps;
	uint64_t from_ns, until_ns; /* from the first gap's beginning to the last one's end */
	uint64_t counted;           /* samples up to the end of the gap before */
};

/* There have been so many samples until now. */
void gap_log_note(struct gap_log *log, uint64_t time_ns, uint64_t samples);
/* A gap that began then has ended, at the latest at until_ns, with so many samples until now. */
void gap_log_end(struct gap_log *log, uint64_t from_ns, uint64_t until_ns, uint64_t samples);

#endif
