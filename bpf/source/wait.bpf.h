/*
 * Waits: the time that tasks are off their CPUs, blocked ("offcpu") and then in the run queue
 * ("runq"). A wait is measured when it ends, and sampled by the task itself as soon as it runs
 * again: then the stack is the one with which it waited.
 *
 * Which waits are sampled goes by time, see time_selector.bpf.h; all others are counted as below.
 * Where that makes too many samples, the recorder lets the periods that begin be longer ones.
 *
 * The order at a switch, all of it on one CPU and not interrupted by another switch: on_switch()
 * (in the task that goes; the run queue is locked), the switch, on_wait() in the task that comes,
 * with nothing locked: at the tracepoint sched_exit_tp (Linux 6.16), or in an interrupt that
 * on_switch() raised for a selected wait, and that comes as soon as the run queue is unlocked.
 */
#ifndef EBPROF_SOURCE_WAIT_BPF_H
#define EBPROF_SOURCE_WAIT_BPF_H

#include "bpf/source/time_selector.bpf.h"
#include "bpf/take_sample.bpf.h"

#include <bpf/bpf_tracing.h>

/* False until the recorder lets waits count, and again when it has done with them. */
volatile bool takes_waits;

/* When that was: what sleeps then has no entry in `waiting`. */
volatile __u64 takes_waits_since_ns;

volatile __u64 wait_period_ns;

/* When waits ended to count, or the file did. */
volatile __u64 waits_end_ns;

/* on_wait() is at the entry of an interrupt, which on_switch() is to raise. */
volatile bool raises_interrupts;

/*
 * An event of perf's on each CPU. A record in its ring, which nobody reads and which is overwritten
 * then, wakes its readers, of which there are none: from an interrupt of this CPU (irq_work).
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, __u32);
} interrupts SEC(".maps");

/* Waits of targets that were not followed because `waiting` was full. */
__u64 waiting_full;

/* Threads whose times the ring had no room for. */
__u64 thread_times_lost;

/* include/linux/sched.h; those that are not there in an older kernel are 0 in it. */
enum {
	TASK_DEAD = 0x80,
	TASK_RTLOCK_WAIT = 0x1000, /* of PREEMPT_RT */
	TASK_FROZEN = 0x8000,
	TASK_SLEEPS = 0xff | TASK_RTLOCK_WAIT | TASK_FROZEN, /* any of them: it cannot run */
};

/* A task that is off its CPU, or was. */
struct waiting {
	__u64 off_ns;   /* since then; 0: it runs */
	__u64 ready_ns; /* it could run since then; 0: it is blocked still */
	__u32 is_new;   /* it has never run, see end_waiting() */
	/* With config.wakers, once it is woken: whether it will be a sample is known by then. */
	__u32 is_decided;
	__u64 value_ns; /* what that stands for; 0: it is below */
	__u64 waker;    /* see struct event_sample */
	/* What there was of the wait up to then is in a file that has ended, see sleeper.bpf.h. */
	__u64 divided_ns;
	__u64 divided_off_ns, divided_ready_ns; /* ... as it was then; 0: it is in the file */
	__u64 seen_ns;                          /* of divided_ns, when the wait was over */
	__u64 gone_on_ns; /* when it ran again behind the end of all: its stack is another one */
	/* Of its time since it is followed; waits that are over: */
	__u64 since_ns, queued_ns, blocked_ns;
	struct event_thread_account before; /* the kernel's own, as it was then */
};

/* By the kernel's own thread ids. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct waiting);
} waiting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_wait_lane);
} wait_lanes SEC(".maps");

/* The kernel's own threads wait for work, which says nothing of the machine. The idle task is one,
 * too. */
static __always_inline bool never_waits(struct task_struct *task)
{
	return task->flags & PF_KTHREAD;
}

static __always_inline bool is_waiter(struct task_struct *task)
{
	if (never_waits(task) || !task->pid)
		return false;
	bool are_all = config.filter == EVENT_FILTER_NONE && !pid_namespace_level;
	return are_all || is_target_task(task);
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	struct task_struct___5_13 *older = (void *)task;
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ(older, state);
}

