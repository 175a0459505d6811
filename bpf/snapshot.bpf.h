/*
 * Snapshots: what is left of a stack that cannot be unwound here and now is
 * copied, for the recorder or the report to go on with.
 */
#ifndef EBPROF_SNAPSHOT_BPF_H
#define EBPROF_SNAPSHOT_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/uprobe_page.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	/* Of a function that is returning, registers may be said to be where it popped them from:
	 * just below the stack pointer, where only this function writes. */
	RED_ZONE_BYTES = 128,
	SMALL_SNAPSHOT_BYTES = 16 << 10,
	LARGEST_SNAPSHOT_BYTES = EVENT_MAX_SNAPSHOT_CHUNKS * EVENT_SNAPSHOT_CHUNK_BYTES,
	LARGEST_STACK_BYTES = 64 << 20,
};

/* Where a snapshot begins; not in another page than sp, which may not be there. */
static __always_inline __u64 start_of_snapshot(__u64 sp)
{
	__u64 below = sp & (EVENT_SNAPSHOT_CHUNK_BYTES - 1);
	return sp - (below < RED_ZONE_BYTES ? below : RED_ZONE_BYTES);
}

/*
 * Where to stop: programs have their arguments above their stack, threads of
 * glibc their own data. A stack in neither is a coroutine's, and small.
 */
static __always_inline __u64 end_of_stack(struct task_struct *task, __u64 sp, __u32 bytes)
{
	__u64 limit = sp + bytes, small = sp + SMALL_SNAPSHOT_BYTES;
	__u64 arguments = BPF_CORE_READ(task, mm, start_stack) + sizeof(__u64);
#if defined(__TARGET_ARCH_x86)
	__u64 thread_data = BPF_CORE_READ(task, thread.fsbase);
#else
	__u64 thread_data = 0; /* glibc's lies elsewhere */
#endif
	if (sp < arguments && arguments - sp < LARGEST_STACK_BYTES)
		return arguments < limit ? arguments : limit;
	if (sp < thread_data && thread_data - sp < LARGEST_STACK_BYTES)
		return thread_data < limit ? thread_data : limit;
	return small < limit ? small : limit;
}

/*
 * The next piece of the stack, at most up to the end of a page: where the next one begins. 0: the
 * ring is full. What cannot be read is left out: a function with large arrays may have touched what
 * lies behind them only. A global function, which the verifier looks at once and not for each
 * piece.
 */
__noinline __u64 send_chunk(__u64 address, __u64 end, __u64 hash);
__noinline __u64 send_chunk(__u64 address, __u64 end, __u64 hash)
{
	struct scratch *scratch = get_scratch();
	struct event_snapshot_chunk *chunk = bpf_ringbuf_reserve(&ring, sizeof(*chunk), 0);
	if (!chunk)
		return 0;
	__u64 bytes = EVENT_SNAPSHOT_CHUNK_BYTES - (address & (EVENT_SNAPSHOT_CHUNK_BYTES - 1));
	if (bytes > end - address)
		bytes = end - address;
	__u64 next = address + bytes;
	asm volatile("" : "+r"(bytes)); /* or clang thinks the bound below is known anyway */
	if (bytes > sizeof(chunk->bytes) ||
		bpf_probe_read_user(chunk->bytes, bytes, (const void *)address)) {
		bpf_ringbuf_discard(chunk, BPF_RB_NO_WAKEUP);
		return next;
	}
	if (scratch)
		restore_return_addresses(&scratch->walk, address, chunk->bytes);
	chunk->type = EVENT_SNAPSHOT_CHUNK;
	chunk->nr_bytes = bytes;
	chunk->hash = hash;
	chunk->address = address;
	bpf_ringbuf_submit(chunk, BPF_RB_NO_WAKEUP);
	return next;
}

/* What does not fit into the ring is missing: then the stack stays cut. */
static __always_inline void send_snapshot(
	struct task_struct *task, const struct walk *walk, __u64 code_space, __u64 hash)
{
	const struct unwind_registers *regs = &walk->regs;
	struct event_snapshot *snapshot = bpf_ringbuf_reserve(&ring, sizeof(*snapshot), 0);
	if (!snapshot)
		return;
	snapshot->type = EVENT_SNAPSHOT;
	snapshot->is_exact = walk->is_exact;
	snapshot->found = walk->found;
	snapshot->is_shown = walk->is_shown;
	snapshot->is_uncopied = false;
	snapshot->hash = hash;
	snapshot->code_space = code_space;
	if (bpf_probe_read_user(snapshot->code, sizeof(snapshot->code), (const void *)regs->ip))
		snapshot->code[0] = snapshot->code[1] = 0;
	snapshot->registers = *regs;
	bpf_ringbuf_submit(snapshot, BPF_RB_NO_WAKEUP);
	__u64 sp = regs->reg[UNWIND_SP];
	/* Hand-written code has large frames, and what the recorder goes on with is not kept. */
	__u32 bytes = walk->asks ? LARGEST_SNAPSHOT_BYTES : config.snapshot_bytes;
	__u64 address = start_of_snapshot(sp), end = end_of_stack(task, sp, bytes);
	for (__u32 i = 0; i <= EVENT_MAX_SNAPSHOT_CHUNKS && address && address < end; i++)
		address = send_chunk(address, end, hash);
}

#endif
