/*
 * The control groups that can be seen here: those of version 2, and those of version 1 that have
 * the controller "memory", where that is mounted. On machines with both a process is in a group of
 * either.
 *
 * Source: cgroups(7), cgroup_namespaces(7).
 */
#ifndef EBPROF_CGROUP_TREE_H
#define EBPROF_CGROUP_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"

struct cgroup_tree {
	/* Where the hierarchies are mounted; NULL: it is not. */
	char *points[EVENT_CGROUP_HIERARCHIES];
	char *perf_point; /* ... that of version 1 with the controller "perf_event" */
	/* The root that is seen is that of the machine, so levels are the kernel's. */
	bool is_whole;
};

struct cgroup_place {            /* a group */
	struct event_cgroup key; /* as the BPF side knows it */
	uint32_t level;          /* below the root that is seen */
	const char *path;        /* from there; borrowed during the call */
};

/* ERR_UNSUPPORTED: no control groups are mounted. */
struct err *cgroup_tree_open(struct cgroup_tree *ret) ERR_MUST_CHECK;
void cgroup_tree_deinit(struct cgroup_tree *tree);

/* Bits: those that are mounted. */
uint32_t cgroup_tree_hierarchies(const struct cgroup_tree *tree);

/* The group of this path in that hierarchy. False: there is none. */
bool cgroup_tree_find(const struct cgroup_tree *tree, enum event_cgroup_hierarchy hierarchy,
	const char *path, struct cgroup_place *ret);

/* False: those below this one are of no interest. */
typedef bool cgroup_place_fn(void *context, const struct cgroup_place *place);
/*
 * Calls fn for each group but the roots, a parent ahead of its children. A user who may make
 * groups may make many: no more than some 100,000 are visited. True: those were all.
 */
bool cgroup_tree_each(const struct cgroup_tree *tree, cgroup_place_fn *fn, void *context);

#endif
