/*
 * Keeps what the BPF side samples to the control groups that the user named, or to what the file of
 * labels has. It knows groups by number, so when groups are made the names are looked for again.
 */
#ifndef EBPROF_CGROUP_FILTER_H
#define EBPROF_CGROUP_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/cgroup/target_cgroups.h"
#include "record/label/label_file.h"
#include "record/sampler.h"
#include "record/session_options.h"

/* {0}: there is none, and the other functions do nothing. */
struct cgroup_filter {
	struct target_cgroups targets;
	struct sampler *sampler; /* borrowed; NULL: none yet */
	uint64_t nr_made;        /* groups of the machine, when names were looked for last, */
	uint64_t looked_ns;      /* ... when that was, */
	uint64_t cost_ns;        /* ... and what it took */

	const struct label_file *file; /* borrowed; NULL: the user named the groups */
	uint32_t nr_file_reads;        /* of which these are: */
	VEC(struct cgroup_name) ids;   /* of containers, which the file owns */
	VEC(uint32_t) pids;
	/* Processes and groups that are not sampled, since the BPF maps are full: the most at once.
	 */
	uint64_t nr_left_out;
};

/*
 * The groups that the options name, or with SESSION_LABELLED the processes and containers that the
 * file has, as it is read again, too: those that do not run may later. ERR_USAGE as
 * target_cgroups_open() has it.
 */
struct err *cgroup_filter_open(struct cgroup_filter *filter, const struct session_options *options,
	const struct label_file *file) ERR_MUST_CHECK;
void cgroup_filter_deinit(struct cgroup_filter *filter);
/* Hands the groups to the BPF side. */
struct err *cgroup_filter_begin(
	struct cgroup_filter *filter, struct sampler *sampler) ERR_MUST_CHECK;
/* To be called now and then. */
struct err *cgroup_filter_renew(struct cgroup_filter *filter, uint64_t now_ns) ERR_MUST_CHECK;

#endif
