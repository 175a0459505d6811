/*
 * The task whose stack is walked, and its memory. That is the current one, which a helper reads;
 * or, where asleep.bpf.c includes this (WALKS_SLEEPERS), one that sleeps while the recorder has a
 * program look at it.
 *
 * No helper reads another task's memory on all kernels, and the one that there is since Linux 5.18
 * may wait for pages: of a file system whose server does not answer, for ever. So its page tables
 * are walked here, without a lock: all of memory is mapped for the kernel in one piece (the direct
 * map), and what is read there that is no table any more leads to bytes that mean nothing, or to an
 * error, but never to a fault. A page that is not in memory cannot be read.
 *
 * Where the direct map begins, and how many levels there are, is not known to programs: the
 * recorder tries what is possible on memory of its own, see try_page_tables().
 *
 * Sources: arch/x86/include/asm/pgtable_types.h, pgtable-invert.h; arch/arm64/include/asm/
 * pgtable-hwdef.h (6.18).
 */
#ifndef EBPROF_WALKED_TASK_BPF_H
#define EBPROF_WALKED_TASK_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/ring.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#ifdef WALKS_SLEEPERS

enum {
	PAGE_MAX_LEVELS = 5,
	PAGE_WORD_SHIFT = 3, /* of an entry */
	PAGE_IS_PRESENT = 1 << 0,
#if defined(__TARGET_ARCH_x86)
	PAGE_IS_HUGE = 1 << 7,
	PAGE_PROT_NONE = 1 << 8, /* and not present: to be looked at by NUMA balancing */
#elif defined(__TARGET_ARCH_arm64)
	PAGE_IS_TABLE = 1 << 1,
#endif
	/* Of addresses of memory: without what encrypts it (bits 47 and 51 of AMD's). */
	PAGE_ADDRESS_BITS = 47,
	WALKED_BYTES = 4096, /* that are read at once, at most */
};

/* Set by the recorder. */
volatile struct page_tables page_tables;

/* Where the tables of the task that ran try_page_tables() begin. */
volatile __u64 own_page_tables;

/* One at a time: the recorder's thread has the programs run. */
static struct walked_sleeper {
	__u64 task, mm;
	__u64 page;  /* number + 1 of the one that was looked up last, */
	__u64 found; /* ... and where the kernel has it; 0: nowhere */
	__u64 entry, table;
	__u64 address, left, done, end; /* of bytes to be read; end: of those that were */
	__u64 from;                     /* where they can be read */
	__u32 shift;                    /* of an address, for its place in the table */
	__u32 is_text;
	__u8 bytes[2 * WALKED_BYTES]; /* that were read last */
} walked SEC(".data.walked");         /* .bss is that of the other programs */

static __always_inline void begin_walked(__u64 task, __u64 mm)
{
	walked.task = task;
	walked.mm = mm;
	walked.page = 0;
}

/* ---- page tables ---- */

static __always_inline bool is_page_readable(__u64 entry)
{
#if defined(__TARGET_ARCH_x86)
	return entry & (PAGE_IS_PRESENT | PAGE_PROT_NONE);
#else
	return entry & PAGE_IS_PRESENT;
#endif
}

/* Whether an entry, not of the last level, is that of a page all the same. */
static __always_inline bool is_page_large(__u64 entry)
{
#if defined(__TARGET_ARCH_x86)
	return entry & PAGE_IS_HUGE;
#else
	return !(entry & PAGE_IS_TABLE);
#endif
}

/* The address in memory that an entry has. */
static __always_inline __u64 address_of_entry(__u64 entry, __u32 shift)
{
#if defined(__TARGET_ARCH_x86)
	if (!(entry & PAGE_IS_PRESENT)) /* turned over, so that no processor guesses by it */
		entry = ~entry;
#endif
	return entry & ((1ULL << PAGE_ADDRESS_BITS) - 1) & ~((1ULL << shift) - 1);
}

/*
 * Addresses that no program has lead into the kernel's half of the tables, to pages of another
 * address, or behind the first table, which is as short as they allow: the helpers for the task
 * that runs refuse them, too. On arm64 the top byte of an address may be a tag.
 */
static __always_inline bool is_user_address(__u64 address)
{
#if defined(__TARGET_ARCH_arm64)
	address &= ~(0xffULL << 56);
#endif
	return !(address >> (page_tables.address_bits & 63));
}

static __always_inline __u64 page_mask(void)
{
	return (1ULL << (config.page_shift & 31)) - 1;
}

/* One level down, to the page or the next table. False: that was the last. */
static __always_inline bool walk_page_table(void)
{
	__u32 bits = config.page_shift - PAGE_WORD_SHIFT, shift = walked.shift & 63;
	__u64 index = walked.address >> shift & ((1ULL << (bits & 15)) - 1);
	if (bpf_probe_read_kernel(&walked.entry, sizeof(walked.entry),
		    (const void *)(walked.table + (index << PAGE_WORD_SHIFT))) ||
		!is_page_readable(walked.entry))
		return false;
	bool is_page = shift <= config.page_shift || is_page_large(walked.entry);
	walked.table = page_tables.direct_map +
		       address_of_entry(walked.entry, is_page ? shift : config.page_shift);
	walked.shift = shift - bits;
	if (is_page)
		walked.found =
			walked.table + (walked.address & ((1ULL << shift) - 1) & ~page_mask());
	return !is_page;
}

