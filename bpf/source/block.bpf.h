/*
 * Block I/O: requests to disks, from the time that they come to the queue of a device until the
 * device has done them.
 *
 * A request ends in an interrupt, so its stack is that of the task that began it, taken then and
 * sent ahead as an EVENT_BEGUN; when the request is done an EVENT_ENDED follows, which has the
 * time. How long it takes is not known when it is chosen, so one is chosen by chance out of as many
 * as keep a CPU below 1,000 stacks a second, and stands for so many times its own time.
 *
 * A request is seen at block_io_start (Linux 6.4), where its task adds it, or else where that is
 * put to the scheduler of the disk, or given to the device, in the first of these that comes. Its
 * end is block_rq_complete, which may come in parts.
 */
#ifndef EBPROF_SOURCE_BLOCK_BPF_H
#define EBPROF_SOURCE_BLOCK_BPF_H

#include "bpf/source/duration.bpf.h"
#include "bpf/source/wait.bpf.h"

/* One of so many requests is chosen; 0: by how many there are. */
volatile __u32 block_distance;

/* By the address of the request. `time_ns` is when it began; `value` is of how many it was chosen,
 * 0: it was not; `tid` 0: it was, but another sample was under way. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u64);
	__type(value, struct event_sample);
} open_requests SEC(".maps");

struct block_lane { /* of a CPU */
	__u64 since_ns;
	__u32 begun; /* since then */
	__u32 distance;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct block_lane);
} block_lanes SEC(".maps");

/* One of how many requests this one is, if it is chosen; 0: it is not. */
static __noinline __u32 choose_request(__u64 now_ns)
{
	enum {
		WINDOW_NS = 100 * 1000 * 1000,
		MAX_BEGUN = 100, /* in a window */
	};
	__u32 zero = 0, distance = block_distance;
	struct block_lane *lane = bpf_map_lookup_elem(&block_lanes, &zero);
	if (!lane)
		return 0;
	if (now_ns - lane->since_ns >= WINDOW_NS) {
		lane->distance = lane->begun / MAX_BEGUN + 1;
		lane->since_ns = now_ns;
		lane->begun = 0;
	}
	lane->begun++;
	if (!distance)
		distance = lane->distance;
	return bpf_get_prandom_u32() % (distance | !distance) ? 0 : distance;
}

static __always_inline struct gendisk *disk_of_request(struct request *request)
{
	struct request___5_16 *older = (void *)request;
	if (bpf_core_field_exists(older->rq_disk))
		return BPF_CORE_READ(older, rq_disk);
	return BPF_CORE_READ(request, q, disk);
}

static __always_inline __u32 device_of_request(struct request *request)
{
	struct gendisk *disk = disk_of_request(request);
	if (!disk)
		return 0;
	return (__u32)BPF_CORE_READ(disk, major) << EVENT_DEVICE_MINOR_BITS |
	       (__u32)BPF_CORE_READ(disk, first_minor);
}

static __always_inline __u8 operation_of_request(struct request *request)
{
	__u32 operation = BPF_CORE_READ(request, cmd_flags) & 0xff; /* REQ_OP_MASK */
	return operation < EVENT_BLOCK_OTHER ? operation : EVENT_BLOCK_OTHER;
}

/* Where requests begin the queue is the first argument before Linux 5.11. */
static __always_inline struct request *request_that_begins(struct bpf_raw_tracepoint_args *ctx)
{
	if (config.has_queue_argument)
		return (struct request *)READ_CONTEXT(ctx->args[1]);
	return (struct request *)READ_CONTEXT(ctx->args[0]);
}

/*
 * Whether what is known of a request is of an earlier use of its memory, by one that was merged
 * into another. The kernel notes when a request is allocated, or right behind block_io_start.
 */
static __always_inline bool is_of_earlier_use(
	const struct event_sample *found, struct request *request)
{
	enum {
		BEHIND_START_NS = 100 * 1000,
	};
	return found->time_ns + BEHIND_START_NS < BPF_CORE_READ(request, start_time_ns);
}

/* Begins to follow a request, unless it began at an earlier place already. */
static __noinline bool follow_request(struct request *request, __u64 now_ns)
{
	__u64 key = (__u64)request;
	struct event_sample *found = bpf_map_lookup_elem(&open_requests, &key);
	if (found && !is_of_earlier_use(found, request))
		return false;
	struct event_sample begun = {
		.time_ns = now_ns,
		.value = choose_request(now_ns),
		.device = device_of_request(request),
		.operation = operation_of_request(request),
	};
	if (bpf_map_update_elem(&open_requests, &key, &begun, BPF_ANY)) {
		count_unfollowed(EVENT_SOURCE_BLOCK_IO);
		return false;
	}
	return begun.value;
}

