/*
 * The control groups that a recording is about, which the user names by path, by systemd unit or by
 * container. A name stands for the groups that have it at the time: a service that is started again
 * has another one.
 */
#ifndef EBPROF_TARGET_CGROUPS_H
#define EBPROF_TARGET_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/cgroup/cgroup_tree.h"
#include "record/cgroup/container_names.h"

enum cgroup_name_kind {
	CGROUP_NAME_PATH,      /* from the root on, or from where it is mounted */
	CGROUP_NAME_UNIT,      /* with or without ".service", ".scope" */
	CGROUP_NAME_CONTAINER, /* its ID or the begin of it, or its name */
	CGROUP_NAME_ID,        /* a container's whole ID; it may run later, or not any more */
};

struct cgroup_name {
	enum cgroup_name_kind kind;
	const char *text;
};

struct target_cgroups {
	struct cgroup_tree tree;
	struct container_names containers;
	const struct cgroup_name *names; /* borrowed */
	size_t nr_names;
	VEC(struct event_cgroup) groups;  /* that the names stand for, EVENT_MAX_CGROUPS of them */
	VEC(char *) paths;                /* of each: "/a/b"; "" of a root */
	size_t nr_left_out;               /* ... and of the others, for which there is no room */
	uint32_t first_level, last_level; /* of the hierarchies, where these are */
};

/* ERR_USAGE: a name stands for nothing, or for more than it should; says what is like it. */
struct err *target_cgroups_open(const struct cgroup_name *names, size_t nr_names,
	struct target_cgroups *ret) ERR_MUST_CHECK;
/* Looks again. False: they stand for the same groups. Names may stand for none then. */
bool target_cgroups_renew(struct target_cgroups *targets);
void target_cgroups_deinit(struct target_cgroups *targets);

/* "unit nginx, container web" */
void target_cgroups_describe(const struct cgroup_name *names, size_t nr_names, struct str *ret);

#endif
