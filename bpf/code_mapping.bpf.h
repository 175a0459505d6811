/*
 * The mapping that holds an address of the process at hand, and the number that its file goes by.
 * Nothing is set up for a process: a file gets its number when the first walk comes to it, and has
 * it in all processes.
 */
#ifndef EBPROF_CODE_MAPPING_BPF_H
#define EBPROF_CODE_MAPPING_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* How often a file got no number, because they are used up. */
__u64 files_full;

/* 0 is the vDSO. */
static __always_inline __u32 next_file_number(const struct scratch *scratch)
{
	__u64 number = number_of_lane(scratch, scratch->nr_files);
	if (number < config.max_files)
		return number;
	__sync_fetch_and_add(&files_full, 1);
	return 0;
}

static __always_inline bool send_file(
	struct scratch *scratch, const struct mapping *mapping, __u32 number)
{
	struct event_file event = {
		.type = EVENT_FILE,
		.file = number,
		.pid = scratch->user.head.pid,
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->start + mapping->delta,
		.time_ns = scratch->user.head.time_ns,
	};
	return send(&event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

/*
 * A number for a file that has none. 0: there is none to be had. It is announced before it can be
 * found, so that no stack of another CPU gets ahead with a number that says nothing to the
 * recorder.
 */
static __always_inline __u32 add_file_number(
	struct scratch *scratch, const struct mapping *mapping, const struct file_key *key)
{
	__u32 number = next_file_number(scratch);
	if (!number || !send_file(scratch, mapping, number))
		return 0;
	scratch->nr_files++;
	if (!bpf_map_update_elem(&file_numbers, key, &number, BPF_NOEXIST))
		return number;
	__u32 *known = bpf_map_lookup_elem(&file_numbers, key); /* another CPU was first */
	return known ? *known : 0;
}

/* The number of the mapping's file. 0: there is none to be had, or not now. */
static __always_inline __u32 number_file(
	struct scratch *scratch, const struct mapping *mapping, struct file *file)
{
	struct file_key key = {};
	read_file_key(file, &key);
	__u32 *known = bpf_map_lookup_elem(&file_numbers, &key);
	if (known)
		return *known;
	if (!begin_update())
		return 0;
	__u32 number = add_file_number(scratch, mapping, &key);
	end_update();
	return number;
}

static __always_inline void read_mapping(
	struct scratch *scratch, struct vm_area_struct *vma, __u64 address, struct mapping *mapping)
{
	struct mm_struct *mm = scratch->walk.space.mm;
	mapping->start = BPF_CORE_READ(vma, vm_start);
	mapping->end = BPF_CORE_READ(vma, vm_end);
	mapping->kind = EVENT_FRAME_ADDRESS;
	if (address < mapping->start || address >= mapping->end ||
		!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		mapping->start = mapping->end = 0;
		return;
	}
	struct file *file = BPF_CORE_READ(vma, vm_file);
	bool is_shared = file && is_nameless(file);
	if (file && !is_shared) {
		mapping->delta =
			(BPF_CORE_READ(vma, vm_pgoff) << config.page_shift) - mapping->start;
		mapping->file = number_file(scratch, mapping, file);
		if (mapping->file)
			mapping->kind = EVENT_FRAME_FILE;
	} else if (mapping->start == (__u64)BPF_CORE_READ(mm, context.vdso)) {
		mapping->delta = -mapping->start;
		mapping->file = 0;
		mapping->kind = EVENT_FRAME_VDSO;
	} else {
		mapping->delta = 0;
		mapping->file = is_shared;
		mapping->kind = EVENT_FRAME_ANONYMOUS;
	}
}

static __always_inline struct cached_mapping *slot_of_walk(
	const struct scratch *scratch, __u64 address)
{
	return scratch->walk.space.identity ? cache_slot(address, scratch->lane) : 0;
}

/*
 * A step of the search for a mapping. A global function, which the verifier looks at once; also on
 * kernels that have no such tree, where nothing of it may be left.
 */
__noinline int step_in_maple_tree(__u64 address);
__noinline int step_in_maple_tree(__u64 address)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 1;
	if (!has_maple_tree(scratch->walk.space.mm))
		return 1;
	return walk_maple_node(&scratch->walk.search, address);
}

/* NULL: nothing holds the address. */
static __always_inline struct vm_area_struct *find_vma(struct scratch *scratch, __u64 address)
{
	struct mm_struct *mm = scratch->walk.space.mm;
	struct maple_search *search = &scratch->walk.search;
	if (!has_maple_tree(mm))
		return walk_rb_tree(mm, address);
	search->entry = maple_root(mm);
	bool is_end = !search->entry;
	for (int depth = 0; depth < MAPLE_MAX_DEPTH && !is_end; depth++)
		is_end = step_in_maple_tree(address);
	return is_end ? (void *)search->entry : 0;
}

/* What was found before, if it is still there. */
static __always_inline bool is_in_cache(
	const struct scratch *scratch, const struct cached_mapping *cached, __u64 address)
{
	const struct address_space *space = &scratch->walk.space;
	if (cached->image != space->image || address < cached->mapping.start ||
		address >= cached->mapping.end)
		return false;
	__u64 changes = count_changes(space, (void *)cached->vma);
	return changes == cached->changes && changes != CHANGES_UNKNOWN;
}

/* Before a walk. Where the kernel does not count changes nothing is kept from one to the next. */
static __always_inline void begin_recent_mappings(struct scratch *scratch)
{
	struct recent_mappings *recent = &scratch->recent;
	__u64 identity = scratch->walk.space.identity;
	if (identity && recent->identity == identity)
		return;
	recent->identity = identity;
	for (int i = 0; i < RECENT_MAPPINGS; i++)
		recent->mapping[i].start = recent->mapping[i].end = 0;
}

/* The number of the one that holds the address; RECENT_MAPPINGS: none. Without a branch, which the
 * verifier would follow both ways. */
static __always_inline __u64 find_recent_mapping(
	const struct recent_mappings *recent, __u64 address)
{
	__u64 is_outside = 1, number = 0;
	for (int i = 0; i < RECENT_MAPPINGS; i++) {
		const struct mapping *mapping = &recent->mapping[i];
		is_outside &= ((address - mapping->start) | (mapping->end - 1 - address)) >> 63;
		number += is_outside;
	}
	return number;
}

static __always_inline bool search_cache(struct scratch *scratch, __u64 address)
{
	struct cached_mapping *cached = slot_of_walk(scratch, address);
	if (!cached || !is_in_cache(scratch, cached, address))
		return false;
	scratch->walk.mapping = cached->mapping;
	return true;
}

/*
 * By the kernel's tree, into the walk, and into the cache. A global function, which the verifier
 * looks at once.
 */
__noinline int search_mapping(__u64 address);
__noinline int search_mapping(__u64 address)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct vm_area_struct *vma = find_vma(scratch, address);
	if (!vma) {
		walk->mapping.start = walk->mapping.end = 0;
		walk->mapping.kind = EVENT_FRAME_ADDRESS;
		return 0;
	}
	__u64 changes = count_changes(&walk->space, vma);
	read_mapping(scratch, vma, address, &walk->mapping);
	struct cached_mapping *cached = slot_of_walk(scratch, address);
	if (cached && walk->mapping.kind != EVENT_FRAME_ADDRESS) {
		cached->image = walk->space.image;
		cached->vma = (__u64)vma;
		cached->changes = changes;
		cached->mapping = walk->mapping;
	}
	return 0;
}

