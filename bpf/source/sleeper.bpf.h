/*
 * Waits that go on when recording, or a file, ends: programs that the recorder runs over all tasks
 * then, and that make samples of their stacks from outside. User stacks go out as snapshots, with
 * the registers that the task entered the kernel with: the recorder unwinds them, without scripts'
 * functions; where there may be some, sleeper_walk.bpf.h walks them instead. Only long waits are
 * samples, since none of the short ones is chosen at this moment more than at another.
 *
 * Before Linux 5.18 the memory of another task cannot be read here: then the snapshot has registers
 * and no stack, and the recorder reads that from the process.
 *
 * At the end of a file tasks go on meanwhile. on_division() marks all waits with what there was of
 * them when the file ended; then on_sleeper() makes samples of that. A wait that is over in between
 * counts from there on, and says that it has seen the mark: then what was before is lost, since the
 * stack is gone, and counted. One that did not see it, since its end was under way, has counted
 * whole. So each ns is counted once.
 *
 * At the end of all, too, tasks go on until they are looked at, which on_switch() notes: their
 * waits are samples without stacks.
 */
#ifndef EBPROF_SOURCE_SLEEPER_BPF_H
#define EBPROF_SOURCE_SLEEPER_BPF_H

#include "bpf/source/wait.bpf.h"

/* It is a file that ends: on_sleeper() takes what on_division() has marked. */
volatile bool divides_waits;

/* include/uapi/linux/bpf.h and kernel/bpf/task_iter.c */
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL_TYPE;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL_TYPE;

/* Where the sample of a sleeper is put together: the program runs for one task at a time. */
struct sleeper {
	struct kernel_stack kernel;
	struct event_stack user;
	struct event_snapshot snapshot;
	struct event_snapshot_chunk chunk;
	struct event_sample sample;
	struct event_thread_times times;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sleeper);
} sleepers SEC(".maps");

static __always_inline struct waiting *waiting_of(struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	return bpf_map_lookup_elem(&waiting, &tid);
}

/* A zombie, and a first thread that has ended before others: it waits for nothing. */
static __always_inline bool is_dead(struct task_struct *task)
{
	return state_of(task) & TASK_DEAD;
}

/* Marks the wait; a task that has slept all the time is followed from now on. */
SEC("iter/task")
int on_division(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task)
		return 0;
	struct waiting *wait = waiting_of(task);
	if (!wait && task->pid && !task->on_cpu && !is_dead(task) && is_waiter(task))
		wait = start_waiting(task, 0);
	if (!wait || !divides_waits)
		return 0;
	__u64 off_ns = wait->off_ns, end_ns = waits_end_ns;
	if (!off_ns || off_ns >= end_ns)
		return 0;
	wait->divided_off_ns = start_of_wait(wait);
	wait->divided_ready_ns = wait->ready_ns;
	wait->divided_ns = end_ns;
	return 0;
}

/* A wait up to the end of the file. */
struct part_of_wait {
	__u64 from_ns;  /* 0: there is none */
	__u64 ready_ns; /* 0: it is blocked still */
	bool is_gone;   /* it is over, and its stack is another one: the part is lost */
};

static __always_inline struct part_of_wait take_mark(struct waiting *wait)
{
	struct part_of_wait part = {wait->divided_off_ns, wait->divided_ready_ns, false};
	if (!part.from_ns)
		return part;
	wait->divided_off_ns = 0;
	part.is_gone = !wait->off_ns || wait->off_ns > part.from_ns;
	if (part.is_gone && wait->seen_ns != wait->divided_ns) /* it counted whole then */
		part.from_ns = 0;
	return part;
}

/* At the end of all: it runs, or did, so its stack is not that of the wait. */
static __always_inline bool has_gone_on(struct task_struct *task, const struct waiting *wait)
{
	return !divides_waits && (task->on_cpu || *(volatile const __u64 *)&wait->gone_on_ns);
}

static __always_inline struct part_of_wait part_of_wait(struct waiting *wait)
{
	struct part_of_wait none = {};
	if (!wait)
		return none;
	if (divides_waits)
		return take_mark(wait);
	if (!wait->off_ns)
		return none;
	return (struct part_of_wait){start_of_wait(wait), wait->ready_ns, false};
}

