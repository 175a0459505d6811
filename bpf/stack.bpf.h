/*
 * Stacks on their way out: by which hash samples name one, whether the recorder has it already, and
 * what goes along with a user stack that could not be unwound to its end: a snapshot of the rest.
 */
#ifndef EBPROF_STACK_BPF_H
#define EBPROF_STACK_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/snapshot.bpf.h"

#include <bpf/bpf_helpers.h>

/* Raised by the recorder to make every stack new: it has forgotten those that it was sent. */
volatile __u64 generation;

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

/*
 * Where the hash of a stack begins. Mixed, or a raised generation and another
 * leaf would make up for each other.
 */
static __always_inline __u64 first_hash(void)
{
	return mix(1, generation);
}

/* Where the hash stands if that was sent. */
static __always_inline __u64 *seen_slot(__u64 hash)
{
	__u32 slot = hash >> 32 & (EVENT_SEEN_SLOTS - 1);
	return bpf_map_lookup_elem(&seen, &slot);
}

/* Sends the stack unless it was seen. False when the ring had no room. */
static __always_inline bool send_new_stack(struct event_stack *stack, __u64 max_frames)
{
	__u64 *hash = seen_slot(stack->hash);
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

/* What is left to unwind, and whether it is worth a snapshot. */
static __always_inline bool wants_snapshot(const struct scratch *scratch)
{
	switch (scratch->walk.end) {
	case EVENT_END_TABLE_PENDING:
	case EVENT_END_UNSUPPORTED:
	case EVENT_END_REGISTER:
		return true;
	case EVENT_END_NO_MAPPING:
		return scratch->user.head.nr_frames > 1;
	default:
		return false;
	}
}

/* A rule that needs more than rows tell is better off with all registers: from the leaf again. */
static __always_inline void restart_at_leaf(struct scratch *scratch)
{
	scratch->walk.regs = scratch->leaf;
	scratch->walk.is_exact = scratch->is_leaf_exact;
	scratch->walk.return_instance = scratch->walk.first_return;
	scratch->walk.is_shown = false;
	scratch->user.head.nr_frames = 0;
}

/* The stack as it is, and the snapshot from where walk.regs are. */
static __always_inline bool send_with_snapshot(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct event_stack *head = &scratch->user.head;
	struct task_struct *task = walked_task();
	head->has_snapshot = true;
	head->hash = mix(mix(walk->hash, head->time_ns), scratch->sample.tid) | 1; /* no other's */
	if (!send_new_stack(head, EVENT_MAX_USER_FRAMES))
		return false;
	send_snapshot(task, walk, code_space(scratch), head->hash);
	return true;
}

/* Leaves the hash in the head, 0 where there is no stack. False when the ring had no room. */
static __always_inline bool send_user_stack(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct event_stack *head = &scratch->user.head;
	if (!head->nr_frames && walk->end == EVENT_END_NO_MAPPING)
		return true; /* in an exec, between two programs: there is none */
	head->end = walk->end;
	head->hash = mix(walk->hash, walk->end) | 1; /* 0 means none */
	if (!wants_snapshot(scratch) || unread_bytes() > config.snapshot_limit_bytes)
		return send_new_stack(head, EVENT_MAX_USER_FRAMES);
	if (head->end == EVENT_END_UNSUPPORTED || head->end == EVENT_END_REGISTER)
		restart_at_leaf(scratch);
	return send_with_snapshot(scratch);
}

#endif
