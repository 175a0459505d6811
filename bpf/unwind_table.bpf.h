/*
 * The unwind tables of files, as the recorder lays them out in shards of words
 * that both sides map: from a file's number and an offset in it to a rule.
 */
#ifndef EBPROF_UNWIND_TABLE_BPF_H
#define EBPROF_UNWIND_TABLE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"

#include <bpf/bpf_helpers.h>

/* Raised now and then by the recorder: which tables are in use shows in the files' epochs. */
volatile __u32 table_epoch;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EVENT_MIN_FILES); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct unwind_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAX_RULES);
	__type(key, __u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

struct shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_SHARD_WORDS * sizeof(__u32));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MAX_SHARDS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__array(values, struct shard);
} shards SEC(".maps");

static __always_inline const __u32 *find_shard(__u32 place)
{
	__u32 number = place >> UNWIND_SHARD_SHIFT, zero = 0;
	void *shard = bpf_map_lookup_elem(&shards, &number);
	return shard ? bpf_map_lookup_elem(shard, &zero) : 0;
}

/*
 * A search goes from row to row, each of which says where the next one is: through cold memory it
 * would wait for one after the other. Here the processor waits for several at once. A global
 * function, which the verifier looks at once.
 */
__noinline int prefetch_rows(__u32 first, __u32 count);
__noinline int prefetch_rows(__u32 first, __u32 count)
{
	enum {
		LINES = 8,
		ROWS_A_LINE = 64 / sizeof(__u32),
	};
	const volatile __u32 *row = find_shard(first);
	if (!row)
		return 0;
	for (__u64 i = 0; i < LINES; i++) {
		__u64 at = i * ROWS_A_LINE; /* without a branch, as below */
		at &= (__s64)(at - count) >> 63;
		(void)row[(first + at) & (UNWIND_SHARD_WORDS - 1)];
	}
	return 0;
}

/* The number of the last row at or before `low`; rows of a page lie in one shard. */
static __always_inline __u32 search_rows(const __u32 *words, __u32 first, __u32 count, __u32 low)
{
	enum {
		MAX_STEPS = 13
	}; /* 2^12 + 1 rows */
	_Static_assert(UNWIND_MAX_PAGE_ROWS <= 1 << MAX_STEPS, "steps suffice");
	__u64 at = first;
	for (int i = 0; i < MAX_STEPS; i++) { /* the last ones stay where they are */
		__u32 half = count >> 1;
		__u64 row = words[(at + half) & (UNWIND_SHARD_WORDS - 1)];
		/* Without a branch: the verifier would follow both ways at every step. */
		__s64 before = (__s64)low - (__s64)(row & 0xffff);
		at += half & ~(before >> 63);
		count -= half;
	}
	return words[at & (UNWIND_SHARD_WORDS - 1)] >> 16;
}

/*
 * What a search found, by place in the file: the callers of one sample are
 * mostly those of the sample before, and a search through large tables is a
 * walk through cold memory. So the rule itself is here, beside the place. Never
 * stale: neither a file's contents nor the meaning of a rule ever changes.
 */
struct found_rule {
	__u64 place; /* file << EVENT_FRAME_FILE_SHIFT | offset, plus 1 */
	__u32 number;
	__u32 epoch; /* of table_epoch, when the table was last marked as in use */
	struct unwind_rule rule;
};

enum {
	FOUND_RULES_SHIFT = 12,
};

/*
 * In one piece: the kernel finds each element of a per-CPU array by a pointer of
 * its own, which is in no cache most of the time, as the element is.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << FOUND_RULES_SHIFT); /* of each CPU's lanes: set by the recorder */
	__type(key, __u32);
	__type(value, struct found_rule);
} found_rules SEC(".maps");

static __always_inline struct found_rule *found_rule_slot(__u64 place, __u32 lane)
{
	__u32 slot = place * 0x9e3779b97f4a7c15ULL >> (64 - FOUND_RULES_SHIFT);
	slot += (bpf_get_smp_processor_id() * config.nr_places + lane) << FOUND_RULES_SHIFT;
	return bpf_map_lookup_elem(&found_rules, &slot);
}

/* Rules that the recorder found by reading code. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CODE_RULES_MAX);
	__type(key, struct code_key);
	__type(value, struct code_rule);
} code_rules SEC(".maps");

/* The rule for an offset in a file whose table is there; 0: none. */
static __always_inline __u32 find_rule(const struct unwind_file *file, __u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_SHIFT) - file->first_page;
	if (page >= file->nr_pages)
		return 0;
	__u32 place = file->pages + 2 * (__u32)page;
	const __u32 *words = find_shard(place);
	if (!words)
		return 0;
	__u32 first = words[place & (UNWIND_SHARD_WORDS - 2)];
	__u32 count = words[(place & (UNWIND_SHARD_WORDS - 2)) + 1];
	if (!count)
		return 0;
	if ((first ^ place) >> UNWIND_SHARD_SHIFT) {
		words = find_shard(first);
		if (!words)
			return 0;
	}
	prefetch_rows(first, count);
	return search_rows(words, first, count, offset & 0xffff);
}

#endif