/*
 * As count_as(), without the processor's locks, which cost more than all else of a wait: whatever
 * counts waits on a CPU is part of a switch there, in which the scheduler has interrupts off. That
 * tracepoints have preemption off does not count: from Linux 7.0 on they have not.
 */
static __always_inline void count_wait(
	struct event_counters *counted, enum event_counter counter, __u64 ns)
{
	counted->of[counter].count++;
	counted->of[counter].sum += ns;
}

/* What the wait stands for; 0: it is below, or of a kind that is not wanted. */
static __always_inline __u64 select_wait(
	struct event_wait_lane *lane, enum event_wait kind, __u64 ns, bool may_select)
{
	if (!(config.waits >> kind & 1) || !ns || !may_select)
		return 0;
	return select_by_time(&lane->selectors[kind], ns, wait_period_ns);
}

/*
 * A wait that is over, of a task that is about to run on this CPU. One that is selected is counted
 * by on_wait(), or here at the CPU's next switch, where that did not come: the rest is the
 * recorder's to count, see record/source/wait.c.
 */
static __always_inline void measure_wait(struct event_counters *counted,
	struct event_wait_lane *lane, enum event_wait kind, __u64 ns, __u64 value_ns)
{
	struct event_selected_wait *selected = &lane->selected[kind];
	if (selected->value_ns) {
		count_wait(counted, EVENT_COUNTER_EVENTS, selected->measured_ns);
		count_wait(counted, EVENT_COUNTER_LOST_BUSY, selected->measured_ns);
		selected->value_ns = 0;
	}
	if (!(config.waits >> kind & 1) || !ns)
		return;
	selected->value_ns = value_ns;
	selected->measured_ns = ns;
	if (selected->value_ns)
		return;
	count_wait(counted, EVENT_COUNTER_EVENTS, ns);
	count_wait(counted, EVENT_COUNTER_BELOW, ns);
}

static __always_inline bool is_selected(const struct event_wait_lane *lane)
{
	return lane->selected[EVENT_WAIT_OFF_CPU].value_ns ||
	       lane->selected[EVENT_WAIT_RUN_QUEUE].value_ns;
}

/* Of a wait in that time: when it was blocked no more. `ready_ns` 0: it is still. */
static __always_inline __u64 end_of_blocked(__u64 from_ns, __u64 ready_ns, __u64 end_ns)
{
	if (!ready_ns || ready_ns > end_ns)
		return end_ns;
	return ready_ns < from_ns ? from_ns : ready_ns;
}

/* What is marked of its last wait, and seen, is lost with it: see sleeper.bpf.h. */
static __noinline void count_lost_mark(const struct waiting *wait)
{
	struct event_counters *counted = counters_of(EVENT_SOURCE_WAIT);
	__u64 from_ns = wait->divided_off_ns, end_ns = waits_end_ns;
	__u64 ready_ns = end_of_blocked(from_ns, wait->divided_ready_ns, end_ns);
	const __u64 parts[EVENT_WAITS] = {ready_ns - from_ns, end_ns - ready_ns};
	if (!counted || !from_ns || wait->seen_ns != wait->divided_ns)
		return;
	for (int kind = 0; kind < EVENT_WAITS; kind++) {
		if (!(config.waits >> kind & 1) || !parts[kind])
			continue;
		count_as(counted, EVENT_COUNTER_EVENTS, parts[kind]);
		count_as(counted, EVENT_COUNTER_LOST_BUSY, parts[kind]);
	}
}

static __always_inline void forget_waiting(struct task_struct *task)
{
	__u32 tid = task->pid;
	const struct waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
	if (wait)
		count_lost_mark(wait);
	bpf_map_delete_elem(&waiting, &tid);
}

/* What the kernel has of a task's time. It counts run queues where it was built to. */
static __always_inline void read_thread_account(
	struct task_struct *task, struct event_thread_account *account)
{
	account->on_ns = task->se.sum_exec_runtime;
	account->queued_ns = 0;
	if (bpf_core_field_exists(task->sched_info))
		account->queued_ns = task->sched_info.run_delay;
	account->voluntary = task->nvcsw;
	account->involuntary = task->nivcsw;
}

