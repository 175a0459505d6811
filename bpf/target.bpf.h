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
	__u32 key = config.filter == EVENT_FILTER_PROCESS ? id.pid : id.tid;
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
	__u32 key = config.filter == EVENT_FILTER_PROCESS ? id.pid : id.tid;
	return bpf_map_lookup_elem(&targets, &key) && !is_before_exec(id);
}

#endif
