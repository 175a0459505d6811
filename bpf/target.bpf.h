/* Whom to sample. */
#ifndef EBPROF_TARGET_BPF_H
#define EBPROF_TARGET_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/task_id.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* tgid or tid -> start time of the task, which tells a reused id apart. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EVENT_MAX_TARGETS);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

/* The targets' tasks have timers of their own: ticks need no filter, and forks are news. */
volatile bool targets_have_timers;

/* When sampling ends, CLOCK_MONOTONIC; 0: when the recorder says so. It may be late. */
volatile __u64 until_ns;

static __always_inline bool is_over(void)
{
	return until_ns && bpf_ktime_get_ns() >= until_ns;
}

/*
 * The recorder's child waits to become the command, and execs. A task counts its execs on from
 * what its parent had when it was forked (Linux 5.6.3, begin_new_exec() and copy_process()).
 */
static __always_inline bool is_task_before_exec(struct task_struct *task, struct task_id id)
{
	if (!config.command_pid || id.pid != config.command_pid)
		return false;
	return BPF_CORE_READ(task, self_exec_id) == BPF_CORE_READ(task, parent_exec_id);
}

static __always_inline bool is_before_exec(struct task_id id)
{
	return is_task_before_exec((struct task_struct *)bpf_get_current_task(), id);
}

/* ---- by control groups ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, struct event_cgroup);
	__type(value, __u32);
} target_cgroups SEC(".maps");

/* The levels that groups of the map are at: set by the recorder, which may not know better than
 * all. */
volatile __u32 first_cgroup_level, last_cgroup_level;

/* Control groups that were made: a name may have another one now. Counted without a lock. */
__u64 cgroups_made;

static __always_inline struct cgroup *cgroup_of_memory(struct css_set *set)
{
	struct cgroup_subsys_state *state = 0;
	__u64 number = bpf_core_enum_value(enum cgroup_subsys_id___ours, memory_cgrp_id___ours);
	__u64 at = (__u64)set + bpf_core_field_offset(struct css_set, subsys) +
		   number * sizeof(struct cgroup_subsys_state *);
	bpf_probe_read_kernel(&state, sizeof(state), (void *)at);
	return BPF_CORE_READ(state, cgroup);
}

static __always_inline __u64 id_of_ancestor(struct cgroup *cgroup, __u32 level)
{
	__u64 id = 0;
	if (bpf_core_field_exists(cgroup->ancestors)) {
		struct cgroup *ancestor = 0;
		__u64 at = (__u64)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
			   (__u64)level * sizeof(struct cgroup *);
		bpf_probe_read_kernel(&ancestor, sizeof(ancestor), (void *)at);
		return BPF_CORE_READ(ancestor, kn, id);
	}
	__u64 at = (__u64)cgroup + bpf_core_field_offset(struct cgroup___5_10, ancestor_ids) +
		   (__u64)level * sizeof(id);
	bpf_probe_read_kernel(&id, sizeof(id), (void *)at);
	return id;
}

/*
 * Whether the control group that holds another one at a level of the hierarchy is a target. Global,
 * and so verified once, not in each turn of the loop below.
 */
__noinline int is_target_ancestor(__u64 cgroup, __u32 level, __u32 hierarchy);
__noinline int is_target_ancestor(__u64 cgroup, __u32 level, __u32 hierarchy)
{
	struct event_cgroup key = {.hierarchy = hierarchy};
	if (!config.cgroup_hierarchies)
		return 0;
	key.id = id_of_ancestor((struct cgroup *)cgroup, level);
	return bpf_map_lookup_elem(&target_cgroups, &key) != 0;
}

/* ... or below one that is. What is made below a target is one, too, without the recorder. */
static __noinline bool is_target_cgroup(struct cgroup *cgroup, __u32 hierarchy)
{
	__u32 last = BPF_CORE_READ(cgroup, level), level = first_cgroup_level;
	if (last > last_cgroup_level)
		last = last_cgroup_level;
	for (int i = 0; i < EVENT_MAX_CGROUP_LEVELS && level <= last; i++, level++)
		if (is_target_ancestor((__u64)cgroup, level, hierarchy))
			return true;
	return false;
}

static __always_inline bool is_in_target_cgroup(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	if (config.cgroup_hierarchies & 1 << EVENT_CGROUP_UNIFIED &&
		is_target_cgroup(BPF_CORE_READ(set, dfl_cgrp), EVENT_CGROUP_UNIFIED))
		return true;
	return config.cgroup_hierarchies & 1 << EVENT_CGROUP_MEMORY &&
	       is_target_cgroup(cgroup_of_memory(set), EVENT_CGROUP_MEMORY);
}

/* ---- any filter ---- */

/* Of any task, not only the current one. */
static __always_inline bool is_target_task(struct task_struct *task)
{
	struct task_id id = identify_task(task);
	if (!id.pid)
		return false;
	if (config.filter == EVENT_FILTER_NONE)
		return true;
	if (config.filter == EVENT_FILTER_USER)
		return BPF_CORE_READ(task, cred, uid.val) == config.uid;
	if (config.filter == EVENT_FILTER_CGROUP || config.filter == EVENT_FILTER_EITHER) {
		bool is_in_group = is_in_target_cgroup(task);
		if (is_in_group || config.filter == EVENT_FILTER_CGROUP)
			return is_in_group;
	}
	__u32 key = config.filter == EVENT_FILTER_THREAD ? id.tid : id.pid;
	return bpf_map_lookup_elem(&targets, &key) && !is_task_before_exec(task, id);
}

static __always_inline bool is_target(void)
{
	struct task_id id = identify_current();
	if (!id.pid)
		return false;
	if (config.filter == EVENT_FILTER_NONE)
		return true;
	if (config.filter == EVENT_FILTER_USER)
		return (__u32)bpf_get_current_uid_gid() == config.uid;
	if (config.filter == EVENT_FILTER_CGROUP || config.filter == EVENT_FILTER_EITHER) {
		bool is_in_group =
			is_in_target_cgroup((struct task_struct *)bpf_get_current_task());
		if (is_in_group || config.filter == EVENT_FILTER_CGROUP)
			return is_in_group;
	}
	__u32 key = config.filter == EVENT_FILTER_THREAD ? id.tid : id.pid;
	return bpf_map_lookup_elem(&targets, &key) && !is_before_exec(id);
}

#endif
