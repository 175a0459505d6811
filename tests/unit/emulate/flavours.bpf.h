/*
 * A kernel type has other fields in other releases; bpf/kernel_types.bpf.h
 * declares each such flavour by itself. Emulated objects hold all of them.
 */
#ifndef EBPROF_EMULATE_FLAVOURS_BPF_H
#define EBPROF_EMULATE_FLAVOURS_BPF_H

#include <stddef.h>

#include "bpf/kernel_types.bpf.h"

enum {
	EMULATED_CGROUP_LEVELS = 32,
};

struct all_inode {
	struct inode now;
	struct inode___6_7 at_6_7;
	struct inode___5_10 at_5_10;
};

struct all_vma {
	struct vm_area_struct now;
	struct vm_area_struct___5_10 at_5_10;
	struct all_vma *before; /* that was made before it */
};

struct all_mm {
	struct mm_struct now;
	struct mm_struct___6_4 at_6_4;
	struct mm_struct___5_10 at_5_10;
};

struct all_cgroup {
	struct cgroup now;
	struct cgroup *more_ancestors[EMULATED_CGROUP_LEVELS]; /* behind the first */
	struct cgroup___5_10 at_5_10;
	__u64 more_ids[EMULATED_CGROUP_LEVELS];
};

struct all_task_struct {
	struct task_struct now;
	struct task_struct___5_13 at_5_13;
};

/* Of what a pointer of a flavour's type points to, in the whole object. */
/* clang-format off */
#define FLAVOUR_OFFSET(pointer) \
	_Generic((pointer), \
		struct inode___6_7 *: offsetof(struct all_inode, at_6_7), \
		struct inode___5_10 *: offsetof(struct all_inode, at_5_10), \
		struct vm_area_struct___5_10 *: offsetof(struct all_vma, at_5_10), \
		struct mm_struct___6_4 *: offsetof(struct all_mm, at_6_4), \
		struct mm_struct___5_10 *: offsetof(struct all_mm, at_5_10), \
		struct cgroup___5_10 *: offsetof(struct all_cgroup, at_5_10), \
		struct task_struct___5_13 *: offsetof(struct all_task_struct, at_5_13), \
		default: (size_t)0)
/* clang-format on */

#endif
