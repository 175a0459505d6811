/*
 * Allocations: probes in functions of allocators, at their entry, where the stack is that of who
 * allocates, and at their return, where the address is known.
 *
 * Which allocations are sampled goes by bytes: on each CPU, points stand in the sequence of bytes
 * that are allocated there, at random distances of an exponential distribution. An allocation that
 * a point falls into is a sample; how much it stands for follows from its size, see
 * record/event/point_weight.h. All others are counted as below.
 *
 * Or the process chooses: a sampler that was preloaded into it does the same, and comes upon probes
 * of its own for what it chose. So does Go's runtime, which calls a function with each that it
 * chose; how long those are in use is not followed.
 *
 * What was sampled is kept until it is freed, by process and address: then it is sent once more, so
 * that the reader knows what was in use at any time. The recorder makes samples of what is left
 * when a program image, or recording, ends.
 */
#ifndef EBPROF_SOURCE_HEAP_BPF_H
#define EBPROF_SOURCE_HEAP_BPF_H

#include "bpf/take_sample.bpf.h"

/* False until the recorder lets allocations count, and again when it has done with them. */
volatile bool takes_allocations;

/*
 * Distances of which as many are shorter as longer ones: entry i is that of the probability
 * i / EVENT_DISTANCES. Behind the last, the distribution is as from the beginning.
 */
const volatile __u64 heap_distances[EVENT_DISTANCES] = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_heap_lane);
} heap_lanes SEC(".maps");

/* Each hit of a probe costs the program time, also one that accounts for nothing. */
static __always_inline struct event_heap_lane *count_heap_hit(void)
{
	__u32 zero = 0;
	struct event_heap_lane *lane = bpf_map_lookup_elem(&heap_lanes, &zero);
	if (lane)
		lane->hits++;
	return lane;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, struct event_kept_key);
	__type(value, struct event_sample);
} kept_allocations SEC(".maps");

/*
 * How many of them a process has. When a program image ends, the recorder removes its entry: the
 * next image may have some by then, and where those are freed the number falls below 0.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u64);
	__type(value, __s64);
} kept_of_process SEC(".maps");

/* Samples of which it cannot be told how long they are in use, since there are too many. */
__u64 unkept_count, unkept_bytes;
/* ... or since their end is not seen. */
__u64 unfollowed_count, unfollowed_bytes;
/* ... and those that were in use at the end: the recorder's own count. */
__u64 in_use_count, in_use_bytes;

#if defined(__TARGET_ARCH_x86)
#define ARGUMENT_1(ctx) READ_CONTEXT((ctx)->di)
#define ARGUMENT_2(ctx) READ_CONTEXT((ctx)->si)
#define ARGUMENT_3(ctx) READ_CONTEXT((ctx)->dx)
#define RETURNED(ctx)   READ_CONTEXT((ctx)->ax)
/* src/cmd/compile/abi-internal.md of Go */
#define GO_ARGUMENT_1(ctx) READ_CONTEXT((ctx)->ax)
#define GO_ARGUMENT_2(ctx) READ_CONTEXT((ctx)->bx)
#define GO_ARGUMENT_3(ctx) READ_CONTEXT((ctx)->cx)
enum {
	RETURN_BYTES = 8, /* that a return takes from the stack */
};
#elif defined(__TARGET_ARCH_arm64)
#define ARGUMENT_1(ctx)    READ_CONTEXT((ctx)->regs[0])
#define ARGUMENT_2(ctx)    READ_CONTEXT((ctx)->regs[1])
#define ARGUMENT_3(ctx)    READ_CONTEXT((ctx)->regs[2])
#define RETURNED(ctx)      READ_CONTEXT((ctx)->regs[0])
#define GO_ARGUMENT_1(ctx) ARGUMENT_1(ctx)
#define GO_ARGUMENT_2(ctx) ARGUMENT_2(ctx)
#define GO_ARGUMENT_3(ctx) ARGUMENT_3(ctx)
enum {
	RETURN_BYTES = 0,
};
#endif