/* A task is followed from now on, where it has been off its CPU since then. */
static __always_inline void follow_task(struct task_struct *task, struct waiting *wait)
{
	__u32 tid = task->pid;
	wait->since_ns = wait->off_ns;
	read_thread_account(task, &wait->before);
	if (bpf_map_update_elem(&waiting, &tid, wait, BPF_ANY))
		COUNT(waiting_full);
}

/* A task goes, or is new. What has an entry is a waiter. */
static __always_inline void begin_waiting(
	struct task_struct *task, __u64 now_ns, bool is_blocked, bool is_new)
{
	__u32 tid = task->pid;
	if (never_waits(task))
		return;
	struct waiting *found = bpf_map_lookup_elem(&waiting, &tid);
	if (found && !is_new) {
		found->off_ns = now_ns;
		found->ready_ns = is_blocked ? 0 : now_ns;
		found->is_new = found->is_decided = false;
	} else if (is_waiter(task)) {
		struct waiting wait = {
			.off_ns = now_ns, .ready_ns = is_blocked ? 0 : now_ns, .is_new = is_new};
		follow_task(task, &wait);
	}
}

/* Of a task that was off its CPU before waits counted: it could run, or on_waking() was there. */
static __always_inline struct waiting *start_waiting(struct task_struct *task, __u64 ready_ns)
{
	__u32 tid = task->pid;
	struct waiting wait = {.off_ns = takes_waits_since_ns, .ready_ns = ready_ns};
	follow_task(task, &wait);
	return bpf_map_lookup_elem(&waiting, &tid);
}

/* From when on the wait counts in this file: what was before is in those that ended. */
static __always_inline __u64 start_of_wait(const struct waiting *wait)
{
	return wait->divided_ns > wait->off_ns ? wait->divided_ns : wait->off_ns;
}

static __always_inline void raise_interrupt(void *ctx)
{
	__u64 nothing = 0;
	bpf_perf_event_output(ctx, &interrupts, BPF_F_CURRENT_CPU, &nothing, sizeof(nothing));
}

/*
 * A task comes. One whose end of sleep was not seen was blocked up to now. One that is new does not
 * come by way of on_wait(), and has nothing on its stack: its wait is below.
 */
static __always_inline void end_waiting(void *ctx, struct task_struct *task, __u64 now_ns)
{
	__u32 tid = task->pid, zero = 0;
	if (never_waits(task))
		return;
	struct waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
	if (!wait && is_waiter(task))
		wait = start_waiting(task, takes_waits_since_ns);
	if (!wait || !wait->off_ns)
		return;
	struct event_wait_lane *lane = bpf_map_lookup_elem(&wait_lanes, &zero);
	struct event_counters *counted = counters_of(EVENT_SOURCE_WAIT);
	if (!lane || !counted)
		return;
	__u64 off_ns = wait->off_ns, from_ns = start_of_wait(wait);
	__u64 ready_ns = wait->ready_ns ? wait->ready_ns : now_ns;
	lane->tid = tid;
	if (from_ns != off_ns)
		wait->seen_ns = from_ns;
	wait->off_ns = 0;
	asm volatile("" ::: "memory"); /* see put_thread_times() */
	wait->blocked_ns += ready_ns - off_ns;
	wait->queued_ns += now_ns - ready_ns;
	if (ready_ns < from_ns)
		ready_ns = from_ns;
	__u64 blocked_ns = ready_ns - from_ns, queued_ns = now_ns - ready_ns;
	lane->waker = wait->is_decided ? wait->waker : 0;
	measure_wait(counted, lane, EVENT_WAIT_OFF_CPU, blocked_ns,
		wait->is_decided
			? wait->value_ns
			: select_wait(lane, EVENT_WAIT_OFF_CPU, blocked_ns, !wait->is_new));
	measure_wait(counted, lane, EVENT_WAIT_RUN_QUEUE, queued_ns,
		select_wait(lane, EVENT_WAIT_RUN_QUEUE, queued_ns, !wait->is_new));
	if (raises_interrupts && is_selected(lane))
		raise_interrupt(ctx);
}

