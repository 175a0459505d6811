/*
 * The sampler. On every tick of a CPU's timer, and on every hit of a probe: account for it, take
 * the stacks (of a tick the kernel's and the user's, of a hit the user's), send a stack the first
 * time it is seen and then, always, a small sample that names them by hash.
 */
#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/registers.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/shadow_call.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/task_id.bpf.h"
#include "bpf/unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Processes that could not be followed because `targets` was full. */
__u64 targets_full;

/* What the targets forked. Counted without a lock: estimates. */
__u64 processes_forked, threads_forked;

/* Ticks are those of the targets' own timers, and need no filter. */
volatile bool ticks_follow_tasks;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_counters);
} counters SEC(".maps");

/* Whom to sample: tgid or tid -> start time of the task, which tells a reused id apart. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EVENT_MAX_TARGETS);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

static __always_inline void take_kernel_stack(
	struct bpf_perf_event_data *ctx, struct kernel_stack *stack)
{
	if (!is_kernel_address(READ_CONTEXT(REGS_IP(&ctx->regs))))
		return;
	long bytes = bpf_get_stack(ctx, stack->address, sizeof(stack->address), 0);
	if (bytes < (long)sizeof(__u64))
		return;
	__u32 frames = (__u64)bytes / sizeof(__u64);
	__u64 hash = first_hash();
	for (__u32 i = 0; i < EVENT_MAX_KERNEL_FRAMES && i < frames; i++)
		hash = mix(hash, stack->address[i]);
	stack->head.nr_frames = frames;
	stack->head.hash = hash | 1; /* 0 means none */
}

static __always_inline void put_head(
	struct event_stack *head, enum event_stack_kind kind, __u32 pid, __u64 time_ns)
{
	head->type = EVENT_STACK;
	head->kind = kind;
	head->end = EVENT_END_COMPLETE;
	head->has_snapshot = false;
	head->pid = pid;
	head->nr_frames = 0;
	head->hash = 0;
	head->time_ns = time_ns;
}

/* False: there is no user stack. Kernel threads, and tasks whose memory is torn down already. */
static __always_inline bool begin_user_stack(struct task_struct *task, struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD || !mm)
		return false;
	identify_space(
		&walk->space, mm, scratch->sample.start_ns, BPF_CORE_READ(task, self_exec_id));
	walk->mapping.start = walk->mapping.end = 0;
	walk->window.address = 0;
	begin_runtime_walk(&walk->runtime);
	walk->hash = first_hash();
	walk->is_exact = true;
	walk->guess = EVENT_END_COMPLETE;
	walk->end = EVENT_END_NO_REGISTERS;
	return true;
}

static __always_inline void begin_sample(
	struct task_struct *task, struct scratch *scratch, __u64 probe)
{
	struct event_sample *sample = &scratch->sample;
	struct task_id id = identify_task(task);
	sample->type = EVENT_SAMPLE;
	sample->cpu = bpf_get_smp_processor_id();
	sample->probe = probe;
	sample->pid = id.pid;
	sample->tid = id.tid;
	sample->time_ns = bpf_ktime_get_ns();
	sample->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	sample->exec_id = BPF_CORE_READ(task, self_exec_id);
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	put_head(&scratch->kernel.head, EVENT_STACK_KERNEL, sample->pid, sample->time_ns);
	put_head(&scratch->user.head, EVENT_STACK_USER, sample->pid, sample->time_ns);
}

/* False when the ring had no room for all of it. */
static __always_inline bool send_sample(struct scratch *scratch, bool has_user_stack)
{
	struct event_sample *sample = &scratch->sample;
	if (scratch->kernel.head.hash &&
		!send_new_stack(&scratch->kernel.head, EVENT_MAX_KERNEL_FRAMES))
		return false;
	if (has_user_stack && !send_user_stack(scratch))
		return false;
	sample->kernel_hash = scratch->kernel.head.hash;
	sample->user_hash = scratch->user.head.hash;
	return send(sample, sizeof(*sample), wakeup_flag());
}

/* For comparisons: the same tick, left to the report from the leaf on. */
static __always_inline void send_again(struct scratch *scratch)
{
	struct event_sample *sample = &scratch->sample;
	restart_at_leaf(scratch);
	scratch->user.head.end = EVENT_END_UNSUPPORTED;
	if (!send_with_snapshot(scratch))
		return;
	sample->type = EVENT_SAMPLE_AGAIN;
	sample->user_hash = scratch->user.head.hash;
	send(sample, sizeof(*sample), wakeup_flag());
}

