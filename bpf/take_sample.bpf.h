/*
 * How an event of any source becomes a sample: it is counted, its stacks are taken, a stack
 * is sent the first time it is seen and then, always, a small sample that names them by hash.
 *
 * A source has one function that begins: it counts the event (count_event()), takes its lane
 * (take_lane()), fills in the sample and what the walk begins with (begin_sample(),
 * begin_user_stack(), begin_frames()), and returns which program goes on: one that walks the stack,
 * or that which ends the sample; else it has ended the sample (end_sample()), if there is one.
 * SAMPLING_PROGRAMS makes its programs.
 */
#ifndef EBPROF_TAKE_SAMPLE_BPF_H
#define EBPROF_TAKE_SAMPLE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/label/labels.bpf.h"
#include "bpf/registers.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/task_id.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/uprobe_page.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#ifdef __TARGET_ARCH_arm64
#define HAS_WHOLE_PROGRAMS
#endif

/* ---- counting ---- */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_SOURCES);
	__type(key, __u32);
	__type(value, struct event_counters);
} counters SEC(".maps");

/* Never NULL for a source that there is. */
static __always_inline struct event_counters *counters_of(__u32 source)
{
	return bpf_map_lookup_elem(&counters, &source);
}

static __always_inline void count_as(
	struct event_counters *counted, enum event_counter counter, __u64 value)
{
	COUNT(counted->of[counter].count);
	COUNT_MANY(counted->of[counter].sum, value);
}

static __always_inline void count_many_as(
	struct event_counters *counted, enum event_counter counter, __u64 count, __u64 sum)
{
	COUNT_MANY(counted->of[counter].count, count);
	COUNT_MANY(counted->of[counter].sum, sum);
}

/* NULL: sampling is over, and the event is none. */
static __always_inline struct event_counters *count_event(__u32 source, __u64 value)
{
	struct event_counters *counted = counters_of(source);
	if (!counted)
		return 0;
	bool is_late = is_over();
	count_as(counted, is_late ? EVENT_COUNTER_LATE : EVENT_COUNTER_EVENTS, value);
	return is_late ? 0 : counted;
}

/* ---- stacks ---- */

/* With what bpf_get_stack() returned. */
static __always_inline void finish_kernel_stack(struct kernel_stack *stack, long bytes)
{
	if (bytes < (long)sizeof(__u64))
		return;
	__u32 frames = (__u64)bytes / sizeof(__u64);
	__u64 hash = first_hash();
	for (__u32 i = 0; i < EVENT_MAX_KERNEL_FRAMES && i < frames; i++)
		hash = mix(hash, stack->address[i]);
	stack->head.nr_frames = frames;
	stack->head.hash = hash | 1; /* 0 means none */
}

static __always_inline void take_kernel_stack(
	struct bpf_perf_event_data *ctx, struct kernel_stack *stack)
{
	if (!is_kernel_address(READ_CONTEXT(REGS_IP(&ctx->regs))))
		return;
	finish_kernel_stack(stack, bpf_get_stack(ctx, stack->address, sizeof(stack->address), 0));
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
	begin_recent_mappings(scratch);
	walk->window.address = 0;
	find_uprobe_page(walk, task, mm);
	begin_runtime_walk(&walk->runtime);
	walk->hash = first_hash();
	walk->is_exact = true;
	walk->is_shown = false;
	walk->guess = EVENT_END_COMPLETE;
	walk->found = UNWIND_FOUND_BY_RULE;
	walk->again = WALK_GOES_ON;
	walk->asks = false;
	walk->has_builtins = false;
	walk->end = EVENT_END_NO_REGISTERS;
	return true;
}

/* With the registers there: whether there is a stack to walk now. */
static __always_inline bool begin_frames(struct scratch *scratch)
{
	if (is_in_uprobe_page(&scratch->walk))
		leave_uprobe_page();
	scratch->leaf = scratch->walk.regs;
	scratch->is_leaf_exact = scratch->walk.is_exact;
	if (config.call_graph != EVENT_CALL_GRAPH_DWARF)
		return true;
	scratch->walk.end = EVENT_END_UNSUPPORTED; /* all of it is the report's */
	return false;
}

/* ---- samples ---- */