static __always_inline __u64 size_of_call(struct pt_regs *ctx, __u64 call)
{
	switch (call & EVENT_HEAP_CALL_MASK) {
	case EVENT_HEAP_MALLOC:
		return ARGUMENT_1(ctx);
	case EVENT_HEAP_CALLOC:
		return ARGUMENT_1(ctx) * ARGUMENT_2(ctx);
	case EVENT_HEAP_POSIX_MEMALIGN:
		return ARGUMENT_3(ctx);
	case EVENT_HEAP_GO_FIRST:
		return GO_ARGUMENT_1(ctx);
	case EVENT_HEAP_GO_SECOND:
		return GO_ARGUMENT_2(ctx);
	case EVENT_HEAP_GO_THIRD:
		return GO_ARGUMENT_3(ctx);
	default:
		return ARGUMENT_2(ctx);
	}
}

static __always_inline bool is_call_of_go(__u64 call)
{
	call &= EVENT_HEAP_CALL_MASK;
	return call >= EVENT_HEAP_GO_FIRST && call <= EVENT_HEAP_GO_THIRD;
}

/* The mean distance of the points by which the allocation was chosen; 0: it cannot be read. */
static __always_inline __u64 distance_of_call(struct pt_regs *ctx, __u64 call)
{
	__s64 to_rate = (__s64)call >> EVENT_HEAP_RATE_SHIFT;
	__u64 rate = config.heap_distance;
	if (to_rate && bpf_probe_read_user(&rate, sizeof(rate),
			       (const void *)(READ_CONTEXT(REGS_IP(ctx)) + to_rate)))
		return 0;
	return rate;
}

/* ---- what is in use ---- */

static __always_inline void count_kept(__u64 process, __s64 more)
{
	__s64 *count = bpf_map_lookup_elem(&kept_of_process, &process);
	if (count)
		__sync_fetch_and_add(count, more);
}

/* What is kept of it is its own, so it can be changed there. */
static __always_inline void send_freed(struct event_sample *kept)
{
	const __u32 source = EVENT_SOURCE_HEAP + EVENT_HEAP_LIFETIME;
	__u64 ns = bpf_ktime_get_ns() - kept->time_ns;
	struct event_counters *counted = count_event(source, ns);
	if (!counted)
		return;
	kept->type = EVENT_FREED;
	kept->source = source;
	kept->counted_by = 0;
	kept->measured = ns;
	kept->value = ns;
	bool is_sent = send(kept, sizeof(*kept), wakeup_flag());
	count_as(counted, is_sent ? EVENT_COUNTER_SAMPLES : EVENT_COUNTER_LOST_RING, ns);
}

/* Once sampling is over, what is kept was in use to its end. */
static __noinline void forget_allocation(__u64 address)
{
	struct event_kept_key key = {bpf_get_current_pid_tgid() >> 32, address};
	struct event_sample *kept = address ? bpf_map_lookup_elem(&kept_allocations, &key) : 0;
	if (!kept || is_over())
		return;
	send_freed(kept);
	if (!bpf_map_delete_elem(&kept_allocations, &key))
		count_kept(key.process, -1);
}

static __noinline bool has_room_for_allocation(__u64 process)
{
	__s64 none = 0;
	__s64 *count = bpf_map_lookup_elem(&kept_of_process, &process);
	if (!count)
		return !bpf_map_update_elem(&kept_of_process, &process, &none, BPF_ANY);
	return *count < EVENT_MAX_KEPT_OF_PROCESS;
}

static __noinline void keep_allocation(struct heap_call *call, __u64 address)
{
	struct event_kept_key key = {bpf_get_current_pid_tgid() >> 32, address};
	forget_allocation(address); /* its end was not seen */
	if (address != EVENT_HEAP_UNFOLLOWED && has_room_for_allocation(key.process) &&
		!bpf_map_update_elem(&kept_allocations, &key, &call->sample, BPF_ANY)) {
		count_kept(key.process, 1);
		return;
	}
	COUNT(unkept_count);
	COUNT_MANY(unkept_bytes, call->sample.measured);
}

