/*
 * Where code began that an address was in, when it was looked for last: for runtimes that keep no
 * index of their code, so that the memory ahead of an address has to be searched. What is said here
 * is a place to look at first; the runtime reads anew whether code begins there.
 */
#ifndef EBPROF_KNOWN_CODE_BPF_H
#define EBPROF_KNOWN_CODE_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/known_slot.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

struct known_code {
	__u64 place; /* mix(process, address without its lowest bits) */
	__u64 start;
};

enum {
	KNOWN_CODES_SHIFT = 10,
	KNOWN_CODE_WITHOUT_SHIFT = 27, /* ns: where none was found there is none for so long */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << KNOWN_CODES_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct known_code);
} known_codes SEC(".maps");

static __always_inline struct known_code *known_code(const struct scratch *scratch, __u64 place)
{
	return known_slot(&known_codes, scratch, place, KNOWN_CODES_SHIFT);
}

/* What stands for the place while no code is known to have it. */
static __always_inline __u64 without_known_code(const struct scratch *scratch, __u64 place)
{
	return mix(place, scratch->sample.time_ns >> KNOWN_CODE_WITHOUT_SHIFT);
}

static __always_inline void keep_known_code(struct known_code *known, __u64 place, __u64 start)
{
	known->start = start; /* of this lane: no other event comes between */
	known->place = place;
}

#endif
