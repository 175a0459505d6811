/* What a session has counted, told while it runs and when it is over. */
#ifndef EBPROF_SESSION_SUMMARY_H
#define EBPROF_SESSION_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "record/recording.h"
#include "record/session.h"
#include "record/session_parts.h"
#include "record/shadow.h"

/* Instants of CLOCK_MONOTONIC. */
struct session_times {
	uint64_t begun_ns;
	uint64_t started_ns;  /* of sampling; 0: not yet */
	uint64_t running_ns;  /* since when starting costs no more */
	double running_cpu_s; /* our own CPU time then */
	uint64_t drained_ns;  /* what is counted reaches up to here */
};

/* CPU time in user and kernel mode; `who` as of getrusage(2). */
double session_cpu_seconds(int who);

/* `is_running`: what waits to be written will make the file longer. */
struct session_progress session_progress_of(const struct session_parts *parts,
	const struct recording_counts *counts, const struct session_times *times, bool is_running);

/*
 * Of a session that is over. Sets all of `summary` that was counted; what only the session knows
 * (how it ended, its command, final but for the samples) is left as it is. `cost`: of the probes
 * of scripts' functions, or NULL. Paths are borrowed from `parts`.
 */
void session_summarize(const struct session_parts *parts, const struct recording_counts *counts,
	const struct shadow_cost *cost, struct session_summary *summary);

#endif