SEC("uprobe/heap_free")
int on_heap_free(struct pt_regs *ctx)
{
	count_heap_hit();
	if (takes_allocations)
		forget_allocation(ARGUMENT_1(ctx));
	return 0;
}

/* The address that a call returns, 0: it failed. */
static __always_inline __u64 address_of_call(struct pt_regs *ctx, const struct heap_call *call)
{
	__u64 address = RETURNED(ctx);
	if ((call->call & EVENT_HEAP_CALL_MASK) != EVENT_HEAP_POSIX_MEMALIGN)
		return address;
	if ((__u32)address ||
		bpf_probe_read_user(&address, sizeof(address), (const void *)call->argument))
		return 0;
	return address;
}

/* Of one that another call made, which goes on, nothing is known here. */
SEC("uprobe/heap_end")
int on_heap_end(struct pt_regs *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct heap_call *call = bpf_map_lookup_elem(&heap_calls, &tid);
	count_heap_hit();
	if (!call || READ_CONTEXT(REGS_SP(ctx)) < call->sp + RETURN_BYTES)
		return 0;
	__u64 address = call->sample.type ? address_of_call(ctx, call) : 0;
	if (address)
		keep_allocation(call, address);
	bpf_map_delete_elem(&heap_calls, &tid);
	return 0;
}

/* ---- what a preloaded sampler says ---- */

SEC("uprobe/heap_given")
int on_heap_given(struct pt_regs *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct heap_call *call = bpf_map_lookup_elem(&heap_calls, &tid);
	__u64 address = ARGUMENT_1(ctx);
	if (!call)
		return 0;
	if (address && call->sample.type)
		keep_allocation(call, address);
	bpf_map_delete_elem(&heap_calls, &tid);
	return 0;
}

SEC("uprobe/heap_passed")
int on_heap_passed(struct pt_regs *ctx)
{
	struct event_counters *counted = counters_of(EVENT_SOURCE_HEAP);
	__u64 count = ARGUMENT_1(ctx), bytes = ARGUMENT_2(ctx);
	if (!counted || !takes_allocations || !is_target())
		return 0;
	bool is_late = is_over();
	count_many_as(counted, is_late ? EVENT_COUNTER_LATE : EVENT_COUNTER_EVENTS, count, bytes);
	if (!is_late)
		count_many_as(counted, EVENT_COUNTER_BELOW, count, bytes);
	return 0;
}

/* ---- which are sampled ---- */

static __noinline __u64 next_distance(void)
{
	__u64 distance = 0;
	for (int i = 0; i < 4; i++) {
		__u32 random = bpf_get_prandom_u32();
		__u32 at = random >> (32 - EVENT_DISTANCE_BITS) & (EVENT_DISTANCES - 1);
		__u64 shorter = heap_distances[at], part = random & 0xffff;
		if (at == EVENT_DISTANCES - 1) {
			distance += shorter;
			continue;
		}
		__u64 longer = heap_distances[(at + 1) & (EVENT_DISTANCES - 1)];
		return distance + shorter + ((longer - shorter) * part >> 16) + 1;
	}
	return distance;
}

/* Whether a point is in it. */
static __always_inline bool passes_point(struct event_heap_lane *lane, __u64 bytes)
{
	__u64 *left = &lane->left;
	if (!*left)
		*left = next_distance();
	if (bytes < *left) {
		*left -= bytes;
		return false;
	}
	*left = next_distance();
	return true;
}

/* Whether another call that is probed is under way in the thread: what it gets for itself is not
 * what its caller got. A call that was left without a return is above the stack by now. */
static __always_inline bool is_nested(__u32 tid, __u64 sp)
{
	enum {
		MAX_STACK_BYTES = 1 << 16,
	};
	struct heap_call *call = bpf_map_lookup_elem(&heap_calls, &tid);
	return call && sp <= call->sp && call->sp - sp < MAX_STACK_BYTES;
}

