/*
 * How the recorder calls a task: by the ids of the PID namespace that the recorder runs in, which
 * are those of its /proc and of the kernel's process events. The kernel's own ids differ from these
 * in a container.
 */
#ifndef EBPROF_TASK_ID_BPF_H
#define EBPROF_TASK_ID_BPF_H

#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct task_id {
	__u32 pid, tid; /* 0: the recorder's namespace does not see the task */
};

/* The recorder's PID namespace; at level 0 it is the machine's own, where nothing is translated. */
__u32 pid_namespace_level, pid_namespace_inode;

/* A struct pid has a number for each namespace from the machine's down to its task's own. */
static __always_inline struct upid *number_at(struct pid *pid, __u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       (__u64)level * bpf_core_type_size(struct upid);
}

static __always_inline __u32 number_in_namespace(struct pid *pid)
{
	__u32 level = pid_namespace_level;
	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	struct upid *number = number_at(pid, level);
	if (BPF_CORE_READ(number, ns, ns.inum) != pid_namespace_inode)
		return 0;
	return BPF_CORE_READ(number, nr);
}

static __always_inline struct task_id identify_task(struct task_struct *task)
{
	if (!pid_namespace_level)
		return (struct task_id){BPF_CORE_READ(task, tgid), BPF_CORE_READ(task, pid)};
	return (struct task_id){
		.pid = number_in_namespace(BPF_CORE_READ(task, group_leader, thread_pid)),
		.tid = number_in_namespace(BPF_CORE_READ(task, thread_pid)),
	};
}

static __always_inline struct task_id identify_current(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	if (!pid_namespace_level)
		return (struct task_id){pid_tgid >> 32, (__u32)pid_tgid};
	return identify_task((struct task_struct *)bpf_get_current_task());
}

#endif
