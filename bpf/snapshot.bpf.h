/*
 * Snapshots: what is left of a stack that cannot be unwound here and now is
 * copied, for the recorder or the report to go on with.
 */
#ifndef EBPROF_SNAPSHOT_BPF_H
#define EBPROF_SNAPSHOT_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"

#include <bpf/bpf_helpers.h>

/* Rules of an epilogue name registers where they were saved, though sp has left them behind. */
enum {
	SNAPSHOT_BELOW_BYTES = 128, /* of sp; System V x86-64: the red zone */
};

/* Where a snapshot begins; not in another page than sp, which may not be there. */
static __always_inline __u64 start_of_snapshot(__u64 sp)
{
	__u64 below = sp & (EVENT_SNAPSHOT_CHUNK_BYTES - 1);
	return sp - (below < SNAPSHOT_BELOW_BYTES ? below : SNAPSHOT_BELOW_BYTES);
}

/* The next piece of the stack, up to the end of a page: 0 bytes when it cannot be read. */
static __always_inline __u32 send_chunk(__u64 address, __u64 hash)
{
	struct event_snapshot_chunk *chunk = bpf_ringbuf_reserve(&ring, sizeof(*chunk), 0);
	if (!chunk)
		return 0;
	__u32 bytes = EVENT_SNAPSHOT_CHUNK_BYTES - (address & (EVENT_SNAPSHOT_CHUNK_BYTES - 1));
	if (bytes > sizeof(chunk->bytes) ||
		bpf_probe_read_user(chunk->bytes, bytes, (const void *)address)) {
		bpf_ringbuf_discard(chunk, BPF_RB_NO_WAKEUP);
		return 0;
	}
	chunk->type = EVENT_SNAPSHOT_CHUNK;
	chunk->nr_bytes = bytes;
	chunk->hash = hash;
	chunk->address = address;
	bpf_ringbuf_submit(chunk, BPF_RB_NO_WAKEUP);
	return bytes;
}

/* What does not fit into the ring is missing: then the stack stays cut. */
static __always_inline void send_snapshot(
	const struct unwind_registers *regs, bool is_exact, __u64 hash)
{
	struct event_snapshot *snapshot = bpf_ringbuf_reserve(&ring, sizeof(*snapshot), 0);
	if (!snapshot)
		return;
	snapshot->type = EVENT_SNAPSHOT;
	snapshot->is_exact = is_exact;
	snapshot->hash = hash;
	snapshot->registers = *regs;
	bpf_ringbuf_submit(snapshot, BPF_RB_NO_WAKEUP);
	__u64 address = start_of_snapshot(regs->reg[UNWIND_SP]);
	for (__u32 i = 0; i < EVENT_MAX_SNAPSHOT_CHUNKS && i < config.snapshot_chunks; i++) {
		__u32 bytes = send_chunk(address, hash);
		if (!bytes)
			break;
		address += bytes;
	}
}

#endif