#define MAX_ADDRESS (1ULL << 47)

/* Accounts for the call. False: it makes no sample. One that asks for more than can be there is
 * none, and programs try that. */
static __noinline bool admit_call(struct pt_regs *ctx, __u64 call)
{
	struct event_counters *counted;
	struct event_heap_lane *lane = count_heap_hit();
	struct heap_call started = {};
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 bytes = size_of_call(ctx, call);
	started.sp = READ_CONTEXT(REGS_SP(ctx));
	started.call = call;
	started.argument = ARGUMENT_1(ctx);
	if (!takes_allocations || bytes >= MAX_ADDRESS || is_nested(tid, started.sp) ||
		!is_target())
		return false;
	if ((call & EVENT_HEAP_CALL_MASK) == EVENT_HEAP_REALLOC)
		forget_allocation(started.argument);
	counted = count_event(EVENT_SOURCE_HEAP, bytes);
	bool is_chosen =
		counted && lane && (call & EVENT_HEAP_IS_CHOSEN || passes_point(lane, bytes));
	if (counted && !is_chosen)
		count_as(counted, EVENT_COUNTER_BELOW, bytes);
	if (is_chosen && is_call_of_go(call)) {
		COUNT(unfollowed_count);
		COUNT_MANY(unfollowed_bytes, bytes);
	} else if (is_chosen || call & EVENT_HEAP_NESTS)
		bpf_map_update_elem(&heap_calls, &tid, &started, BPF_ANY);
	return is_chosen;
}

/* The stack is that of the caller: nothing of the function has run yet. */
static __always_inline void begin_at_caller(struct unwind_registers *registers)
{
#if defined(__TARGET_ARCH_x86)
	__u64 address = 0;
	bpf_probe_read_user(&address, sizeof(address), (const void *)registers->reg[UNWIND_SP]);
	registers->ip = address;
	registers->reg[UNWIND_SP] += sizeof(address);
#elif defined(__TARGET_ARCH_arm64)
	registers->ip = registers->reg[30];
#endif
}

static __noinline int begin_heap_walk(
	struct pt_regs *ctx, struct scratch *scratch, __u64 bytes, __u64 distance)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	begin_sample(task, scratch, EVENT_SOURCE_HEAP, 0, distance);
	scratch->sample.measured = bytes;
	scratch->sample.counted_by = EVENT_SOURCE_HEAP + EVENT_HEAP_ALLOCATED_OBJECTS;
	bool has_user_stack = begin_user_stack(task, scratch);
	read_hit_registers(ctx, &scratch->walk.regs);
	begin_at_caller(&scratch->walk.regs);
	scratch->walk.is_exact = false;
	if (has_user_stack && begin_frames(scratch))
		return NEXT_WALKS;
	if (has_user_stack)
		return NEXT_ENDS;
	end_sample(scratch, false);
	return NEXT_NONE;
}

/* As begin_hit(), see there of lanes. */
static __always_inline int begin_heap(struct pt_regs *ctx, bool has_loop)
{
	__u64 call = KERNEL_HAS_HELPER(get_attach_cookie) ? bpf_get_attach_cookie(ctx) : 0;
	struct scratch *scratch = scratch_of_lane(task_lane());
	if (!scratch || !admit_call(ctx, call))
		return NEXT_NONE;
	__u64 distance = distance_of_call(ctx, call);
	if (!distance || (has_loop ? !try_lane(scratch) : scratch->is_busy)) {
		struct event_counters *counted = counters_of(EVENT_SOURCE_HEAP);
		if (counted)
			count_as(counted, EVENT_COUNTER_LOST_BUSY, size_of_call(ctx, call));
		return NEXT_NONE;
	}
	take_lane(scratch, task_lane());
	return begin_heap_walk(ctx, scratch, size_of_call(ctx, call), distance);
}

SAMPLING_PROGRAMS("uprobe/heap", heap, struct pt_regs, begin_heap)

#endif
