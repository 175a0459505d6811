/*
 * Groups of counters that are read together, {a,b}:S: the first one samples, and each of its
 * samples has as values of their own what the others, the members, have counted since. They are
 * counters of each CPU, which this reads there.
 *
 * Where all tasks are sampled, that is since the CPU's sample before. Where some are, strangers run
 * on the CPU in between: members count from where a target comes to a CPU, or execs, to where it
 * leaves it. What a thread has counted up to then is its next sample's.
 */
#ifndef EBPROF_SOURCE_GROUP_BPF_H
#define EBPROF_SOURCE_GROUP_BPF_H

#include "bpf/source/wait.bpf.h"
#include "bpf/take_sample.bpf.h"

#include <bpf/bpf_tracing.h>

/* Members count the targets' tasks alone. */
volatile bool members_follow_tasks;

/* Those of a member on all CPUs, then those of the next one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, __u32);
} member_counters SEC(".maps");

/* By CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct event_group_lane);
} group_lanes SEC(".maps");

/* By the kernel's own thread ids: what was counted, and is no sample yet. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct event_member_counts);
} unsampled_counts SEC(".maps");

static __always_inline struct event_group_lane *group_lane(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&group_lanes, &cpu);
}

/* What it has counted since it was read on this CPU before. An interrupt may have read it later
 * than what it interrupts: the counter is behind then, by what is that one's. False: it cannot be
 * read. */
static __always_inline bool read_member(struct event_group_lane *lane, __u32 member, __u64 *since)
{
	struct bpf_perf_event_value now = {};
	__u64 place = member * config.nr_cpus + bpf_get_smp_processor_id();
	*since = 0;
	if (bpf_perf_event_read_value(&member_counters, place, &now, sizeof(now)))
		return false;
	__u64 before = lane->counts[member];
	if (now.counter <= before)
		return true;
	lane->counts[member] = now.counter;
	*since = now.counter - before;
	return true;
}

/* Of the current thread, which has a sample. */
static __noinline void take_unsampled(struct scratch *scratch, __u32 members, __u32 tid)
{
	struct event_member_counts *kept = bpf_map_lookup_elem(&unsampled_counts, &tid);
	if (!kept)
		return;
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++) {
		if (!(members >> i & 1))
			continue;
		scratch->members[i] += kept->of[i];
		kept->of[i] = 0;
	}
}

/* For the sample that has begun. A thread that was not seen to come has all groups begin here. */
static __noinline void take_members(struct scratch *scratch, __u32 members)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct event_group_lane *lane = group_lane();
	if (!lane)
		return;
	bool follows = members_follow_tasks, was_there = !follows || lane->tid == tid;
	__u32 read = was_there ? members : config.members;
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++) {
		__u64 since = 0;
		/* What cannot be read begins anew where it next can: strangers may run meanwhile.
		 */
		if (read >> i & 1 && !read_member(lane, i, &since))
			tid = 0;
		scratch->members[i] = was_there ? since : 0;
	}
	if (follows)
		take_unsampled(scratch, members, (__u32)bpf_get_current_pid_tgid());
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++)
		scratch->nr_members += scratch->members[i] != 0;
	lane->tid = follows ? tid : 0;
	scratch->sample.is_followed = scratch->nr_members != 0;
}

/* What makes no sample. */
static __noinline void count_unsampled(
	const struct event_member_counts *counts, enum event_counter counter)
{
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++) {
		struct event_counters *counted = counters_of(EVENT_SOURCE_COUNTER + i);
		if (!(config.members >> i & 1) || !counts->of[i] || !counted)
			continue;
		count_as(counted, EVENT_COUNTER_EVENTS, counts->of[i]);
		count_as(counted, counter, counts->of[i]);
	}
}

/* Up to now, of a thread that leaves the CPU. */
static __noinline void keep_unsampled(__u32 tid, const struct event_member_counts *counts)
{
	struct event_member_counts *kept = bpf_map_lookup_elem(&unsampled_counts, &tid);
	__u64 sum = 0;
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++)
		sum += counts->of[i];
	if (!sum)
		return;
	if (!kept) {
		/* There are too many threads: it is counted, and no sample has it. */
		if (bpf_map_update_elem(&unsampled_counts, &tid, counts, BPF_ANY))
			count_unsampled(counts, EVENT_COUNTER_BELOW);
		return;
	}
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++)
		kept->of[i] += counts->of[i];
}

static __always_inline void forget_unsampled(__u32 tid)
{
	const struct event_member_counts *kept = bpf_map_lookup_elem(&unsampled_counts, &tid);
	if (!kept)
		return;
	count_unsampled(kept, EVENT_COUNTER_BELOW);
	bpf_map_delete_elem(&unsampled_counts, &tid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_of_group, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct event_group_lane *lane = group_lane();
	struct event_member_counts counts = {};
	if (!lane || !members_follow_tasks || is_over())
		return 0;
	__u32 goes = prev->pid, comes = is_target_task(next) ? next->pid : 0;
	bool has_counted = lane->tid && lane->tid == goes;
	for (__u32 i = 0; (has_counted || comes) && i < EVENT_MAX_COUNTERS; i++) {
		__u64 since;
		if (!(config.members >> i & 1))
			continue;
		if (!read_member(lane, i, &since))
			comes = 0;
		else if (has_counted)
			counts.of[i] = since;
	}
	if (has_counted)
		keep_unsampled(goes, &counts);
	if (state_of(prev) & TASK_DEAD)
		forget_unsampled(goes);
	lane->tid = comes;
	return 0;
}

/* A command is a target from here on, and did not come to its CPU as one; the recorder runs this
 * where it begins, too, for what runs then. A thread that was not its
 * process's first has that one's number from here on, too, and leaves its own to another thread. */
SEC("raw_tp/sched_process_exec")
int on_exec_of_group(struct bpf_raw_tracepoint_args *context)
{
	struct event_group_lane *lane = group_lane();
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), old_tid = context->args[1];
	if (!lane || !members_follow_tasks)
		return 0;
	if (old_tid != tid)
		forget_unsampled(old_tid);
	if (lane->tid == tid || !is_target())
		return 0;
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++) {
		__u64 since;
		if (config.members >> i & 1 && !read_member(lane, i, &since))
			tid = 0;
	}
	lane->tid = tid;
	return 0;
}

#endif
