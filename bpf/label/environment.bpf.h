/*
 * Variables of the environment that a program is executed with, sent at the exec: many a process
 * ends before the recorder could read /proc. Nothing of the others leaves the kernel, but for those
 * whose first bytes are alike.
 */
#ifndef EBPROF_LABEL_ENVIRONMENT_BPF_H
#define EBPROF_LABEL_ENVIRONMENT_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task_id.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* How "NAME=" begins, by the bytes that `mask` has. Set by the recorder; mask 0: there is none. */
const volatile struct event_variable variables[EVENT_MAX_VARIABLES];

/*
 * Execs from the tracepoint on do not meet on a CPU: up to Linux 6.x it runs with preemption off.
 * Later kernels pass over one that comes while the program is under way there for another task: it
 * has no event, and /proc is asked; the recorder reads how often that was, see
 * sampler_programs_skipped().
 */
struct environment {
	struct event_environment event;
	__u8 room[EVENT_MAX_VARIABLE_BYTES]; /* so that any length can be read at any place */
	__u64 at, end;
	__u32 is_inside; /* of a variable that was longer than what is read at once */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct environment);
} environments SEC(".maps");

static __always_inline bool is_wanted_variable(__u64 word)
{
	for (int i = 0; i < EVENT_MAX_VARIABLES; i++)
		if (variables[i].mask && (word & variables[i].mask) == variables[i].word)
			return true;
	return false;
}

/* False: that was the last, or it cannot be read. */
static __always_inline bool take_variable(struct environment *found)
{
	struct event_environment *event = &found->event;
	__u32 used = event->bytes;
	if (found->at >= found->end || used > EVENT_MAX_ENVIRONMENT_BYTES)
		return false;
	used &= ~7U;
	long len = bpf_probe_read_user_str(
		event->text + used, EVENT_MAX_VARIABLE_BYTES, (const void *)found->at);
	if (len <= 0)
		return false;
	bool is_cut = len >= EVENT_MAX_VARIABLE_BYTES;
	if (!found->is_inside && is_wanted_variable(*(__u64 *)(event->text + used))) {
		event->bytes = used + (((__u32)len + 7) & ~7U);
		event->is_cut |= is_cut;
	}
	found->is_inside = is_cut;
	found->at +=
		(__u64)len - is_cut; /* a text that is cut has a NUL instead of its last byte */
	return true;
}

/* Where a program has more, or a variable is cut, the recorder asks /proc for all of it. */
SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
	enum {
		MAX_READS = 256,
	};
	__u32 zero = 0;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct environment *found = bpf_map_lookup_elem(&environments, &zero);
	if (!found || !is_target_task(task))
		return 0;
	struct event_environment *event = &found->event;
	event->type = EVENT_ENVIRONMENT;
	event->pid = identify_task(task).pid;
	event->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	event->exec_ns = bpf_ktime_get_boot_ns();
	event->exec_id = BPF_CORE_READ(task, self_exec_id);
	event->bytes = event->is_cut = 0;
	found->at = BPF_CORE_READ(task, mm, env_start);
	found->end = BPF_CORE_READ(task, mm, env_end);
	found->is_inside = false;
	for (int i = 0; i < MAX_READS && take_variable(found); i++)
		;
	event->is_cut |= found->at < found->end;
	__u32 bytes = event->bytes;
	if (bytes > EVENT_MAX_ENVIRONMENT_BYTES + EVENT_MAX_VARIABLE_BYTES)
		return 0; /* cannot be */
	send(event, offsetof(struct event_environment, text) + bytes, wakeup_flag());
	return 0;
}

#endif
