/*
 * What belongs to the thread that was interrupted: its pointer, the values that it has for keys
 * of pthread_key_create(), and its variables.
 *
 * Sources: nptl/descr.h and sysdeps/x86_64/nptl/tls.h of glibc 2.36; src/internal/pthread_impl.h
 * and src/thread/__tls_get_addr.c of musl 1.2.4.
 */
#ifndef EBPROF_THREAD_BPF_H
#define EBPROF_THREAD_BPF_H

#include "bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* False: it cannot be read. */
static __always_inline bool read_word(__u64 address, __u64 *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)address);
}

enum {                             /* struct pthread of x86-64 */
	GLIBC_FIRST_BLOCK = 0x310, /* specific_1stblock: pairs of a number and the value */
	GLIBC_BLOCKS = 0x510,      /* specific: pointers to such blocks */
	GLIBC_BLOCK_KEYS_SHIFT = 5,
	GLIBC_MAX_KEYS = 1024,
	MUSL_TSD = 128, /* pointer to the values */

	THREAD_MODULES = 8, /* the vector of the modules' blocks, in both */
	GLIBC_MODULE_SHIFT = 4,
	MUSL_MODULE_SHIFT = 3,
	MAX_MODULES = 1 << 16,
};

static __always_inline __u64 thread_pointer(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#elif defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

static __always_inline bool glibc_value(__u64 thread, __u32 key, __u64 *ret)
{
	__u64 block = thread + GLIBC_FIRST_BLOCK;
	__u32 number = key >> GLIBC_BLOCK_KEYS_SHIFT;
	if (number && !read_word(thread + GLIBC_BLOCKS + number * 8, &block))
		return false;
	__u32 place = key & ((1 << GLIBC_BLOCK_KEYS_SHIFT) - 1);
	return read_word(block + place * 16 + 8, ret);
}

static __always_inline bool musl_value(__u64 thread, __u32 key, __u64 *ret)
{
	__u64 values;
	return read_word(thread + MUSL_TSD, &values) && read_word(values + key * 8, ret);
}

/* Where the thread has its own copy of what the file with this number has. */
static __always_inline bool module_block(__u64 thread, __u64 module, __u32 module_shift, __u64 *ret)
{
	__u64 blocks;
	return module < MAX_MODULES && read_word(thread + THREAD_MODULES, &blocks) &&
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

#endif