/* What the event is, as its source knows it; the rest is that of the task. */
static __always_inline void begin_sample(struct task_struct *task, struct scratch *scratch,
	enum event_source_number source, __u64 event, __u64 value)
{
	struct event_sample *sample = &scratch->sample;
	struct task_id id = identify_task(task);
	sample->type = EVENT_SAMPLE;
	sample->cpu = bpf_get_smp_processor_id();
	sample->source = source;
	sample->operation = 0;
	sample->event = event;
	sample->is_followed = false;
	sample->counted_by = 0;
	sample->value = sample->measured = value;
	sample->pid = id.pid;
	sample->tid = id.tid;
	sample->time_ns = bpf_ktime_get_ns();
	sample->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	sample->exec_id = BPF_CORE_READ(task, self_exec_id);
	sample->labels = 0;
	sample->syscall = 0;
	sample->device = 0;
	sample->waker = EVENT_WAKER_UNKNOWN;
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	put_head(&scratch->kernel.head, EVENT_STACK_KERNEL, sample->pid, sample->time_ns);
	scratch->nr_frames_before =
		scratch->user.head.pid == sample->pid ? scratch->user.head.nr_frames : 0;
	put_head(&scratch->user.head, EVENT_STACK_USER, sample->pid, sample->time_ns);
	scratch->is_compared = false;
	scratch->nr_members = 0;
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
	/* What is asked for is made while the process lives, and before many more ask for it. */
	bool asks_recorder = has_user_stack && scratch->user.head.has_snapshot &&
			     scratch->walk.end == EVENT_END_TABLE_PENDING;
	return send(sample, sizeof(*sample), asks_recorder ? BPF_RB_FORCE_WAKEUP : wakeup_flag());
}

/* For comparisons: the same event, left to the report from the leaf on. */
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

static __always_inline void count_outcome(
	struct event_counters *counted, const struct scratch *scratch, bool is_sent)
{
	if (counted)
		count_as(counted, is_sent ? EVENT_COUNTER_SAMPLES : EVENT_COUNTER_LOST_RING,
			scratch->sample.measured);
}

/* With the stacks of the sample before, which have been sent, or not. */
static __noinline void send_second_event(
	struct event_counters *counted, struct scratch *scratch, bool are_stacks_sent)
{
	struct event_sample *sample = &scratch->sample;
	sample->event = scratch->second_event;
	sample->is_followed = false;
	sample->waker = EVENT_WAKER_UNKNOWN;
	sample->value = scratch->second_value;
	sample->measured = scratch->second_measured;
	scratch->second_value = 0;
	count_outcome(
		counted, scratch, are_stacks_sent && send(sample, sizeof(*sample), wakeup_flag()));
}

/* Likewise of the counters of its group: each is an event of a source of its own. */
static __noinline void send_members(struct scratch *scratch, bool are_stacks_sent)
{
	struct event_sample *sample = &scratch->sample;
	for (__u32 i = 0; i < EVENT_MAX_COUNTERS; i++) {
		struct event_counters *counted = counters_of(EVENT_SOURCE_COUNTER + i);
		__u64 value = scratch->members[i];
		if (!(config.members >> i & 1) || !value || !counted)
			continue;
		sample->source = EVENT_SOURCE_COUNTER + i;
		sample->is_followed = --scratch->nr_members != 0;
		sample->value = sample->measured = value;
		count_as(counted, EVENT_COUNTER_EVENTS, value);
		count_outcome(counted, scratch,
			are_stacks_sent && send(sample, sizeof(*sample), wakeup_flag()));
	}
}

/*
 * Of the sample, and of the event that has the same stacks, which is sent now. A waker is none, and
 * what has begun none yet.
 */
static __always_inline void count_outcomes(
	struct event_counters *counted, struct scratch *scratch, bool is_sent)
{
	if ((config.wakers || config.has_block_io) && scratch->sample.type != EVENT_SAMPLE)
		return;
	count_outcome(counted, scratch, is_sent);
	if (config.waits && scratch->second_value)
		send_second_event(counted, scratch, is_sent);
	if (config.members && scratch->nr_members)
		send_members(scratch, is_sent);
}

/* ---- calls of allocators ---- */

/* A call that is under way, by the kernel's own number of its thread. */
struct heap_call {
	__u64 sp;                   /* where it was entered: those that it makes itself are below */
	__u64 call;                 /* the probe's number: enum event_heap_call */
	__u64 argument;             /* of posix_memalign(), where it puts the address */
	struct event_sample sample; /* was sent; type 0: the allocation was not chosen */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct heap_call);
} heap_calls SEC(".maps");

/* What it returns is an allocation in use. */
static __noinline void keep_sample_of_call(const struct scratch *scratch)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct heap_call *call = bpf_map_lookup_elem(&heap_calls, &tid);
	if (call)
		call->sample = scratch->sample;
}