static __u32 own_frames_of_block; /* as own_frames of waits */

static __always_inline void take_kernel_stack_of_block(void *ctx, struct kernel_stack *stack)
{
	const __u32 room = sizeof(stack->address);
	__u32 own = own_frames_of_block;
	/* No choice between the two as wholes: clang takes those for what they are at first. */
	struct event_function runs = {config.runs_one.start, config.runs_one.end};
	if (config.has_queue_argument) {
		runs.start = config.runs_two.start;
		runs.end = config.runs_two.end;
	}
	long bytes = bpf_get_stack(ctx, stack->address, room, own & 0x1f);
	if (bytes > 0 && !own && runs.start) {
		own_frames_of_block = own = count_own_frames(stack, &runs);
		bytes = bpf_get_stack(ctx, stack->address, room, own & 0x1f);
	}
	finish_kernel_stack(stack, bytes);
}

/* The request that is followed, and who began it. */
static __noinline int begin_block_walk(
	struct bpf_raw_tracepoint_args *ctx, struct scratch *scratch, struct request *request)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct event_sample *sample = &scratch->sample;
	__u64 key = (__u64)request;
	struct event_sample *begun = bpf_map_lookup_elem(&open_requests, &key);
	if (!begun) {
		leave_lane(scratch);
		return NEXT_NONE;
	}
	begin_sample(task, scratch, EVENT_SOURCE_BLOCK_IO, 0, begun->value);
	sample->type = EVENT_BEGUN;
	/* One at a time on a CPU: no other has this number. */
	sample->waker =
		begun->time_ns * EVENT_MAX_WAKER_CPUS + (sample->cpu & (EVENT_MAX_WAKER_CPUS - 1));
	sample->time_ns = begun->time_ns;
	sample->device = begun->device;
	sample->operation = begun->operation;
	*begun = *sample;
	sample->time_ns = bpf_ktime_get_ns();
	take_kernel_stack_of_block(ctx, &scratch->kernel);
	return begin_walk_from_kernel(task, scratch);
}

static __always_inline int begin_block(struct bpf_raw_tracepoint_args *ctx, bool has_loop)
{
	struct request *request = request_that_begins(ctx);
	struct scratch *scratch = scratch_of_lane(task_lane());
	if (!takes_duration(EVENT_SOURCE_BLOCK_IO) || !(__u32)bpf_get_current_pid_tgid() ||
		!is_target() || !scratch || !follow_request(request, bpf_ktime_get_ns()))
		return NEXT_NONE;
	if (has_loop ? !try_lane(scratch) : scratch->is_busy)
		return NEXT_NONE; /* it is lost when it ends */
	take_lane(scratch, task_lane());
	return begin_block_walk(ctx, scratch, request);
}

/* What walks is that of waits. */
SEC("raw_tp/block_begin")
int on_block(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_block(ctx, true);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

SEC("raw_tp/block_begin")
int on_block_without_loop(struct bpf_raw_tracepoint_args *ctx)
{
	int next = begin_block(ctx, false);
	if (next >= 0)
		bpf_tail_call(ctx, &wait_walkers, next);
	return 0;
}

WHOLE_PROGRAM("raw_tp", block, struct bpf_raw_tracepoint_args, begin_block, __always_inline)

/* A request of so many ns is over. */
static __always_inline void end_request(
	struct event_counters *counted, struct event_sample *request, __u64 ns)
{
	if (!request->value || !request->tid) {
		count_as(counted, request->value ? EVENT_COUNTER_LOST_BUSY : EVENT_COUNTER_BELOW,
			ns);
		return;
	}
	request->type = EVENT_ENDED;
	request->measured = ns;
	request->value *= ns;
	request->time_ns += ns;
	bool is_sent = send(request, sizeof(*request), wakeup_flag());
	count_as(counted, is_sent ? EVENT_COUNTER_SAMPLES : EVENT_COUNTER_LOST_RING, ns);
}

SEC("raw_tp/block_rq_complete")
int on_block_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *request = (struct request *)ctx->args[0];
	__u64 key = ctx->args[0];
	__u32 bytes = ctx->args[2];
	if (!takes_duration(EVENT_SOURCE_BLOCK_IO))
		return 0;
	struct event_sample *found = bpf_map_lookup_elem(&open_requests, &key);
	if (!found || bytes < BPF_CORE_READ(request, __data_len))
		return 0;
	__u64 ns = bpf_ktime_get_ns() - found->time_ns;
	struct event_counters *counted = count_event(EVENT_SOURCE_BLOCK_IO, ns);
	if (counted)
		end_request(counted, found, ns);
	bpf_map_delete_elem(&open_requests, &key);
	return 0;
}

#endif
