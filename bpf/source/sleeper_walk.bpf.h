/*
 * Sleepers whose stacks are walked as those of tasks that run are, by the same functions: where a
 * process may have scripts, or where no helper copies a stack (before Linux 5.18). For the programs
 * of asleep.bpf.c alone, see walked_task.bpf.h.
 *
 * Nobody may have walked a stack of the process before, so its files have no tables. So sleepers
 * are walked first for nothing else (seeks_tables), until all that there is of files is known.
 */
#ifndef EBPROF_SOURCE_SLEEPER_WALK_BPF_H
#define EBPROF_SOURCE_SLEEPER_WALK_BPF_H

#include "bpf/source/sleeper.bpf.h"

#ifdef WALKS_SLEEPERS

/* Walks make no samples: what they come to is wanted. */
volatile bool seeks_tables;

/* Nor of what has slept since: those were walked. Set by the recorder. */
volatile __u64 sought_ns;

/* How many of these came to what is not there yet. */
volatile __u64 walks_pending;

/* The task at hand. Both parts of its wait have the same stack. */
static struct walked_wait {
	struct part_of_wait part;
	__u64 blocked_ns, queued_ns;
	bool has_user_stack;
} walked_wait SEC(".data.walked");

/* False: there is no stack to walk. */
static __always_inline bool begin_sleeper_walk(
	struct task_struct *task, struct sleeper *sleeper, struct scratch *scratch)
{
	const struct event_sample *sample = &sleeper->sample;
	scratch->sample = *sample;
	scratch->lane = config.nr_lanes;
	scratch->is_compared = false;
	scratch->second_value = 0;
	scratch->kernel.head.nr_frames = sleeper->kernel.head.nr_frames;
	put_head(&scratch->user.head, EVENT_STACK_USER, sample->pid, sample->time_ns);
	begin_walked((__u64)task, (__u64)BPF_CORE_READ(task, mm));
	walked_wait.has_user_stack = begin_user_stack(task, scratch) &&
				     read_saved_registers_of(task, &scratch->walk.regs);
	return walked_wait.has_user_stack && begin_frames(scratch);
}

static __always_inline bool begin_to_seek(
	struct task_struct *task, const struct waiting *wait, struct sleeper *sleeper)
{
	struct scratch *scratch = get_scratch();
	if (!scratch || !wait || task->on_cpu || !wait->off_ns || wait->off_ns < sought_ns)
		return false;
	begin_sleeper(task, sleeper, EVENT_WAIT_OFF_CPU, 0);
	sleeper->sample.time_ns = bpf_ktime_get_ns();
	sleeper->kernel.head.nr_frames = 1; /* it is in the kernel */
	return begin_sleeper_walk(task, sleeper, scratch);
}

static __always_inline bool is_long_enough(enum event_wait kind, __u64 ns)
{
	return config.waits >> kind & 1 && ns && ns >= wait_period_ns;
}

static __always_inline bool begin_to_take(
	struct task_struct *task, struct waiting *wait, struct sleeper *sleeper)
{
	struct part_of_wait part = part_of_wait(wait);
	struct scratch *scratch = get_scratch();
	__u64 end_ns = waits_end_ns;
	walked_wait.part = part;
	walked_wait.blocked_ns = walked_wait.queued_ns = 0;
	if (!scratch || !part.from_ns || part.from_ns >= end_ns)
		return false;
	__u64 ready_ns = end_of_blocked(part.from_ns, part.ready_ns, end_ns);
	walked_wait.blocked_ns = ready_ns - part.from_ns;
	walked_wait.queued_ns = end_ns - ready_ns;
	if (part.is_gone || (!is_long_enough(EVENT_WAIT_OFF_CPU, walked_wait.blocked_ns) &&
				    !is_long_enough(EVENT_WAIT_RUN_QUEUE, walked_wait.queued_ns)))
		return false;
	begin_sleeper(task, sleeper, EVENT_WAIT_OFF_CPU, 0);
	take_kernel_stack_of_sleeper(task, sleeper);
	return begin_sleeper_walk(task, sleeper, scratch);
}

/* Whether there is a stack to walk now. Not inlined, nor is the end: what walks is all that may be
 * on the stack meanwhile. */
static __noinline bool begin_task(struct task_struct *task)
{
	__u32 zero = 0;
	struct sleeper *sleeper = bpf_map_lookup_elem(&sleepers, &zero);
	struct waiting *wait = waiting_of(task);
	walked_wait.has_user_stack = false;
	if (!sleeper)
		return false;
	return seeks_tables ? begin_to_seek(task, wait, sleeper)
			    : begin_to_take(task, wait, sleeper);
}