/* Sends the sample, counts what became of it, and leaves the lane. */
static __noinline int end_sample(struct scratch *scratch, bool has_user_stack)
{
	struct event_counters *counted = counters_of(scratch->sample.source);
	bool is_sent = send_sample(scratch, has_user_stack);
	count_outcomes(counted, scratch, is_sent);
	if (config.has_heap && is_sent && scratch->sample.counted_by)
		keep_sample_of_call(scratch);
	bool has_leaf = scratch->sample.user_hash && scratch->walk.end != EVENT_END_NO_REGISTERS;
	if (is_sent && scratch->is_compared && has_leaf)
		send_again(scratch);
	leave_lane(scratch);
	return 0;
}

/* The same with the labels of what the thread runs, for the one program that reads those. */
static __always_inline void end_sample_with_labels(struct scratch *scratch)
{
	struct event_counters *counted = counters_of(scratch->sample.source);
	if (!take_labels()) {
		end_sample(scratch, true);
		return;
	}
	count_outcomes(counted, scratch, false);
	leave_lane(scratch);
}

/* ---- walking ---- */

/* Which program goes on with a sample: one that walks, by its group, or another. */
enum next_program {
	NEXT_NONE = -1, /* it has ended, or there is none */
	NEXT_WALKS = RUNTIME_GROUP_LOOPS,
	NEXT_ENDS = RUNTIME_GROUPS,
	NEXT_PROGRAMS,
};

/*
 * The current task is in the kernel, and what is sampled has begun: its user stack, if it has one,
 * from where it entered.
 */
static __always_inline int begin_walk_from_kernel(struct task_struct *task, struct scratch *scratch)
{
	bool has_user_stack = begin_user_stack(task, scratch);
	if (has_user_stack && read_saved_registers(task, &scratch->walk.regs) &&
		begin_frames(scratch))
		return NEXT_WALKS;
	if (has_user_stack)
		return NEXT_ENDS;
	end_sample(scratch, false);
	return NEXT_NONE;
}

enum {
	MAX_STEPS = 2 * EVENT_MAX_USER_FRAMES, /* to come to script frames is a step as well */
#ifdef WALKS_SLEEPERS /* without bpf_loop on any kernel, which lets programs call 33 times */
	FRAMES_A_CALL = 64,
#else
	FRAMES_A_CALL = 32,
#endif
	FRAMES_A_PREFETCH = 8,
};

/*
 * Frames of the lane's stack before, most of which this one has again. Between two ticks the
 * program has used the caches for itself, so a walk would wait for the rule of one frame after the
 * other. Here nothing depends on what was read before, and the processor waits for several at once.
 */
static long prefetch_rules(__u32 index, void *context)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 1;
	for (__u32 i = 0; i < FRAMES_A_PREFETCH; i++) {
		__u32 frame = (index * FRAMES_A_PREFETCH + i) & (EVENT_MAX_USER_FRAMES - 1);
		prefetch_rule(scratch, scratch->user.frame[frame]);
	}
	return 0;
}

static __always_inline void prefetch_frames(const struct scratch *scratch)
{
	__u32 count = scratch->nr_frames_before;
	bpf_loop((count + FRAMES_A_PREFETCH - 1) / FRAMES_A_PREFETCH, prefetch_rules, 0, 0);
}

/* How the programs of a source call each other. */
#define MAP_OF_WALKERS(name) \
	struct { \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, NEXT_PROGRAMS); \
		__type(key, __u32); \
		__type(value, __u32); \
	} name##_walkers SEC(".maps");

/* False: there are more frames. */
static __always_inline bool walk_some(void)
{
	bool is_done = false;
	for (int i = 0; i < FRAMES_A_CALL && !is_done; i++)
		is_done = unwind_frame();
	return is_done;
}

#ifdef HAS_WHOLE_PROGRAMS
/* All of the stack: no other program is to go on. */
static __always_inline void walk_whole(void)
{
	bool is_done = false;
	for (int i = 0; i < MAX_STEPS && !is_done; i++)
		is_done = unwind_frame();
}
#endif

/* Whether another of the programs that walk is to go on, which is called next then. */
static __always_inline bool is_handed_over(struct scratch *scratch)
{
	bool is_other = scratch->walk.runtime.is_handed_over;
	scratch->walk.runtime.is_handed_over = false;
	return is_other;
}

/*
 * For kernels where what calls other programs may have no functions: arm64 before Linux 6.0
 * (check_map_func_compatibility() of kernel/bpf/verifier.c). An event runs on_NAME_whole(), which
 * has none, and calls whole_NAME(), which begins, walks all of the stack and ends the sample. So
 * that can be replaced while events go on, too; the runtimes of both groups are found by it. None
 * of these kernels lets tasks meet in a lane, see begin_hit().
 */
