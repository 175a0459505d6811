/*
 * Which mapping of the current process holds an address, found in the kernel's
 * own tree of mappings at the very moment of the sample: nothing has to be set
 * up for a process, and no dlopen() or exec() comes too late.
 *
 * The tree is a maple tree (Linux 6.1) or a red-black tree (before). BPF programs
 * cannot lock it: what is read may be in change, so a result counts only
 * when the mapping found says by itself that it holds the address.
 *
 * Sources: include/linux/maple_tree.h, lib/maple_tree.c (6.18);
 * include/linux/mm_types.h (5.10, 6.1, 6.18).
 */
#ifndef EBPROF_MAPPING_BPF_H
#define EBPROF_MAPPING_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct mapping {
	__u64 start, end;
	__u64 delta; /* address + delta = offset in the file (or image) */
	__u32 file;  /* without one, EVENT_FRAME_ANONYMOUS: whether it is shared */
	__u32 kind;  /* enum event_frame_kind; EVENT_FRAME_ADDRESS: not a place to find code */
};

/* ---- the trees ---- */

enum {
	MAPLE_NODE_MASK = 255, /* the low bits of a pointer to a node say what it is */
	MAPLE_TYPE_SHIFT = 3,
	MAPLE_TYPE_MASK = 15,
	MAPLE_LEAF_64 = 1,
	MAPLE_ARANGE_64 = 3,
	MAPLE_FIRST_POINTER = 4096, /* what is below says something of the tree itself */
	MAPLE_PIVOTS = 15,
	MAPLE_ARANGE_PIVOTS = 9,
	MAPLE_MAX_DEPTH = 6, /* 10 ways at the least and 16 in the leaf: for millions of mappings */
	RB_MAX_DEPTH = 40,
};

/*
 * The slot of a node that an address belongs to: the first whose pivot is not
 * below it, or that has no pivot any more. Counted without a branch, since the
 * verifier would follow each of them both ways. Behind the pivots of the shorter
 * kind of node are its slots.
 */
static __always_inline __u32 find_slot(const unsigned long *pivot, __u64 is_short, __u64 address)
{
	__u64 is_live = 1, slot = 0;
	for (int i = 0; i < MAPLE_PIVOTS; i++) {
		__u64 is_below = ((pivot[i] - address) & ~pivot[i]) >> 63;
		if (i)
			is_live &= (pivot[i] | -pivot[i]) >> 63;
		if (i >= MAPLE_ARANGE_PIVOTS)
			is_live &= is_short ^ 1;
		is_live &= is_below;
		slot += is_live;
	}
	return slot;
}

/* Linux 6.1. */
static __always_inline bool has_maple_tree(const struct mm_struct *mm)
{
	(void)mm; /* its type says it */
	return bpf_core_field_exists(mm->mm_mt);
}

/* Where a search has come to. The stack of BPF has no room for it, before Linux 6.6. */
struct maple_search {
	unsigned long pivot[MAPLE_PIVOTS]; /* of the node at hand */
	__u64 entry;                       /* that leads to it; at the end the mapping */
};

/* From a node to what its slot for the address holds. 0: that is another node. */
static __always_inline int walk_maple_node(struct maple_search *search, __u64 address)
{
	__u64 entry = search->entry, node = entry & ~(__u64)MAPLE_NODE_MASK;
	__u32 type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;
	struct maple_range_64 *at = (void *)node;
	search->entry = 0;
	if (bpf_core_read(search->pivot, sizeof(search->pivot), &at->pivot))
		return 1;
	__u64 slot = find_slot(search->pivot, type == MAPLE_ARANGE_64, address);
	__u64 slots = bpf_core_field_offset(struct maple_range_64, slot);
	if (type == MAPLE_ARANGE_64)
		slots = bpf_core_field_offset(struct maple_arange_64, slot);
	if (bpf_probe_read_kernel(
		    &entry, sizeof(entry), (const void *)(node + slots + slot * sizeof(void *))))
		return 1;
	bool is_end = type == MAPLE_LEAF_64;
	if (is_end || entry >= MAPLE_FIRST_POINTER)
		search->entry = entry;
	return is_end || entry < MAPLE_FIRST_POINTER;
}

