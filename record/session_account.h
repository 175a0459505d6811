/*
 * The account of a session: reads what its parts have counted, so that every event is a sample,
 * idle, filtered or lost, and sums it up: as progress while the session runs, as a summary when it
 * is over.
 */
#ifndef EBPROF_SESSION_ACCOUNT_H
#define EBPROF_SESSION_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "record/recording.h"
#include "record/sampler.h"
#include "record/script/script_probes.h"
#include "record/script/shadow.h"
#include "record/session.h"
#include "record/session_drain.h"
#include "record/source/sources.h"
#include "record/task/left_out.h"
#include "record/task/sideband.h"

struct session_account {
	/* Whose counters it reads, borrowed: the recording, and the rest of what it is made of. */
	const struct recording *recording;
	const struct session_drain *drain;
	const struct sideband *sideband;
	const struct sampler *sampler;
	const struct cgroup_filter *cgroups;
	const struct script_probes *script_probes;
	const struct left_out *left_out;

	struct recording_counts counts; /* as they were read last */
	/* Instants of CLOCK_MONOTONIC. */
	uint64_t begun_ns;
	uint64_t started_ns;  /* of sampling; 0: not yet */
	uint64_t running_ns;  /* since when starting costs no more */
	double running_cpu_s; /* the recorder's own CPU time then */
	char *own_heap; /* a file of a process that has no sample, see own_heap.h; NULL: none */
};

/*
 * Reads the counters of all parts. `is_last`: of the file that is being written; CPUs may have to
 * be waited for.
 */
struct err *session_account_read(struct session_account *account, bool is_last) ERR_MUST_CHECK;
/* The recording is finished: samples that it did not write are lost. */
void session_account_finish(struct session_account *account);
void session_account_deinit(struct session_account *account);

/* `is_running`: what waits to be written will make the file longer. */
struct session_progress session_account_progress(
	const struct session_account *account, bool is_running);
/* Of a session that runs: what is cheap to count of `summary`; the rest is left as it is. */
void session_account_health(const struct session_account *account, struct session_summary *summary);
/*
 * Of a session that is over. Sets all of `summary` that was counted; what only the session knows
 * (how it ended, its command, final but for the samples) is left as it is. `cost`: of the probes
 * of scripts' functions, or NULL. Paths are borrowed from the recording.
 */
void session_account_summarize(struct session_account *account, const struct shadow_cost *cost,
	struct session_summary *summary);

/* CPU time in user and kernel mode; `who` as of getrusage(2). */
double session_account_cpu_s(int who);

#endif