/* Leaves in the walk the mapping that holds the address. A global function, likewise. */
__noinline int find_mapping(__u64 address);
__noinline int find_mapping(__u64 address)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct recent_mappings *recent = &scratch->recent;
	__u64 number = find_recent_mapping(recent, address);
	if (number < RECENT_MAPPINGS) {
		walk->mapping = recent->mapping[number];
		return 0;
	}
	if (!search_cache(scratch, address))
		search_mapping(address);
	if (walk->mapping.kind == EVENT_FRAME_ADDRESS)
		return 0;
	number = recent->next++ & (RECENT_MAPPINGS - 1);
	recent->mapping[number] = walk->mapping;
	return 0;
}

/* ---- frames there ---- */

static __always_inline bool is_code_of_file(const struct mapping *mapping)
{
	return mapping->kind == EVENT_FRAME_FILE || mapping->kind == EVENT_FRAME_VDSO;
}

static __always_inline void push_frame(struct scratch *scratch, __u64 place)
{
	const struct mapping *mapping = &scratch->walk.mapping;
	struct walk *walk = &scratch->walk;
	__u64 frame = place & ((1ULL << 56) - 1);
	if (mapping->kind == EVENT_FRAME_ADDRESS) /* means something only here and now */
		walk->hash = mix(walk->hash, scratch->user.head.time_ns);
	if (mapping->kind == EVENT_FRAME_ANONYMOUS) /* ... and something else in each process */
		walk->hash = mix(walk->hash, scratch->user.head.pid);
	if (is_code_of_file(mapping)) {
		__u64 offset = place + mapping->delta;
		frame = (offset & ((1ULL << EVENT_FRAME_FILE_SHIFT) - 1)) |
			(__u64)mapping->file << EVENT_FRAME_FILE_SHIFT;
	}
	frame |= (__u64)mapping->kind << EVENT_FRAME_KIND_SHIFT;
	frame |= (__u64)walk->found << EVENT_FRAME_FOUND_SHIFT;
	push_word(scratch, frame);
}

#endif
