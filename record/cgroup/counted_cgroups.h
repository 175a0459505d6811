/*
 * Control groups whose events the kernel counts: their folders, opened for perf_event_open(2) with
 * PERF_FLAG_PID_CGROUP, which counts those below a group, too. They are in the hierarchy that has
 * the controller "perf_event": one of version 1 where that is mounted, else that of version 2.
 */
#ifndef EBPROF_COUNTED_CGROUPS_H
#define EBPROF_COUNTED_CGROUPS_H

#include "record/cgroup/target_cgroups.h"

struct counted_cgroups {
	VEC(int) fds; /* no group is another one, or below it */
};

/*
 * The groups that have these names now. ERR_USAGE: see target_cgroups_open(). ERR_UNAVAILABLE: one
 * is not in that hierarchy. Deinit `ret` in any case.
 */
struct err *counted_cgroups_open(const struct cgroup_name *names, size_t nr_names,
	struct counted_cgroups *ret) ERR_MUST_CHECK;
void counted_cgroups_deinit(struct counted_cgroups *counted);

#endif
