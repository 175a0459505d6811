/*
 * The few kernel types that our programs touch, declared by hand: only the
 * members that are read, placed by CO-RE relocation at load time from the
 * running kernel's BTF. No vmlinux.h, no BTF at build time.
 */
#ifndef EBPROF_KERNEL_TYPES_BPF_H
#define EBPROF_KERNEL_TYPES_BPF_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum {
	false = 0,
	true = 1,
};

/* include/uapi/linux/bpf.h */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};
enum {
	BPF_F_MMAPABLE = 1 << 10,
};
enum {
	BPF_F_USER_STACK = 1 << 8,
};
/* `enum` has no room for it in C11. */
#define BPF_F_CURRENT_CPU 0xffffffffULL
enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};
enum {
	BPF_RB_AVAIL_DATA = 0,
};

#ifdef __bpf__
#define KERNEL_TYPE __attribute__((preserve_access_index))
#else /* for user space, where tests emulate a kernel that has these very types */
#define KERNEL_TYPE
#endif

/* Asked for by name at load time: a kernel without a helper lacks its number. */
enum bpf_func_id___ours {
	BPF_FUNC_task_pt_regs___ours = 1,
	BPF_FUNC_get_current_task_btf___ours = 2,
	BPF_FUNC_get_attach_cookie___ours = 3,
};
#define KERNEL_HAS_HELPER(name) \
	bpf_core_enum_value_exists(enum bpf_func_id___ours, BPF_FUNC_##name##___ours)

#if defined(__TARGET_ARCH_x86)
/* arch/x86/include/asm/ptrace.h; the layout of the saved registers is ABI. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#elif defined(__TARGET_ARCH_arm64)
/* arch/arm64/include/uapi/asm/ptrace.h, struct user_pt_regs */
struct pt_regs {
	__u64 regs[31], sp, pc, pstate;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#else
#error "no register layout for this architecture"
#endif

/* include/uapi/linux/bpf.h */
struct bpf_perf_event_value {
	__u64 counter, enabled, running;
};

/* include/uapi/linux/bpf_perf_event.h */
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

/* ---- memory maps; the flavours (___) are those of other kernel versions ---- */

struct super_block {
	__u32 s_dev;
} KERNEL_TYPE;

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
} KERNEL_TYPE;

struct inode {
	unsigned int i_flags;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
	__s64 i_mtime_sec; /* Linux 6.11 */
	__u32 i_mtime_nsec;
} KERNEL_TYPE;

struct inode___6_7 {
	struct timespec64 __i_mtime;
} KERNEL_TYPE;

struct inode___5_10 {
	struct timespec64 i_mtime;
} KERNEL_TYPE;

struct qstr {
	const unsigned char *name;
} KERNEL_TYPE;

struct dentry {
	struct qstr d_name;
} KERNEL_TYPE;

struct path {
	struct dentry *dentry;
} KERNEL_TYPE;

struct file {
	struct inode *f_inode;
	struct path f_path;
} KERNEL_TYPE;

struct mm_struct;

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned int vm_lock_seq; /* Linux 6.4 */
	unsigned long vm_pgoff;
	struct file *vm_file;
} KERNEL_TYPE;

struct rb_node {
	struct rb_node *rb_right, *rb_left;
} KERNEL_TYPE;

struct rb_root {
	struct rb_node *rb_node;
} KERNEL_TYPE;

struct vm_area_struct___5_10 {
	struct rb_node vm_rb;
} KERNEL_TYPE;

struct maple_tree { /* Linux 6.1 */
	void *ma_root;
} KERNEL_TYPE;

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
} KERNEL_TYPE;

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
} KERNEL_TYPE;

typedef struct {
	void *vdso;
} KERNEL_TYPE mm_context_t;

typedef struct {
	unsigned int sequence;
} KERNEL_TYPE seqcount_t;

/* ---- uprobes ---- */