static __noinline int send_tick(struct scratch *scratch, bool has_user_stack)
{
	__u32 zero = 0;
	struct event_counters *count = bpf_map_lookup_elem(&counters, &zero);
	if (!count)
		return 0;
	if (!send_sample(scratch, has_user_stack)) {
		count->lost_ring++;
		return 0;
	}
	count->samples++;
	bool has_leaf = scratch->sample.user_hash && scratch->walk.end != EVENT_END_NO_REGISTERS;
	if (config.call_graph == EVENT_CALL_GRAPH_BOTH && has_leaf)
		send_again(scratch);
	return 0;
}

static __always_inline void take_lane(struct scratch *scratch, enum lane lane)
{
	scratch->lane = lane;
	scratch->is_busy = true;
}

static __always_inline void leave_lane(struct scratch *scratch)
{
	asm volatile("" ::: "memory");
	scratch->is_busy = false;
}

static __always_inline void end_tick(struct scratch *scratch, bool has_user_stack)
{
	send_tick(scratch, has_user_stack);
	leave_lane(scratch);
}

/*
 * The recorder's child waits to become the command, and execs. A task counts its execs on from
 * what its parent had when it was forked (Linux 5.6.3, begin_new_exec() and copy_process()).
 */
static __always_inline bool is_before_exec(struct task_id id)
{
	if (!config.command_pid || id.pid != config.command_pid)
		return false;
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	return BPF_CORE_READ(task, self_exec_id) == BPF_CORE_READ(task, parent_exec_id);
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

enum {
	MAX_SWITCH_RATE = 10000000,
};

/* On average since the task began. What a timer of its own costs it grows with this. */
static __always_inline __u64 switch_rate(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 runtime_us = BPF_CORE_READ(task, se.sum_exec_runtime) / 1000;
	__u64 switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	__u64 rate = runtime_us ? switches * 1000000 / runtime_us : 0;
	return rate < MAX_SWITCH_RATE ? rate : MAX_SWITCH_RATE;
}

static __always_inline bool is_wanted_tick(struct event_counters *count)
{
	if (!ticks_follow_tasks)
		return is_target();
	count->task_ticks++;
	count->switch_rates += switch_rate();
	return !is_before_exec(identify_current());
}

/* When sampling ends, CLOCK_MONOTONIC; 0: when the recorder says so. It may be late. */
volatile __u64 until_ns;

static __always_inline bool is_over(void)
{
	return until_ns && bpf_ktime_get_ns() >= until_ns;
}

/* What to do with a tick, accounted for. NULL: nothing. */
static __noinline struct scratch *begin_tick(void)
{
	__u32 zero = 0;
	struct event_counters *count = bpf_map_lookup_elem(&counters, &zero);
	struct scratch *scratch = scratch_of_lane(LANE_TICKS);
	if (!count || !scratch)
		return 0;
	if (is_over()) {
		count->late++;
		return 0;
	}
	count->ticks++;
	if (!(__u32)bpf_get_current_pid_tgid())
		count->idle++;
	else if (!is_wanted_tick(count))
		count->filtered++;
	else
		return scratch;
	return 0;
}

/* With the registers there: whether there is a stack to walk now. */
static __always_inline bool begin_frames(struct scratch *scratch)
{
	scratch->leaf = scratch->walk.regs;
	if (config.call_graph != EVENT_CALL_GRAPH_DWARF)
		return true;
	scratch->walk.end = EVENT_END_UNSUPPORTED; /* all of it is the report's */
	return false;
}

/* True when there is a user stack to walk. */
static __noinline bool begin_walk(struct bpf_perf_event_data *ctx, struct scratch *scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	take_lane(scratch, LANE_TICKS);
	begin_sample(task, scratch, 0);
	take_kernel_stack(ctx, &scratch->kernel);
	bool has_user_stack = begin_user_stack(task, scratch);
	if (has_user_stack && read_user_registers(ctx, task, &scratch->walk.regs) &&
		begin_frames(scratch))
		return true;
	end_tick(scratch, has_user_stack);
	return false;
}

enum {
	MAX_STEPS = 2 * EVENT_MAX_USER_FRAMES, /* to come to script frames is a step as well */
};

static long on_frame(__u32 index, void *context)
{
	return unwind_frame() != 0;
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct scratch *scratch = begin_tick();
	if (!scratch || !begin_walk(ctx, scratch))
		return 0;
	bpf_loop(MAX_STEPS, on_frame, 0, 0);
	end_tick(scratch, true);
	return 0;
}

/*
 * The same where there is no bpf_loop (before Linux 5.17): a program walks some
 * frames and calls itself for more, as often as the kernel lets it (33 times).
 */
enum {
	FRAMES_A_CALL = 32,
};

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} continuations SEC(".maps");