/* Waits count no more, but the stacks of those that are not over are still to be looked at. */
static __always_inline void note_going_on(struct task_struct *task, __u64 now_ns)
{
	__u32 tid = task->pid;
	struct waiting *wait = never_waits(task) ? 0 : bpf_map_lookup_elem(&waiting, &tid);
	if (wait)
		wait->gone_on_ns = now_ns;
}

/*
 * The state is read here, not taken from the tracepoint, which has it since Linux 5.18 only, as it
 * was when the task chose to go: one that another CPU has woken since is in the run queue.
 */
SEC("tp_btf/sched_switch")
int on_switch(unsigned long long *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u64 now_ns = bpf_ktime_get_ns();
	if (!takes_waits || (until_ns && now_ns >= until_ns)) {
		note_going_on(next, now_ns);
		return 0;
	}
	__u32 state = state_of(prev);
	if (state & TASK_DEAD)
		forget_waiting(prev);
	else
		begin_waiting(prev, now_ns, !preempt && state & TASK_SLEEPS, false);
	end_waiting(ctx, next, now_ns);
	return 0;
}

/* In the task that wakes the other, or in an interrupt. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	__u32 tid = task->pid;
	if (!takes_waits || never_waits(task))
		return 0;
	struct waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
	if (wait && wait->off_ns && !wait->ready_ns)
		wait->ready_ns = bpf_ktime_get_ns();
	else if (!wait && is_waiter(task) && !task->on_cpu)
		start_waiting(task, bpf_ktime_get_ns());
	return 0;
}

/* How the task spent its time up to now. */
static __always_inline void put_thread_times(struct task_struct *task, const struct waiting *wait,
	__u64 now_ns, struct event_thread_times *ret)
{
	struct task_id id = identify_task(task);
	struct event_times *times = &ret->times;
	__u64 off_ns = 0, ready_ns = 0;
	ret->type = EVENT_THREAD_TIMES;
	ret->pid = id.pid;
	ret->tid = id.tid;
	ret->exec_id = BPF_CORE_READ(task, self_exec_id);
	ret->time_ns = now_ns;
	ret->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_probe_read_kernel(ret->comm, sizeof(ret->comm), &task->comm);
	times->life_ns = now_ns - wait->since_ns;
	/* A wait may be over meanwhile: that is written first, and then its time. */
	for (int i = 0; i < 2; i++) {
		off_ns = *(volatile const __u64 *)&wait->off_ns;
		ready_ns = wait->ready_ns;
		times->queued_ns = *(volatile const __u64 *)&wait->queued_ns;
		times->blocked_ns = *(volatile const __u64 *)&wait->blocked_ns;
		if (off_ns == *(volatile const __u64 *)&wait->off_ns)
			break;
	}
	if (off_ns && off_ns < now_ns) {
		ready_ns = end_of_blocked(off_ns, ready_ns, now_ns);
		times->blocked_ns += ready_ns - off_ns;
		times->queued_ns += now_ns - ready_ns;
	}
	read_thread_account(task, &times->kernel);
	times->kernel.on_ns -= wait->before.on_ns;
	times->kernel.queued_ns -= wait->before.queued_ns;
	times->kernel.voluntary -= wait->before.voluntary;
	times->kernel.involuntary -= wait->before.involuntary;
}

/* Of a thread that ends. What it does from here on is not counted. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_end, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct event_thread_times times = {};
	struct waiting *wait = takes_waits ? bpf_map_lookup_elem(&waiting, &tid) : 0;
	__u64 now_ns = bpf_ktime_get_ns();
	if (!wait || !wait->since_ns || (until_ns && now_ns >= until_ns))
		return 0;
	times.has_ended = true;
	put_thread_times(task, wait, now_ns, &times);
	if (times.tid && !send(&times, sizeof(times), wakeup_flag()))
		COUNT(thread_times_lost);
	return 0;
}

/* A new task has never run: it is in the run queue from now on. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	if (takes_waits)
		begin_waiting(task, bpf_ktime_get_ns(), false, true);
	return 0;
}

/*
 * How many frames stand on those that say what the task waits for: our own, the tracepoint's, and
 * that of __schedule(). They are the same for all waits, but where an interrupt may come anywhere
 * behind the switch. 0: not known.
 */