static __always_inline void begin_sleeper(
	struct task_struct *task, struct sleeper *sleeper, enum event_wait kind, __u64 ns)
{
	struct event_sample *sample = &sleeper->sample;
	struct task_id id = identify_task(task);
	sample->type = EVENT_SAMPLE;
	sample->cpu = bpf_get_smp_processor_id();
	sample->source = EVENT_SOURCE_WAIT;
	sample->event = kind;
	sample->is_followed = false;
	sample->counted_by = 0;
	sample->value = sample->measured = ns;
	sample->pid = id.pid;
	sample->tid = id.tid;
	sample->time_ns = waits_end_ns;
	sample->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	sample->exec_id = BPF_CORE_READ(task, self_exec_id);
	sample->labels = 0;
	sample->syscall = 0;
	sample->device = 0;
	sample->operation = 0;
	sample->waker = EVENT_WAKER_NONE_YET;
	bpf_probe_read_kernel(sample->comm, sizeof(sample->comm), &task->comm);
	put_head(&sleeper->kernel.head, EVENT_STACK_KERNEL, id.pid, waits_end_ns);
	put_head(&sleeper->user, EVENT_STACK_USER, id.pid, waits_end_ns);
}

static __always_inline void send_stack_of_sleeper(
	struct task_struct *task, struct event_snapshot_chunk *chunk, __u64 sp, __u64 hash)
{
	enum {
		CHUNKS = 4,
	};
	__u64 address = start_of_snapshot(sp), end = end_of_stack(task, sp, config.snapshot_bytes);
	for (__u32 i = 0; i < CHUNKS && address < end; i++) {
		__u64 bytes =
			EVENT_SNAPSHOT_CHUNK_BYTES - (address & (EVENT_SNAPSHOT_CHUNK_BYTES - 1));
		if (bytes > end - address)
			bytes = end - address;
		asm volatile("" : "+r"(bytes));
		if (bytes > sizeof(chunk->bytes) || bpf_copy_from_user_task(chunk->bytes, bytes,
							    (const void *)address, task, 0))
			return;
		chunk->type = EVENT_SNAPSHOT_CHUNK;
		chunk->nr_bytes = bytes;
		chunk->hash = hash;
		chunk->address = address;
		if (!send(chunk, sizeof(*chunk), BPF_RB_NO_WAKEUP))
			return;
		address += bytes;
	}
}

/* False: there is none, or the ring had no room. */
static __always_inline bool send_user_of_sleeper(
	struct task_struct *task, struct sleeper *sleeper, bool can_copy)
{
	struct event_sample *sample = &sleeper->sample;
	struct event_snapshot *snapshot = &sleeper->snapshot;
	if (!read_saved_registers_of(task, &snapshot->registers))
		return true;
	__u64 hash = mix(mix(mix(first_hash(), sample->tid), sample->time_ns), sample->event) | 1;
	sleeper->user.end = EVENT_END_TABLE_PENDING;
	sleeper->user.has_snapshot = true;
	sleeper->user.hash = hash;
	if (!send_new_stack(&sleeper->user, 0))
		return false;
	sample->user_hash = hash;
	snapshot->type = EVENT_SNAPSHOT;
	snapshot->is_exact = true;
	snapshot->found = UNWIND_FOUND_BY_RULE;
	snapshot->is_shown = false;
	snapshot->is_uncopied = !can_copy;
	snapshot->hash = hash;
	snapshot->code_space = image_space(sample);
	if (!can_copy || bpf_copy_from_user_task(snapshot->code, sizeof(snapshot->code),
				 (const void *)snapshot->registers.ip, task, 0))
		snapshot->code[0] = snapshot->code[1] = 0;
	if (!send(snapshot, sizeof(*snapshot), BPF_RB_NO_WAKEUP))
		return false;
	if (can_copy)
		send_stack_of_sleeper(
			task, &sleeper->chunk, snapshot->registers.reg[UNWIND_SP], snapshot->hash);
	return true;
}

/* Counts the part of a wait. False: it is no sample. */
static __always_inline bool count_part(
	struct event_counters *counted, enum event_wait kind, __u64 ns, bool is_gone)
{
	if (!(config.waits >> kind & 1) || !ns)
		return false;
	count_as(counted, EVENT_COUNTER_EVENTS, ns);
	if (ns < wait_period_ns)
		count_as(counted, EVENT_COUNTER_BELOW, ns);
	else if (is_gone)
		count_as(counted, EVENT_COUNTER_LOST_BUSY, ns);
	return ns >= wait_period_ns && !is_gone;
}

