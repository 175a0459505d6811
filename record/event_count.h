/*
 * Counting: how many of some events there were, while a command ran or for a while, of it, of
 * processes, of control groups or of the whole system. No samples, no BPF.
 */
#ifndef EBPROF_EVENT_COUNT_H
#define EBPROF_EVENT_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "record/cgroup/target_cgroups.h"
#include "record/event/event_spec.h"

struct event_count_options {
	const struct event_spec *specs; /* borrowed; a tracepoint's pattern is counted as one */
	size_t nr_specs;
	bool skips_refused;   /* events that cannot be had are left out, see event_count.why */
	char *const *argv;    /* NULL: none */
	const uint32_t *pids; /* nr_pids of them; 0: the command, or with is_system all */
	size_t nr_pids;
	const struct cgroup_name *cgroups; /* nr_cgroups of them: what runs in any of these */
	size_t nr_cgroups;
	bool is_system, no_inherit;
	uint64_t duration_ns; /* 0: until the command ends, or a signal comes */
};

struct event_count {
	double value;    /* as the counter ran: extrapolated where it had to share hardware */
	double ran;      /* the part of the time that it ran, 0 to 1 */
	bool is_counted; /* false: it could not be had, */
	char why[256];   /* ... for this reason */
	bool is_of_user; /* what the kernel does of it may not be seen, and is not in the number */
};

struct event_count_run {
	struct event_count *counts;         /* nr_specs of them, yours to begin with */
	double elapsed_s, user_s, system_s; /* the latter two of the command */
	bool has_status;
	int status;     /* of the command, as of waitpid(2) */
	int exec_errno; /* it could not be started */
	int end_signal; /* that ended it; 0: none */
};

/* Runs once. ERR_USAGE: such an event cannot be counted. */
struct err *event_count_run(
	const struct event_count_options *options, struct event_count_run *ret) ERR_MUST_CHECK;

#endif