/* False: there are more frames. */
static __always_inline bool walk_some(void)
{
	bool is_over = false;
	for (int i = 0; i < FRAMES_A_CALL && !is_over; i++)
		is_over = unwind_frame();
	return is_over;
}

SEC("perf_event")
int continue_tick(struct bpf_perf_event_data *ctx)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	if (!walk_some())
		bpf_tail_call(ctx, &continuations, 0);
	end_tick(scratch, true);
	return 0;
}

SEC("perf_event")
int on_tick_without_loop(struct bpf_perf_event_data *ctx)
{
	struct scratch *scratch = begin_tick();
	if (!scratch || !begin_walk(ctx, scratch))
		return 0;
	bpf_tail_call(ctx, &continuations, 0);
	end_tick(scratch, true);
	return 0;
}

/* ---- hits of probes ---- */

/* False until the recorder lets hits count, and again when it has done with them. */
volatile bool takes_hits;

static __noinline struct event_counters *count_hit(void)
{
	__u32 zero = 0;
	struct event_counters *count = bpf_map_lookup_elem(&counters, &zero);
	if (!takes_hits || is_over() || !count)
		return 0;
	COUNT(count->hits);
	if (is_target())
		return count;
	COUNT(count->hits_filtered);
	return 0;
}

static __noinline int end_hit(struct scratch *scratch, bool has_user_stack)
{
	__u32 zero = 0;
	struct event_counters *count = bpf_map_lookup_elem(&counters, &zero);
	bool is_sent = send_sample(scratch, has_user_stack);
	if (count && is_sent)
		COUNT(count->hit_samples);
	else if (count)
		COUNT(count->hits_lost_ring);
	leave_lane(scratch);
	return 0;
}

/* Which probe: the recorder attached it with its number, and before Linux 5.15 there is but one. */
static __always_inline __u64 probe_of(struct pt_regs *ctx)
{
	return KERNEL_HAS_HELPER(get_attach_cookie) ? bpf_get_attach_cookie(ctx) : 1;
}

/* As begin_walk(). */
static __noinline bool begin_hit_walk(struct pt_regs *ctx, struct scratch *scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	take_lane(scratch, LANE_HITS);
	begin_sample(task, scratch, probe_of(ctx));
	bool has_user_stack = begin_user_stack(task, scratch);
	read_hit_registers(ctx, &scratch->walk.regs);
	if (has_user_stack && begin_frames(scratch))
		return true;
	end_hit(scratch, has_user_stack);
	return false;
}

SEC("uprobe/hit")
int on_hit(struct pt_regs *ctx)
{
	struct event_counters *count = count_hit();
	struct scratch *scratch = scratch_of_lane(LANE_HITS);
	if (!count || !scratch)
		return 0;
	if (__sync_val_compare_and_swap(&scratch->is_busy, false, true)) {
		COUNT(count->hits_lost_busy);
		return 0;
	}
	if (!begin_hit_walk(ctx, scratch))
		return 0;
	bpf_loop(MAX_STEPS, on_frame, 0, 0);
	end_hit(scratch, true);
	return 0;
}

/*
 * Without bpf_loop. These kernels do not preempt the program, and do not run another one of ours
 * on the CPU meanwhile (trace_call_bpf() of kernel/trace/bpf_trace.c, 5.10 and 5.15), ticks
 * included: the lane is always free, and taking it needs no atomic exchange, which Linux 5.10 does
 * not load.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY); /* of one type of programs only */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} hit_continuations SEC(".maps");

SEC("uprobe/hit")
int continue_hit(struct pt_regs *ctx)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	if (!walk_some())
		bpf_tail_call(ctx, &hit_continuations, 0);
	end_hit(scratch, true);
	return 0;
}

SEC("uprobe/hit")
int on_hit_without_loop(struct pt_regs *ctx)
{
	struct event_counters *count = count_hit();
	struct scratch *scratch = scratch_of_lane(LANE_HITS);
	if (!count || !scratch)
		return 0;
	if (scratch->is_busy) {
		COUNT(count->hits_lost_busy);
		return 0;
	}
	if (!begin_hit_walk(ctx, scratch))
		return 0;
	bpf_tail_call(ctx, &hit_continuations, 0);
	end_hit(scratch, true);
	return 0;
}

/* ---- probes of functions that scripts enter and leave: from Linux 5.15 on ---- */

SEC("uprobe/call")
int on_call(struct pt_regs *ctx)
{
	__u32 number = probe_of(ctx);
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
	else if (++processes_forked % PROCESSES_A_WAKE_UP == 0 && ticks_follow_tasks)
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