/* Leaves in `walked` where the kernel has the page of the address. */
static __always_inline void find_user_page(void)
{
	struct mm_struct *mm = (void *)walked.mm;
	__u64 page = (walked.address >> (config.page_shift & 31)) + 1;
	if (walked.page == page)
		return;
	walked.page = page;
	walked.found = 0;
	if (!is_user_address(walked.address))
		return;
	bpf_core_read(&walked.table, sizeof(walked.table), &mm->pgd);
	walked.shift = page_tables.first_shift;
	for (int level = 0; level < PAGE_MAX_LEVELS && walk_page_table(); level++)
		;
}

/* The next of the bytes, up to the end of their page. */
static __always_inline bool copy_of_page(void)
{
	__u64 inside = walked.address & page_mask(), bytes = page_mask() + 1 - inside;
	__u64 done = walked.done;
	if (bytes > walked.left)
		bytes = walked.left;
	walked.address += bytes;
	walked.left -= bytes;
	walked.done += bytes;
	asm volatile("" : "+r"(done), "+r"(bytes)); /* or clang thinks the bounds are known */
	return walked.found && done <= WALKED_BYTES && bytes <= WALKED_BYTES &&
	       !bpf_probe_read_kernel(
		       walked.bytes + done, bytes, (const void *)(walked.found + inside));
}

/* False: that cannot be read. */
static __always_inline bool copy_next_page(void)
{
	walked.end = walked.done;
	find_user_page();
	if (!copy_of_page())
		return false;
	walked.end = walked.done;
	return true;
}

/*
 * walked.address and so on, to walked.bytes; up to `end` they were read. There are two pages at
 * most. No loop: clang makes one that begins by falling through into it, which Linux 5.10 refuses
 * ("back-edge").
 */
static __always_inline void copy_pages(void)
{
	walked.done = walked.end = 0;
	if (walked.left && copy_next_page() && walked.left)
		copy_next_page();
}

/*
 * Leaves in walked.from where these bytes of the task that sleeps can be read; 0: nowhere. Of a
 * text that may end before the page does behind which nothing is, there are walked.end bytes. A
 * global function, which the verifier looks at once, and which keeps what it needs in `walked`:
 * chains of calls take as much of the stack as the kernel allows.
 */
__noinline int find_walked(__u64 address, __u64 bytes, __u32 is_text);
__noinline int find_walked(__u64 address, __u64 bytes, __u32 is_text)
{
	walked.is_text = is_text;
	walked.address = address;
	walked.left = bytes;
	walked.from = 0;
	copy_pages();
	__u64 end = walked.end;
	asm volatile("" : "+r"(end));
	walked.bytes[end & (2 * WALKED_BYTES - 1)] = 0;
	bool is_whole = walked.end == walked.done && !walked.left;
	if (is_whole || (walked.is_text && walked.end))
		walked.from = (__u64)walked.bytes;
	return 0;
}

/* Linux 5.10 forgets how large a number is that is kept on the stack during a call. */
static __always_inline bool is_bounded(__u32 *bytes)
{
	asm volatile("" : "+r"(*bytes)); /* or clang knows that it is */
	return *bytes <= WALKED_BYTES;
}

/* By a number and not by a pointer or none, of which the verifier would follow both. */
static __always_inline long read_walked(void *to, __u32 bytes, const void *from)
{
	find_walked((__u64)from, bytes, false);
	if (!__builtin_constant_p(bytes) && !is_bounded(&bytes))
		return -1;
	return bpf_probe_read_kernel(to, bytes, (const void *)walked.from);
}

static __always_inline long read_walked_text(void *to, __u32 bytes, const void *from)
{
	find_walked((__u64)from, bytes, true);
	if (!__builtin_constant_p(bytes) && !is_bounded(&bytes))
		return -1;
	long copied = bpf_probe_read_kernel_str(to, bytes, (const void *)walked.from);
	/* The zero that ends it is the one that find_walked() put behind what it could read. */
	return copied > 0 && (__u64)copied > walked.end ? -1 : copied;
}

/* The walk itself is the same. */
#define bpf_probe_read_user(to, bytes, from)     read_walked(to, bytes, from)
#define bpf_probe_read_user_str(to, bytes, from) read_walked_text(to, bytes, from)

static __always_inline struct task_struct *walked_task(void)
{
	return (void *)walked.task;
}

/* As bpf_get_current_pid_tgid() has them. */
static __always_inline __u64 walked_pid_tgid(void)
{
	struct task_struct *task = walked_task();
	return (__u64)(__u32)BPF_CORE_READ(task, tgid) << 32 | (__u32)BPF_CORE_READ(task, pid);
}

static __always_inline __u32 walked_uid(void)
{
	struct task_struct *task = walked_task();
	return BPF_CORE_READ(task, cred, uid.val);
}

#else

static __always_inline struct task_struct *walked_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

static __always_inline __u64 walked_pid_tgid(void)
{
	return bpf_get_current_pid_tgid();
}

static __always_inline __u32 walked_uid(void)
{
	return (__u32)bpf_get_current_uid_gid();
}

#endif

#endif
