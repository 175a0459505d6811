/*
 * The way out: what the recorder fixed before loading, and the ring in which it
 * is sent what was seen.
 */
#ifndef EBPROF_RING_BPF_H
#define EBPROF_RING_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_helpers.h>

const volatile struct event_config config;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the recorder */
} ring SEC(".maps");

static __always_inline __u64 unread_bytes(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
}

static __always_inline __u64 wakeup_flag(void)
{
	return unread_bytes() >= config.wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* False when the ring has no room. */
static __always_inline bool send(void *record, __u64 bytes, __u64 flag)
{
	return bpf_ringbuf_output(&ring, record, bytes, flag) == 0;
}

#endif