static __always_inline void take_kernel_stack_of_sleeper(
	struct task_struct *task, struct sleeper *sleeper)
{
	finish_kernel_stack(&sleeper->kernel, bpf_get_task_stack(task, sleeper->kernel.address,
						      sizeof(sleeper->kernel.address), 0));
	sleeper->sample.kernel_hash = sleeper->kernel.head.hash;
	sleeper->sample.user_hash = 0;
}

/* False: there is one, and the ring had no room. */
static __always_inline bool send_stacks_of_sleeper(
	struct task_struct *task, struct sleeper *sleeper, bool can_copy)
{
	take_kernel_stack_of_sleeper(task, sleeper);
	return (!sleeper->kernel.head.hash ||
		       send_new_stack(&sleeper->kernel.head, EVENT_MAX_KERNEL_FRAMES)) &&
	       send_user_of_sleeper(task, sleeper, can_copy);
}

static __always_inline void take_sleeper(struct task_struct *task, struct sleeper *sleeper,
	const struct waiting *wait, enum event_wait kind, __u64 ns, bool is_gone, bool can_copy)
{
	struct event_counters *counted = counters_of(EVENT_SOURCE_WAIT);
	struct event_sample *sample = &sleeper->sample;
	if (!counted || !count_part(counted, kind, ns, is_gone))
		return;
	begin_sleeper(task, sleeper, kind, ns);
	bool is_sent = send_stacks_of_sleeper(task, sleeper, can_copy);
	if (has_gone_on(task, wait))
		sample->kernel_hash = sample->user_hash = 0;
	is_sent = is_sent && send(sample, sizeof(*sample), BPF_RB_NO_WAKEUP);
	count_as(counted, is_sent ? EVENT_COUNTER_SAMPLES : EVENT_COUNTER_LOST_RING, ns);
}

static __always_inline void take_part_of_wait(struct task_struct *task, struct sleeper *sleeper,
	const struct waiting *wait, struct part_of_wait part, bool can_copy)
{
	__u64 end_ns = waits_end_ns;
	if (!wait || !part.from_ns || part.from_ns >= end_ns)
		return;
	__u64 ready_ns = end_of_blocked(part.from_ns, part.ready_ns, end_ns);
	take_sleeper(task, sleeper, wait, EVENT_WAIT_OFF_CPU, ready_ns - part.from_ns, part.is_gone,
		can_copy);
	take_sleeper(task, sleeper, wait, EVENT_WAIT_RUN_QUEUE, end_ns - ready_ns, part.is_gone,
		can_copy);
}

/* One that had its CPU all the time has no entry, and nothing that the kernel's would be the
 * difference to. */
static __always_inline void send_thread_times(
	struct task_struct *task, struct sleeper *sleeper, const struct waiting *wait)
{
	struct event_thread_times *times = &sleeper->times;
	struct waiting running = {.since_ns = takes_waits_since_ns};
	if (!wait && (!task->on_cpu || !is_waiter(task)))
		return;
	put_thread_times(task, wait ? wait : &running,
		divides_waits ? bpf_ktime_get_ns() : waits_end_ns, times);
	if (!wait)
		__builtin_memset(&times->times.kernel, 0, sizeof(times->times.kernel));
	if (times->tid && !send(times, sizeof(*times), BPF_RB_NO_WAKEUP))
		COUNT(thread_times_lost);
}

/* Writes a byte for each task, so that the recorder can stop among them and empty the ring. */
static __always_inline void visit_task(struct bpf_iter__task *ctx, bool can_copy)
{
	static const char byte;
	__u32 zero = 0;
	struct task_struct *task = ctx->task;
	struct sleeper *sleeper = bpf_map_lookup_elem(&sleepers, &zero);
	if (!task || !sleeper)
		return;
	struct waiting *wait = waiting_of(task);
	take_part_of_wait(task, sleeper, wait, part_of_wait(wait), can_copy);
	send_thread_times(task, sleeper, wait);
	if (wait)
		bpf_seq_write(ctx->meta->seq, &byte, sizeof(byte));
}

SEC("iter.s/task")
int on_sleeper(struct bpf_iter__task *ctx)
{
	visit_task(ctx, true);
	return 0;
}

SEC("iter/task")
int on_sleeper_without_copy(struct bpf_iter__task *ctx)
{
	visit_task(ctx, false);
	return 0;
}

#endif
