/*
 * Tables of what was looked up before, each a map of this CPU with a part for each lane, of
 * 1 << `shift` slots: no other event comes between where a lane writes. A key is a mix(); a slot
 * that is filled has it as its first word.
 */
#ifndef EBPROF_KNOWN_SLOT_BPF_H
#define EBPROF_KNOWN_SLOT_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

/* NULL cannot be, but for the verifier. */
static __always_inline void *known_slot(
	void *table, const struct scratch *scratch, __u64 key, __u32 shift)
{
	__u32 slot = (key >> (64 - shift)) + (scratch->lane << shift);
	return bpf_map_lookup_elem(table, &slot);
}

/* Of two slots for each key the one that has it, or else, by chance, one to put it. */
static __always_inline void *known_slot_of_two(
	void *table, const struct scratch *scratch, __u64 key, __u32 shift)
{
	__u64 way = (scratch->sample.time_ns & 1) << (64 - shift);
	__u64 other = 1ULL << (64 - shift);
	__u64 *known = known_slot(table, scratch, key ^ way ^ other, shift);
	if (known && *known == key)
		return known;
	return known_slot(table, scratch, key ^ way, shift);
}

#endif