static __u32 own_frames;

enum {
	MAX_OWN_FRAMES = 15,
};

static __always_inline bool returns_into(const struct event_function *function, __u64 address)
{
	return address > function->start && address <= function->end;
}

/* Up to that of a function, which is the last of them; 0: it is not there. */
static __noinline __u32 count_own_frames(
	const struct kernel_stack *stack, const struct event_function *last)
{
	struct event_function function = *last;
	for (__u32 i = 1; i <= MAX_OWN_FRAMES; i++)
		if (returns_into(&function, stack->address[i]))
			return i + 1;
	return 0;
}

/* Most tasks come to __schedule() by schedule(), which all of them have in common, too. */
static __always_inline void take_kernel_stack_of_wait(void *ctx, struct kernel_stack *stack)
{
	struct event_function schedules = config.schedules;
	const __u32 room = sizeof(stack->address);
	__u32 own = raises_interrupts ? 0 : own_frames;
	long bytes = bpf_get_stack(ctx, stack->address, room, own);
	if (bytes > 0 && !own && config.switches.start) {
		struct event_function switches = config.switches;
		own_frames = own = count_own_frames(stack, &switches);
		bytes = bpf_get_stack(ctx, stack->address, room, own & 0xf);
	}
	if (bytes > 0 && own && returns_into(&schedules, stack->address[0]))
		bytes = bpf_get_stack(ctx, stack->address, room, (own + 1) & 0x1f);
	finish_kernel_stack(stack, bytes);
}

/* What was selected of the two waits, first the longer one; as begin_tick_walk(). */
static __noinline int begin_wait_walk(
	struct bpf_raw_tracepoint_args *ctx, struct scratch *scratch, struct event_wait_lane *lane)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct event_counters *counted = counters_of(EVENT_SOURCE_WAIT);
	struct event_selected_wait *blocked = &lane->selected[EVENT_WAIT_OFF_CPU],
				   *ready = &lane->selected[EVENT_WAIT_RUN_QUEUE];
	__u64 event = blocked->value_ns ? EVENT_WAIT_OFF_CPU : EVENT_WAIT_RUN_QUEUE;
	struct event_selected_wait *first = blocked->value_ns ? blocked : ready;
	take_lane(scratch, EVENT_LANE_SWITCH);
	begin_sample(task, scratch, EVENT_SOURCE_WAIT, event, first->value_ns);
	scratch->sample.measured = first->measured_ns;
	scratch->sample.waker = event == EVENT_WAIT_OFF_CPU ? lane->waker : 0;
	first->value_ns = 0;
	scratch->second_event = EVENT_WAIT_RUN_QUEUE;
	scratch->second_value = ready->value_ns;
	scratch->second_measured = ready->measured_ns;
	scratch->sample.is_followed = ready->value_ns != 0;
	if (counted)
		count_as(counted, EVENT_COUNTER_EVENTS, first->measured_ns);
	if (counted && ready->value_ns)
		count_as(counted, EVENT_COUNTER_EVENTS, ready->measured_ns);
	ready->value_ns = 0;
	take_kernel_stack_of_wait(ctx, &scratch->kernel);
	return begin_walk_from_kernel(task, scratch);
}

/* Of nearly all switches nothing was selected: that comes first. */
static __always_inline int begin_wait(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	__u32 zero = 0;
	struct event_wait_lane *lane = bpf_map_lookup_elem(&wait_lanes, &zero);
	if (!lane || !is_selected(lane) || lane->tid != (__u32)bpf_get_current_pid_tgid())
		return NEXT_NONE;
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_SWITCH);
	return scratch ? begin_wait_walk(ctx, scratch, lane) : NEXT_NONE;
}

SAMPLING_PROGRAMS("raw_tp", wait, struct bpf_raw_tracepoint_args, begin_wait)

#endif
