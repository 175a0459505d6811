/*
 * What belongs to the thread that was interrupted: its pointer, the values that it has for keys
 * of pthread_key_create(), and its variables.
 *
 * Sources: nptl/descr.h, sysdeps/{x86_64,aarch64}/nptl/tls.h and sysdeps/aarch64/dl-tlsdesc.h of
 * glibc 2.36; src/internal/pthread_impl.h and src/thread/__tls_get_addr.c of musl 1.2.4.
 */
#ifndef EBPROF_THREAD_BPF_H
#define EBPROF_THREAD_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/walked_task.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* False: it cannot be read. */
static __always_inline bool read_word(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)address);
}

/* What struct pthread of both libraries has, and where the vector of the modules' blocks is from
 * the thread's pointer. */
enum {
#if defined(__TARGET_ARCH_x86)
	GLIBC_FIRST_BLOCK = 0x310, /* specific_1stblock: pairs of a number and the value */
	MUSL_TSD = 128,            /* pointer to the values */
	GLIBC_MODULES = 8,
	MUSL_MODULES = 8,
#elif defined(__TARGET_ARCH_arm64)
	GLIBC_FIRST_BLOCK = 0x110,
	MUSL_TSD = 112,
	GLIBC_MODULES = 0,
	MUSL_MODULES = -8,
	/* struct pthread lies ahead of the pointer, and its size differs from version to version:
	 * 0x740 in glibc 2.36, 0x720 in 2.41. */
	GLIBC_SIZE_LEAST = 0x680,
	GLIBC_SIZE_MOST = 0x800,
	GLIBC_SIZE_STEP = 16,
	MUSL_SIZE = 200, /* of 1.2 */
#endif
	GLIBC_BLOCKS = GLIBC_FIRST_BLOCK + 0x200, /* specific: pointers to such blocks */
	GLIBC_BLOCK_KEYS_SHIFT = 5,
	GLIBC_MAX_KEYS = 1024,

	GLIBC_MODULE_SHIFT = 4,
	MUSL_MODULE_SHIFT = 3,
	MAX_MODULES = 1 << 16,
};

static __always_inline __u64 thread_pointer(void)
{
	struct task_struct *task = walked_task();
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#elif defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

#if defined(__TARGET_ARCH_x86)
/* What pthread_self() is, by the thread's pointer: the same. */
static __always_inline __u64 glibc_self(__u64 thread)
{
	return thread;
}

static __always_inline __u64 musl_self(__u64 thread)
{
	return thread;
}
#elif defined(__TARGET_ARCH_arm64)
/*
 * What pthread_self() is, by the thread's pointer. glibc's first block of values is a part of the
 * structure, to which its list of blocks points first of all. 0: that is nowhere. A global
 * function, which is verified once.
 */
__noinline __u64 glibc_self(__u64 thread);
__noinline __u64 glibc_self(__u64 thread)
{
	for (__u32 size = GLIBC_SIZE_LEAST; size < GLIBC_SIZE_MOST; size += GLIBC_SIZE_STEP) {
		__u64 self = thread - size, first;
		if (read_word(self + GLIBC_BLOCKS, &first) && first == self + GLIBC_FIRST_BLOCK)
			return self;
	}
	return 0;
}

static __always_inline __u64 musl_self(__u64 thread)
{
	return thread - MUSL_SIZE;
}
#endif

/* The value of a key, of the structure of a thread. */
static __always_inline bool glibc_value(__u64 self, __u32 key, __u64 *ret)
{
	__u64 block = self + GLIBC_FIRST_BLOCK;
	__u32 number = key >> GLIBC_BLOCK_KEYS_SHIFT;
	if (number && !read_word(self + GLIBC_BLOCKS + number * 8, &block))
		return false;
	__u32 place = key & ((1 << GLIBC_BLOCK_KEYS_SHIFT) - 1);
	return read_word(block + place * 16 + 8, ret);
}

static __always_inline bool musl_value(__u64 self, __u32 key, __u64 *ret)
{
	__u64 values;
	return read_word(self + MUSL_TSD, &values) && read_word(values + key * 8, ret);
}

/* The vector of the modules' blocks. */
static __always_inline bool module_blocks(__u64 thread, __u32 module_shift, __u64 *ret)
{
	__s64 place = module_shift == GLIBC_MODULE_SHIFT ? GLIBC_MODULES : MUSL_MODULES;
	return read_word(thread + place, ret);
}

/* Where the thread has its own copy of what the file with this number has. */
static __always_inline bool module_block(__u64 thread, __u64 module, __u32 module_shift, __u64 *ret)
{
	__u64 blocks;
	return module < MAX_MODULES && module_blocks(thread, module_shift, &blocks) &&
	       read_word(blocks + (module << module_shift), ret);
}

/*
 * A variable by the slot that the dynamic linker filled, module and offset, of which `more` is to
 * be added; as the C library keeps its modules.
 */
static __always_inline bool slot_word(
	__u64 thread, __u64 slot_address, __u32 more, __u32 module_shift, __u64 *ret)
{
	__u64 slot[2], block;
	return !bpf_probe_read_user(slot, sizeof(slot), (const void *)slot_address) &&
	       module_block(thread, slot[0], module_shift, &block) &&
	       read_word(block + slot[1] + more, ret);
}

/*
 * A variable by a word with its distance from the thread's pointer; or, since descriptors have
 * either, with the address of what the dynamic linker of glibc keeps of one that is a module's:
 * a slot as above. Addresses are large.
 */
static __always_inline bool distance_word(__u64 thread, __u64 word_address, __u32 more, __u64 *ret)
{
	const __u64 most = 1 << 20;
	__u64 distance;
	if (!read_word(word_address, &distance))
		return false;
	if (distance + most < 2 * most)
		return read_word(thread + distance + more, ret);
	return slot_word(thread, distance, more, GLIBC_MODULE_SHIFT, ret);
}

#endif
