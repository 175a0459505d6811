/*
 * The sampler. On every tick of a CPU's timer: account for it, take the kernel
 * and the user stack, send a stack the first time it is seen and then, always,
 * a small sample that names both by hash.
 */
#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/unwind_fp.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct event_config config;

/* Raised by the recorder to make every stack new: an address may mean something else now. */
volatile __u64 generation;

/* Processes that could not be followed because `targets` was full. */
__u64 targets_full;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the recorder */
} ring SEC(".maps");

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

/*
 * Stacks that the recorder has been sent: a direct-mapped set of hashes. No
 * locks, so it is safe wherever a tick may strike, NMIs included; a slot lost
 * to another stack costs nothing but sending that stack again.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EVENT_SEEN_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct user_stack {
	struct event_stack head;
	__u64 address[EVENT_MAX_USER_FRAMES];
};

struct kernel_stack {
	struct event_stack head;
	__u64 address[EVENT_MAX_KERNEL_FRAMES];
};

/* Where a stack is put together; the kernel never nests two of our ticks on one CPU. */
struct scratch {
	struct user_stack user;
	struct kernel_stack kernel;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static __always_inline __u64 wakeup_flag(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config.wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Sends the stack unless it was seen. False when the ring had no room. */
static __always_inline bool send_new_stack(struct event_stack *stack, __u64 max_frames)
{
	__u32 slot = stack->hash >> 32 & (EVENT_SEEN_SLOTS - 1);
	__u64 *hash = bpf_map_lookup_elem(&seen, &slot);
	if (!hash)
		return false;
	if (*hash == stack->hash)
		return true;
	__u64 frames = stack->nr_frames;
	if (frames > max_frames)
		frames = max_frames;
	if (bpf_ringbuf_output(
		    &ring, stack, sizeof(*stack) + frames * sizeof(__u64), wakeup_flag()))
		return false;
	*hash = stack->hash;
	return true;
}

static __always_inline void take_kernel_stack(
	struct bpf_perf_event_data *ctx, struct kernel_stack *stack)
{
	long bytes = bpf_get_stack(ctx, stack->address, sizeof(stack->address), 0);
	stack->head.nr_frames = 0;
	stack->head.hash = 0;
	if (bytes < (long)sizeof(__u64))
		return;
	__u32 frames = (__u64)bytes / sizeof(__u64);
	__u64 hash = generation;
	for (__u32 i = 0; i < EVENT_MAX_KERNEL_FRAMES && i < frames; i++)
		hash = mix(hash, stack->address[i]);
	stack->head.nr_frames = frames;
	stack->head.hash = hash | 1; /* 0 means none */
}

static __always_inline void take_user_stack(struct bpf_perf_event_data *ctx,
	struct task_struct *task, __u64 start_ns, struct user_stack *stack)
{
	stack->head.nr_frames = 0;
	stack->head.hash = 0;
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD || !BPF_CORE_READ(task, mm))
		return; /* kernel threads, and tasks whose memory is torn down already */
	struct user_registers regs = {};
	enum event_stack_end end = EVENT_END_NO_REGISTERS;
	if (read_user_registers(ctx, task, &regs))
		stack->head.nr_frames = unwind_fp(&regs, stack->address, &end);
	stack->head.end = end;
	__u64 hash = mix(generation, stack->head.pid);
	hash = mix(hash, start_ns);
	hash = mix(hash, BPF_CORE_READ(task, self_exec_id));
	hash = mix(hash, end);
	for (__u32 i = 0; i < EVENT_MAX_USER_FRAMES && i < stack->head.nr_frames; i++)
		hash = mix(hash, stack->address[i]);
	stack->head.hash = hash | 1;
}

static __always_inline void put_head(
	struct event_stack *head, enum event_stack_kind kind, __u32 pid, __u64 time_ns)
{
	head->type = EVENT_STACK;
	head->kind = kind;
	head->end = EVENT_END_COMPLETE;
	head->pid = pid;
	head->time_ns = time_ns;
}

/* False when the ring had no room for all of it. */
static __always_inline bool send_sample(
	struct bpf_perf_event_data *ctx, struct scratch *scratch, __u64 pid_tgid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct event_sample sample = {
		.type = EVENT_SAMPLE,
		.cpu = bpf_get_smp_processor_id(),
		.pid = pid_tgid >> 32,
		.tid = (__u32)pid_tgid,
		.time_ns = bpf_ktime_get_ns(),
		.start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
	};
	bpf_get_current_comm(sample.comm, sizeof(sample.comm));
	put_head(&scratch->kernel.head, EVENT_STACK_KERNEL, sample.pid, sample.time_ns);
	take_kernel_stack(ctx, &scratch->kernel);
	put_head(&scratch->user.head, EVENT_STACK_USER, sample.pid, sample.time_ns);
	take_user_stack(ctx, task, sample.start_ns, &scratch->user);
	sample.kernel_hash = scratch->kernel.head.hash;
	sample.user_hash = scratch->user.head.hash;
	if (sample.kernel_hash && !send_new_stack(&scratch->kernel.head, EVENT_MAX_KERNEL_FRAMES))
		return false;
	if (sample.user_hash && !send_new_stack(&scratch->user.head, EVENT_MAX_USER_FRAMES))
		return false;
	return bpf_ringbuf_output(&ring, &sample, sizeof(sample), wakeup_flag()) == 0;
}

static __always_inline bool is_target(__u64 pid_tgid)
{
	if (config.filter == EVENT_FILTER_NONE)
		return true;
	__u32 key = config.filter == EVENT_FILTER_PROCESS ? pid_tgid >> 32 : (__u32)pid_tgid;
	return bpf_map_lookup_elem(&targets, &key) != 0;
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct event_counters *count = bpf_map_lookup_elem(&counters, &zero);
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	if (!count || !scratch)
		return 0;
	count->ticks++;
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	if (!(__u32)pid_tgid)
		count->idle++;
	else if (!is_target(pid_tgid))
		count->filtered++;
	else if (send_sample(ctx, scratch, pid_tgid))
		count->samples++;
	else
		count->lost_ring++;
	return 0;
}

/* A target's new process (or thread) is a target from its first instruction on. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (!config.follow_children)
		return 0;
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	__u32 parent_key = parent_tgid, child_key = child_tgid;
	if (config.filter == EVENT_FILTER_THREAD) {
		parent_key = BPF_CORE_READ(parent, pid);
		child_key = BPF_CORE_READ(child, pid);
	} else if (parent_tgid == child_tgid) {
		return 0;
	}
	if (!bpf_map_lookup_elem(&targets, &parent_key))
		return 0;
	__u64 start_ns = BPF_CORE_READ(child, start_boottime);
	if (bpf_map_update_elem(&targets, &child_key, &start_ns, BPF_ANY))
		__sync_fetch_and_add(&targets_full, 1);
	return 0;
}

/* Only when the task is freed, so that the samples of its way out are kept. */
SEC("raw_tp/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, pid);
	__u64 *start_ns = bpf_map_lookup_elem(&targets, &pid);
	if (start_ns && (!*start_ns || *start_ns == BPF_CORE_READ(task, start_boottime)))
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}