#if defined(HAS_WHOLE_PROGRAMS) && !defined(WALKS_SLEEPERS)
/* With what the function that begins returned. */
static __always_inline void take_whole(int next)
{
	if (next < 0)
		return;
	if (next == NEXT_WALKS)
		walk_whole();
	struct scratch *scratch = get_scratch();
	if (scratch)
		end_sample_with_labels(scratch);
}

/* `inlining` of what begins: whichever leaves the walk, and what begins, enough of the stack. */
#define WHOLE_PROGRAM(section, name, context_type, begin, inlining) \
	struct { \
		__uint(type, BPF_MAP_TYPE_PROG_ARRAY); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, __u32); \
	} name##_wholes SEC(".maps"); \
\
	static inlining int begin_whole_##name(context_type *ctx) \
	{ \
		return begin(ctx, false); \
	} \
\
	SEC(section) int on_##name##_whole(context_type *ctx) \
	{ \
		bpf_tail_call(ctx, &name##_wholes, 0); \
		return 0; \
	} \
\
	SEC("walker/" section) int whole_##name(context_type *ctx) \
	{ \
		take_whole(begin_whole_##name(ctx)); \
		return 0; \
	}
#else
#define WHOLE_PROGRAM(section, name, context_type, begin, inlining)
#endif

#ifndef WALKS_SLEEPERS /* which have programs of their own */

static long on_frame(__u32 index, void *context)
{
	return unwind_frame() != 0;
}

/*
 * The programs of a source. An event runs on_NAME(), which ends in a call of what walks the stack,
 * by way of a map of programs: walk_NAME(), whose loop over frames is one helper's. For kernels
 * without bpf_loop (before Linux 5.17) these are on_NAME_without_loop() and continue_NAME(), which
 * walks some frames and calls itself for more, as often as the kernel lets it (33 times). So each
 * is verified by itself, and what walks can be replaced while events go on: by one that knows more
 * runtimes, see record/walkers.h. Where runtimes of both groups are there, the map has a program
 * for each, which call each other where the stack goes from the one to the other, as often as the
 * kernel lets them, too. A map of programs holds those of one type only.
 *
 * Where the process has labels, what walks calls end_NAME() at last, which reads them: so what
 * walks need not be verified with all that reads labels.
 *
 * `begin` is a function of (context, whether this kernel has bpf_loop), see above.
 */
#define SAMPLING_PROGRAMS(section, name, context_type, begin) \
	MAP_OF_WALKERS(name) \
\
	SEC(section) int on_##name(context_type *ctx) \
	{ \
		int next = begin(ctx, true); \
		if (next >= 0) \
			bpf_tail_call(ctx, &name##_walkers, next); \
		return 0; \
	} \
\
	SEC("walker/" section) int walk_##name(context_type *ctx) \
	{ \
		struct scratch *scratch = get_scratch(); \
		if (!scratch) \
			return 0; \
		prefetch_frames(scratch); \
		bpf_loop(MAX_STEPS, on_frame, 0, 0); \
		if (is_handed_over(scratch)) \
			bpf_tail_call(ctx, &name##_walkers, scratch->walk.runtime.group); \
		if (expects_labels(scratch)) \
			bpf_tail_call(ctx, &name##_walkers, NEXT_ENDS); \
		end_sample(scratch, true); \
		return 0; \
	} \
\
	SEC(section) int on_##name##_without_loop(context_type *ctx) \
	{ \
		int next = begin(ctx, false); \
		if (next >= 0) \
			bpf_tail_call(ctx, &name##_walkers, next); \
		return 0; \
	} \
\
	SEC(section) int end_##name(context_type *ctx) \
	{ \
		struct scratch *scratch = get_scratch(); \
		if (scratch) \
			end_sample_with_labels(scratch); \
		return 0; \
	} \
\
	SEC("walker/" section) int continue_##name(context_type *ctx) \
	{ \
		struct scratch *scratch = get_scratch(); \
		if (!scratch) \
			return 0; \
		if (!walk_some() || is_handed_over(scratch)) \
			bpf_tail_call(ctx, &name##_walkers, scratch->walk.runtime.group); \
		if (expects_labels(scratch)) \
			bpf_tail_call(ctx, &name##_walkers, NEXT_ENDS); \
		end_sample(scratch, true); \
		return 0; \
	} \
\
	WHOLE_PROGRAM(section, name, context_type, begin, __noinline)
#else
#define SAMPLING_PROGRAMS(section, name, context_type, begin) MAP_OF_WALKERS(name)
#endif

#endif