/* The entry of the root; 0: there is no tree of nodes, and no mapping. */
static __always_inline __u64 maple_root(struct mm_struct *mm)
{
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	return (entry & 3) == 2 && entry >= MAPLE_FIRST_POINTER ? entry : 0;
}

static __always_inline void *walk_rb_tree(struct mm_struct *mm, __u64 address)
{
	struct mm_struct___5_10 *old_mm = (void *)mm;
	__u64 node = (__u64)BPF_CORE_READ(old_mm, mm_rb.rb_node);
	for (int depth = 0; node && depth < RB_MAX_DEPTH; depth++) {
		__u64 vma = node - bpf_core_field_offset(struct vm_area_struct___5_10, vm_rb);
		struct rb_node *at = (void *)node;
		if (address < BPF_CORE_READ((struct vm_area_struct *)vma, vm_start))
			node = (__u64)BPF_CORE_READ(at, rb_left);
		else if (address >= BPF_CORE_READ((struct vm_area_struct *)vma, vm_end))
			node = (__u64)BPF_CORE_READ(at, rb_right);
		else
			return (void *)vma;
	}
	return 0;
}

/* The same of the current task's own memory, for programs that have no walk. NULL: nothing is
 * there. */
static __always_inline struct vm_area_struct *find_own_vma(__u64 address)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct maple_search search;
	if (!mm)
		return 0;
	if (!has_maple_tree(mm))
		return walk_rb_tree(mm, address);
	search.entry = maple_root(mm);
	bool is_end = !search.entry;
	for (int depth = 0; depth < MAPLE_MAX_DEPTH && !is_end; depth++)
		is_end = walk_maple_node(&search, address);
	return is_end ? (void *)search.entry : 0;
}

/* ---- files ---- */

/* What tells the contents of files apart; a file that is written again is another one. */
struct file_key {
	__u64 inode;
	__u64 mtime_ns;
	__u32 device;
	__u32 generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EVENT_MIN_FILES); /* set by the recorder */
	__type(key, struct file_key);
	__type(value, __u32);
} file_numbers SEC(".maps");

static __always_inline void read_file_key(struct file *file, struct file_key *key)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->device = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
	struct inode___6_7 *inode_6_7 = (void *)inode;
	struct inode___5_10 *inode_5_10 = (void *)inode;
	__u64 seconds = 0, nanoseconds = 0;
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		seconds = BPF_CORE_READ(inode, i_mtime_sec);
		nanoseconds = BPF_CORE_READ(inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(inode_6_7->__i_mtime)) {
		seconds = BPF_CORE_READ(inode_6_7, __i_mtime.tv_sec);
		nanoseconds = BPF_CORE_READ(inode_6_7, __i_mtime.tv_nsec);
	} else if (bpf_core_field_exists(inode_5_10->i_mtime)) {
		seconds = BPF_CORE_READ(inode_5_10, i_mtime.tv_sec);
		nanoseconds = BPF_CORE_READ(inode_5_10, i_mtime.tv_nsec);
	}
	key->mtime_ns = seconds * 1000000000 + nanoseconds;
}

/* Eight characters as they lie in memory. */
#define MEMORY_WORD(a, b, c, d, e, f, g, h) \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
		(__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

/*
 * Compilers map memory twice, to write their code and to run it: such a file of memory is none of
 * code. They are known by their names: "memfd:doublemapper" of .NET, and "memfd:vmem" of asmjit,
 * with which Erlang compiles.
 */
static __always_inline bool is_memory_of_compiler(struct file *file)
{
	enum {
		LAST_3_BYTES = 0xffffff,
	};
	__u64 name[3] = {0};
	/* Shorter names stand where so many bytes do. */
	if (bpf_probe_read_kernel(
		    name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name)))
		return false;
	bool is_asmjit = name[0] == MEMORY_WORD('m', 'e', 'm', 'f', 'd', ':', 'v', 'm') &&
			 (name[1] & LAST_3_BYTES) == MEMORY_WORD('e', 'm', 0, 0, 0, 0, 0, 0);
	bool is_dotnet = name[0] == MEMORY_WORD('m', 'e', 'm', 'f', 'd', ':', 'd', 'o') &&
			 name[1] == MEMORY_WORD('u', 'b', 'l', 'e', 'm', 'a', 'p', 'p') &&
			 (name[2] & LAST_3_BYTES) == MEMORY_WORD('e', 'r', 0, 0, 0, 0, 0, 0);
	return is_asmjit || is_dotnet;
}

