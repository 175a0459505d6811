/*
 * Waits: the time that tasks are off their CPUs, blocked ("offcpu") and then in the run queue
 * ("runq"). A wait is measured when it ends, and sampled by the task itself as soon as it runs
 * again: then the stack is the one with which it waited.
 *
 * Which waits are sampled goes by time, not by chance of a switch. One of config.wait_period_ns and
 * more is, and stands for itself. Of the shorter ones, each CPU has a random point in every period
 * of their summed time: the one that passes the point stands for the period. So the sum is right on
 * average, and no periodic work can stay between the points. All others are counted as below.
 *
 * The order at a switch, all of it on one CPU and not interrupted by another switch: on_switch()
 * (in the task that goes; the run queue is locked), the switch, on_wait() in the task that comes,
 * with nothing locked (tracepoint sched_exit_tp, Linux 6.16).
 */
#ifndef EBPROF_SOURCE_WAIT_BPF_H
#define EBPROF_SOURCE_WAIT_BPF_H

#include "bpf/take_sample.bpf.h"

#include <bpf/bpf_tracing.h>

/* False until the recorder lets waits count, and again when it has done with them. */
volatile bool takes_waits;

/* When that was: what sleeps then has no entry in `waiting`. */
volatile __u64 takes_waits_since_ns;

/* Waits of targets that were not followed because `waiting` was full. */
__u64 waiting_full;

enum {
	TASK_STATES = 0xff, /* the bits that say why a task sleeps, or that it has ended */
	TASK_DEAD = 0x80,
};

/* A task that is off its CPU. */
struct waiting {
	__u64 off_ns;   /* since then; 0: it runs */
	__u64 ready_ns; /* it could run since then; 0: it is blocked still */
	__u64 is_new;   /* it has never run, see end_waiting() */
};

/* By the kernel's own thread ids. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct waiting);
} waiting SEC(".maps");

/* Of a CPU: what selects of its short waits, and what was selected of the task that comes. */
struct wait_lane {
	struct wait_selector {
		__u64 passed_ns; /* of the period at hand */
		__u64 point_ns;  /* in it */
	} selectors[EVENT_WAITS];
	__u32 tid; /* the task that comes */
	struct selected_wait {
		__u64 value_ns; /* what it stands for; 0: it is not selected */
		__u64 measured_ns;
	} selected[EVENT_WAITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_lane);
} wait_lanes SEC(".maps");

/* The kernel's own threads wait for work, which says nothing of the machine. */
static __always_inline bool is_waiter(struct task_struct *task)
{
	return !(BPF_CORE_READ(task, flags) & PF_KTHREAD) && is_target_task(task);
}

/* What the wait stands for; 0: it is below. */
static __always_inline __u64 select_wait(struct wait_selector *selector, __u64 ns)
{
	__u64 period = config.wait_period_ns, value = 0;
	if (ns >= period)
		return ns;
	__u64 until = selector->passed_ns + ns;
	if (selector->passed_ns <= selector->point_ns && selector->point_ns < until)
		value = period;
	if (until >= period) {
		until -= period;
		selector->point_ns = bpf_get_prandom_u32() % period;
		if (selector->point_ns < until)
			value += period;
	}
	selector->passed_ns = until;
	return value;
}

/* A wait that is over, of a task that is about to run on this CPU. */
static __always_inline void measure_wait(struct event_counters *counted, struct wait_lane *lane,
	enum event_wait kind, __u64 ns, bool may_select)
{
	if (!(config.waits >> kind & 1) || !ns)
		return;
	__u64 value = may_select ? select_wait(&lane->selectors[kind], ns) : 0;
	count_as(counted, EVENT_COUNTER_EVENTS, ns);
	if (!value)
		count_as(counted, EVENT_COUNTER_BELOW, ns);
	lane->selected[kind].value_ns = value;
	lane->selected[kind].measured_ns = ns;
}

static __always_inline void forget_waiting(struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	bpf_map_delete_elem(&waiting, &tid);
}

/* A task goes, or is new. */
static __noinline int begin_waiting(struct task_struct *task, bool is_blocked, bool is_new)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	if (!tid || !is_waiter(task))
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	struct waiting *found = bpf_map_lookup_elem(&waiting, &tid);
	struct waiting wait = {now_ns, is_blocked ? 0 : now_ns, is_new};
	if (found)
		*found = wait;
	else if (bpf_map_update_elem(&waiting, &tid, &wait, BPF_ANY))
		COUNT(waiting_full);
	return 0;
}

/* Of a task that was off its CPU before waits counted: it could run, or on_waking() was there. */
static __noinline struct waiting *start_waiting(__u32 tid, __u64 ready_ns)
{
	struct waiting wait = {takes_waits_since_ns, ready_ns, false};
	if (bpf_map_update_elem(&waiting, &tid, &wait, BPF_NOEXIST))
		COUNT(waiting_full);
	return bpf_map_lookup_elem(&waiting, &tid);
}

/*
 * A task comes. One whose end of sleep was not seen was blocked up to now. One that is new does not
 * come by way of on_wait(), and has nothing on its stack: its wait is below.
 */