struct return_instance {
	unsigned long stack; /* pointer, where the function was entered */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} KERNEL_TYPE;

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr;     /* of the instruction that is stepped over, */
	unsigned long xol_vaddr; /* ... and of its copy; 0: none is */
} KERNEL_TYPE;

struct xol_area {
	unsigned long vaddr;
} KERNEL_TYPE;

struct uprobes_state {
	struct xol_area *xol_area;
} KERNEL_TYPE;

struct mm_struct {
	struct maple_tree mm_mt;
	seqcount_t mm_lock_seq; /* Linux 6.12 */
	void *pgd;              /* pgd_t * */
	unsigned long end_code;
	unsigned long start_stack;
	unsigned long env_start, env_end;
	mm_context_t context;
	struct uprobes_state uprobes_state;
} KERNEL_TYPE;

struct mm_struct___6_4 {
	int mm_lock_seq;
} KERNEL_TYPE;

struct mm_struct___5_10 {
	struct rb_root mm_rb;
	__u64 vmacache_seqnum;
} KERNEL_TYPE;

struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#elif defined(__TARGET_ARCH_arm64)
	struct {
		unsigned long tp_value;
	} uw;
#endif
} KERNEL_TYPE;

struct ns_common {
	unsigned int inum;
} KERNEL_TYPE;

struct pid_namespace {
	struct ns_common ns;
} KERNEL_TYPE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNEL_TYPE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL_TYPE;

typedef struct {
	int counter;
} KERNEL_TYPE atomic_t;

struct signal_struct {
	atomic_t live;
} KERNEL_TYPE;

struct sched_entity {
	__u64 sum_exec_runtime;
} KERNEL_TYPE;

struct sched_info {
	unsigned long long run_delay;
} KERNEL_TYPE;

struct cred {
	struct {
		unsigned int val;
	} uid; /* the real one, kuid_t */
} KERNEL_TYPE;

/* ---- control groups ---- */

struct kernfs_node {
	__u64 id;
} KERNEL_TYPE;

struct cgroup {
	int level; /* of the root of its hierarchy: 0 */
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* by level, with itself; Linux 6.1 */
} KERNEL_TYPE;

struct cgroup___5_10 {
	__u64 ancestor_ids[1];
} KERNEL_TYPE;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} KERNEL_TYPE;

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
	struct cgroup *dfl_cgrp;               /* of version 2 */
} KERNEL_TYPE;

/* Numbers are the kernel's build's. */
enum cgroup_subsys_id___ours {
	memory_cgrp_id___ours = 0,
};

struct task_struct {
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct sched_entity se;
	struct sched_info sched_info; /* with CONFIG_SCHED_INFO */
	unsigned long nvcsw, nivcsw;
	unsigned int on_cpu; /* int; u8 since Linux 7.2: unsigned, so that a load can be fitted to
				that */
	unsigned int __state;
	char comm[16];
	unsigned int flags;
	struct task_struct *group_leader;
	__u64 start_boottime;
	__u64 parent_exec_id;
	__u64 self_exec_id;
	struct mm_struct *mm;
	void *stack;
	struct cred *cred;
	struct css_set *cgroups;
	struct uprobe_task *utask;
	struct thread_struct thread;
} KERNEL_TYPE;

struct task_struct___5_13 {
	long state;
} KERNEL_TYPE;

/* ---- requests to disks ---- */

struct gendisk {
	int major, first_minor;
} KERNEL_TYPE;

struct request_queue {
	struct gendisk *disk;
} KERNEL_TYPE;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 start_time_ns;
} KERNEL_TYPE;

struct request___5_16 {
	struct gendisk *rq_disk;
} KERNEL_TYPE;

/* include/uapi/linux/bpf.h */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

enum {
	PF_KTHREAD = 0x00200000, /* include/linux/sched.h */
	VM_EXEC = 0x00000004,    /* include/linux/mm.h */
};

#endif