static __always_inline void send_part(
	struct sleeper *sleeper, enum event_wait kind, __u64 ns, bool are_stacks_sent)
{
	struct event_counters *counted = counters_of(EVENT_SOURCE_WAIT);
	struct event_sample *sample = &sleeper->sample;
	if (!counted || !count_part(counted, kind, ns, walked_wait.part.is_gone))
		return;
	sample->event = kind;
	sample->value = sample->measured = ns;
	bool is_sent = are_stacks_sent && send(sample, sizeof(*sample), BPF_RB_NO_WAKEUP);
	count_as(counted, is_sent ? EVENT_COUNTER_SAMPLES : EVENT_COUNTER_LOST_RING, ns);
}

static __always_inline void send_walked(
	struct task_struct *task, struct sleeper *sleeper, const struct waiting *wait)
{
	struct scratch *scratch = get_scratch();
	bool are_sent = !sleeper->kernel.head.hash ||
			send_new_stack(&sleeper->kernel.head, EVENT_MAX_KERNEL_FRAMES);
	if (scratch && walked_wait.has_user_stack) {
		are_sent = are_sent && send_user_stack(scratch);
		sleeper->sample.user_hash = scratch->user.head.hash;
	}
	if (has_gone_on(task, wait))
		sleeper->sample.kernel_hash = sleeper->sample.user_hash = 0;
	send_part(sleeper, EVENT_WAIT_OFF_CPU, walked_wait.blocked_ns, are_sent);
	send_part(sleeper, EVENT_WAIT_RUN_QUEUE, walked_wait.queued_ns, are_sent);
}

static __always_inline void count_pending(void)
{
	const struct scratch *scratch = get_scratch();
	if (walked_wait.has_user_stack && scratch && !scratch->walk.asks &&
		scratch->walk.end == EVENT_END_TABLE_PENDING)
		COUNT(walks_pending);
}

/* True: it was a sleeper. */
static __noinline bool end_task(struct task_struct *task)
{
	__u32 zero = 0;
	struct sleeper *sleeper = bpf_map_lookup_elem(&sleepers, &zero);
	struct waiting *wait = waiting_of(task);
	if (!sleeper)
		return false;
	if (seeks_tables) {
		count_pending();
		return walked_wait.has_user_stack;
	}
	if (wait && (walked_wait.blocked_ns || walked_wait.queued_ns))
		send_walked(task, sleeper, wait);
	send_thread_times(task, sleeper, wait);
	return wait;
}

static __always_inline void finish_task(struct bpf_iter__task *ctx, struct task_struct *task)
{
	static const char byte;
	if (end_task(task))
		bpf_seq_write(ctx->meta->seq, &byte, sizeof(byte));
}

/* Programs that go on with the walk of a sleeper, by their group of runtimes. */
MAP_OF_WALKERS(sleeper)

/* As on_sleeper(); a byte for each, too. */
SEC("iter/task")
int walk_sleeper(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task)
		return 0;
	if (begin_task(task))
		bpf_tail_call(ctx, &sleeper_walkers, NEXT_WALKS);
	finish_task(ctx, task);
	return 0;
}

/*
 * Of each group of runtimes that there is, see SAMPLING_PROGRAMS. Without bpf_loop on all kernels:
 * its callback would be one function more on the stack.
 */
SEC("iter/task")
int continue_sleeper(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch = get_scratch();
	if (!task || !scratch)
		return 0;
	if (!walk_some() || is_handed_over(scratch))
		bpf_tail_call(ctx, &sleeper_walkers, scratch->walk.runtime.group);
	finish_task(ctx, task);
	return 0;
}

#ifdef HAS_WHOLE_PROGRAMS
/* Both in one, without calls of programs, see WHOLE_PROGRAM. */
SEC("iter/task")
int whole_sleeper(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task)
		return 0;
	if (begin_task(task))
		walk_whole();
	finish_task(ctx, task);
	return 0;
}
#endif

/*
 * Run by the recorder as the task that it is, with the address of a word of its own and what it
 * has put there: whether page_tables lead to it.
 */
SEC("raw_tp/sched_process_exit")
int try_page_tables(const __u64 *arguments)
{
	__u64 address = arguments[0], wanted = arguments[1], found;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	begin_walked((__u64)task, (__u64)mm);
	own_page_tables = (__u64)BPF_CORE_READ(mm, pgd);
	return page_tables.direct_map &&
	       !bpf_probe_read_user(&found, sizeof(found), (const void *)address) &&
	       found == wanted;
}

#endif

#endif