static __noinline int end_waiting(struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid), zero = 0;
	struct waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
	struct wait_lane *lane = bpf_map_lookup_elem(&wait_lanes, &zero);
	struct event_counters *counted = counters_of(EVENT_SOURCE_WAIT);
	if (!lane || !counted)
		return 0;
	__u64 now_ns = bpf_ktime_get_ns();
	if (!wait && tid && is_waiter(task))
		wait = start_waiting(tid, takes_waits_since_ns);
	if (!wait || !wait->off_ns)
		return 0;
	__u64 ready_ns = wait->ready_ns ? wait->ready_ns : now_ns;
	lane->tid = tid;
	measure_wait(counted, lane, EVENT_WAIT_OFF_CPU, ready_ns - wait->off_ns, !wait->is_new);
	measure_wait(counted, lane, EVENT_WAIT_RUN_QUEUE, now_ns - ready_ns, !wait->is_new);
	wait->off_ns = 0;
	return 0;
}

/* The state is that of the task when it chose to go: it may have been woken since (Linux 5.18). */
SEC("raw_tp")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	unsigned int prev_state)
{
	if (!takes_waits || is_over())
		return 0;
	if (prev_state & TASK_DEAD)
		forget_waiting(prev);
	else
		begin_waiting(prev, !preempt && prev_state & TASK_STATES, false);
	end_waiting(next);
	return 0;
}

/* In the task that wakes the other, or in an interrupt. */
SEC("raw_tp")
int BPF_PROG(on_waking, struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid);
	if (!takes_waits)
		return 0;
	struct waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
	if (wait && wait->off_ns && !wait->ready_ns)
		wait->ready_ns = bpf_ktime_get_ns();
	else if (!wait && tid && is_waiter(task) && !BPF_CORE_READ(task, on_cpu))
		start_waiting(tid, bpf_ktime_get_ns());
	return 0;
}

/* A new task has never run: it is in the run queue from now on. */
SEC("raw_tp")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return takes_waits ? begin_waiting(task, false, true) : 0;
}

/*
 * How many frames stand on those that say what the task waits for: our own, the tracepoint's, and
 * that of __schedule(). They are the same for all waits.
 */
static __u32 own_frames;

enum {
	MAX_OWN_FRAMES = 15,
};

static __always_inline bool returns_into(const struct event_function *function, __u64 address)
{
	return address > function->start && address <= function->end;
}

static __noinline void count_own_frames(const struct kernel_stack *stack)
{
	struct event_function switches = config.switches;
	for (__u32 i = 1; i <= MAX_OWN_FRAMES; i++) {
		if (returns_into(&switches, stack->address[i])) {
			own_frames = i + 1;
			return;
		}
	}
}

/* Most tasks come to __schedule() by schedule(), which all of them have in common, too. */
static __always_inline void take_kernel_stack_of_wait(void *ctx, struct kernel_stack *stack)
{
	struct event_function schedules = config.schedules;
	const __u32 room = sizeof(stack->address);
	long bytes = bpf_get_stack(ctx, stack->address, room, own_frames);
	if (bytes > 0 && !own_frames && config.switches.start) {
		count_own_frames(stack);
		bytes = bpf_get_stack(ctx, stack->address, room, own_frames);
	}
	if (bytes > 0 && own_frames && returns_into(&schedules, stack->address[0]))
		bytes = bpf_get_stack(ctx, stack->address, room, own_frames + 1);
	finish_kernel_stack(stack, bytes);
}

/* What was selected of the two waits, first the longer one; as begin_tick_walk(). */
static __noinline int begin_wait_walk(
	struct bpf_raw_tracepoint_args *ctx, struct scratch *scratch, struct wait_lane *lane)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct selected_wait *blocked = &lane->selected[EVENT_WAIT_OFF_CPU],
			     *ready = &lane->selected[EVENT_WAIT_RUN_QUEUE];
	__u64 event = blocked->value_ns ? EVENT_WAIT_OFF_CPU : EVENT_WAIT_RUN_QUEUE;
	struct selected_wait *first = blocked->value_ns ? blocked : ready;
	take_lane(scratch, EVENT_LANE_SWITCH);
	begin_sample(task, scratch, EVENT_SOURCE_WAIT, event, first->value_ns);
	scratch->sample.measured = first->measured_ns;
	first->value_ns = 0;
	scratch->second_event = EVENT_WAIT_RUN_QUEUE;
	scratch->second_value = ready->value_ns;
	scratch->second_measured = ready->measured_ns;
	scratch->sample.is_followed = ready->value_ns != 0;
	ready->value_ns = 0;
	take_kernel_stack_of_wait(ctx, &scratch->kernel);
	bool has_user_stack = begin_user_stack(task, scratch);
	if (has_user_stack && read_saved_registers(task, &scratch->walk.regs) &&
		begin_frames(scratch))
		return NEXT_WALKS;
	if (has_user_stack)
		return NEXT_ENDS;
	end_sample(scratch, false);
	return NEXT_NONE;
}

static __always_inline int begin_wait(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	__u32 zero = 0;
	struct wait_lane *lane = bpf_map_lookup_elem(&wait_lanes, &zero);
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_SWITCH);
	if (!lane || !scratch || (!lane->selected[0].value_ns && !lane->selected[1].value_ns) ||
		lane->tid != (__u32)bpf_get_current_pid_tgid())
		return NEXT_NONE;
	return begin_wait_walk(ctx, scratch, lane);
}

SAMPLING_PROGRAMS("raw_tp", wait, struct bpf_raw_tracepoint_args, begin_wait)

#endif
