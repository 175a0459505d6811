/*
 * The BPF programs: those of the event sources, those at functions that scripts enter, and those
 * that follow tasks which begin and end.
 */
#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/label/environment.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/shadow_call.bpf.h"
#include "bpf/source/sources.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task_id.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Processes that could not be followed because `targets` was full. */
__u64 targets_full;

/* What the targets forked. Counted without a lock: estimates. */
__u64 processes_forked, threads_forked;

/* ---- probes of functions that scripts enter and leave: from Linux 5.15 on ---- */

SEC("uprobe/call")
int on_call(struct pt_regs *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx);
	const struct shadow_place *place = bpf_map_lookup_elem(&shadow_places, &number);
	struct shadow_counters *count = count_calls();
	if (!place || !place->runtime || !count)
		return 0;
	__u64 start_ns = config.times_calls ? bpf_ktime_get_ns() : 0;
	if (is_target()) {
		take_call(ctx, number, place);
	} else {
		COUNT(count->hits[number & (SHADOW_MAX_PLACES - 1)]);
		COUNT(count->filtered);
	}
	if (config.times_calls)
		COUNT_MANY(count->ns, bpf_ktime_get_ns() - start_ns);
	return 0;
}

/* ---- tasks that begin and end ---- */

/* The recorder may want other timers for many short tasks, before most of them have come. */
static __always_inline void count_fork(bool is_thread)
{
	enum {
		PROCESSES_A_WAKE_UP = 4,
	};
	__u32 record[2] = {EVENT_FORKS, 0};
	if (is_thread)
		threads_forked++;
	else if (++processes_forked % PROCESSES_A_WAKE_UP == 0 && targets_have_timers)
		send(record, sizeof(record), BPF_RB_FORCE_WAKEUP);
}

/* A target's new process (or thread) is a target from its first instruction on. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task_id parent_id = identify_task(parent), child_id = identify_task(child);
	bool is_by_thread = config.filter == EVENT_FILTER_THREAD;
	__u32 parent_key = is_by_thread ? parent_id.tid : parent_id.pid;
	__u32 child_key = is_by_thread ? child_id.tid : child_id.pid;
	bool is_same_target = parent_key == child_key;
	if ((!config.follow_children && !is_same_target) ||
		!bpf_map_lookup_elem(&targets, &parent_key))
		return 0;
	count_fork(parent_id.pid == child_id.pid);
	if (is_same_target)
		return 0;
	__u64 start_ns = BPF_CORE_READ(child, start_boottime);
	if (bpf_map_update_elem(&targets, &child_key, &start_ns, BPF_ANY))
		__sync_fetch_and_add(&targets_full, 1);
	return 0;
}

static __always_inline void forget_target(struct task_struct *task, __u32 key)
{
	__u64 *start_ns = bpf_map_lookup_elem(&targets, &key);
	if (start_ns && (!*start_ns || *start_ns == BPF_CORE_READ(task, start_boottime)))
		bpf_map_delete_elem(&targets, &key);
}

/* Only when the task is freed, so that the samples of its way out are kept. */
SEC("raw_tp/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	forget_target(task, BPF_CORE_READ(task, pid));
	return 0;
}

/*
 * In a PID namespace below the machine's own a task has lost its number there when it is freed:
 * the end of its process has to do, that is, of its last thread.
 */
SEC("raw_tp/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_id id = identify_task(task);
	if (config.filter == EVENT_FILTER_THREAD)
		forget_target(task, id.tid);
	else if (!BPF_CORE_READ(task, signal, live.counter))
		forget_target(BPF_CORE_READ(task, group_leader), id.pid);
	return 0;
}

/* Runtimes move what they have started, perhaps when it runs already. */
SEC("raw_tp/cgroup_attach_task")
int BPF_PROG(on_cgroup_moved, struct cgroup *group, const char *path, struct task_struct *task)
{
	struct event_moved moved = {
		.type = EVENT_MOVED,
		.pid = identify_task(task).pid,
		.time_ns = bpf_ktime_get_ns(),
	};
	if (moved.pid && is_target_task(task))
		send(&moved, sizeof(moved), wakeup_flag());
	return 0;
}

SEC("raw_tp/cgroup_mkdir")
int on_cgroup_made(void *context)
{
	__sync_fetch_and_add(&cgroups_made, 1);
	return 0;
}

/* Run once by the recorder, as the task that it is, and attached to nothing. */
SEC("raw_tp/sched_process_exit")
int find_pid_namespace(void *context)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	pid_namespace_inode = BPF_CORE_READ(number_at(pid, level), ns, ns.inum);
	pid_namespace_level = level;
	return 0;
}

/*
 * The same: gives a file a number that the recorder has mapped in its own memory, there. Returns
 * the number that the file has, which may be another one; 0: there is none.
 */
SEC("raw_tp/sched_process_exit")
int number_own_file(const __u64 *arguments)
{
	__u64 address = arguments[0];
	__u32 number = arguments[1];
	struct file_key key = {};
	struct vm_area_struct *vma = find_own_vma(address);
	if (!vma || BPF_CORE_READ(vma, vm_start) > address || BPF_CORE_READ(vma, vm_end) <= address)
		return 0;
	struct file *file = BPF_CORE_READ(vma, vm_file);
	if (!file)
		return 0;
	read_file_key(file, &key);
	if (!bpf_map_update_elem(&file_numbers, &key, &number, BPF_NOEXIST))
		return number;
	__u32 *known = bpf_map_lookup_elem(&file_numbers, &key);
	return known ? *known : 0;
}