/* Of memory that processes share without a file: mmap(MAP_SHARED | MAP_ANONYMOUS). */
static __always_inline bool is_nameless(struct file *file)
{
	enum {
		S_PRIVATE = 512, /* include/linux/fs.h; mm/shmem.c, shmem_zero_setup() */
	};
	return BPF_CORE_READ(file, f_inode, i_flags) & S_PRIVATE || is_memory_of_compiler(file);
}

/* ---- a cache from one sample to the next ---- */

/* Tells address spaces apart, also those that follow each other in the same memory. */
struct address_space {
	struct mm_struct *mm;
	__u64 image;    /* the program in it */
	__u64 changes;  /* the kernel's count of those to its mappings */
	__u64 identity; /* of all this; 0: this kernel does not count, and nothing is remembered */
};

/*
 * mapping_cache remembers for each lane of a CPU what was found, while the mapping stays as it is.
 * Since Linux 6.4 the kernel, before it changes or removes one, writes into it at which count of
 * changes that is (mm/mmap_lock.c, __vma_start_write()), so the others that the process makes
 * meanwhile, for its heap say, do not matter.
 */
struct cached_mapping {
	__u64 image;
	__u64 vma;
	__u64 changes; /* of the mapping, or of its whole address space; see count_changes() */
	__u64 zero;    /* a line of memory each */
	struct mapping mapping;
};

enum {
	MAPPING_CACHE_SLOTS = 256,
	MAPPING_CACHE_SHIFT = 20, /* one mapping of 1 MiB, one slot */
};

#define CHANGES_UNKNOWN (~0ULL)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAPPING_CACHE_SLOTS); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct cached_mapping);
} mapping_cache SEC(".maps");

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static __always_inline void identify_space(
	struct address_space *space, struct mm_struct *mm, __u64 start_ns, __u64 exec_id)
{
	struct mm_struct___6_4 *mm_6_4 = (void *)mm;
	struct mm_struct___5_10 *mm_5_10 = (void *)mm;
	space->mm = mm;
	space->image = mix(mix(mix(1, (__u64)mm), start_ns), exec_id);
	space->identity = 0;
	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		space->changes = BPF_CORE_READ(mm, mm_lock_seq.sequence);
	else if (bpf_core_field_exists(mm_6_4->mm_lock_seq))
		space->changes = (__u32)BPF_CORE_READ(mm_6_4, mm_lock_seq);
	else if (bpf_core_field_exists(mm_5_10->vmacache_seqnum))
		space->changes = BPF_CORE_READ(mm_5_10, vmacache_seqnum);
	else
		return;
	space->identity = mix(space->image, space->changes) | 1;
}

/*
 * At which count of changes a mapping of this space was changed last. CHANGES_UNKNOWN: it is no
 * more; or it is being changed, which shows in a count that is not below that of the space when the
 * walk began.
 */
static __always_inline __u64 count_changes(
	const struct address_space *space, struct vm_area_struct *vma)
{
	if (!bpf_core_field_exists(vma->vm_lock_seq))
		return space->changes;
	__u32 changes = BPF_CORE_READ(vma, vm_lock_seq);
	bool is_settled = (__s32)((__u32)space->changes - changes) > 0;
	return is_settled && BPF_CORE_READ(vma, vm_mm) == space->mm ? changes : CHANGES_UNKNOWN;
}

static __always_inline struct cached_mapping *cache_slot(__u64 address, __u32 lane)
{
	__u32 slot = (__u32)(address >> MAPPING_CACHE_SHIFT) * 0x9e3779b1u >> 24;
	slot = (slot & (MAPPING_CACHE_SLOTS - 1)) + lane * MAPPING_CACHE_SLOTS;
	return bpf_map_lookup_elem(&mapping_cache, &slot);
}

#endif
