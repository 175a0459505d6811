/*
 * What the BPF programs and the recorder say to each other. The only header
 * that both include, so it includes nothing itself and spells its types out.
 */
#ifndef EBPROF_EVENT_H
#define EBPROF_EVENT_H

enum {
	EVENT_MAX_KERNEL_FRAMES = 127, /* sysctl kernel.perf_event_max_stack, as the kernel ships */
	EVENT_MAX_USER_FRAMES = 512,
	EVENT_COMM_BYTES = 16, /* TASK_COMM_LEN */
	EVENT_SEEN_SLOTS = 1 << 16,
	EVENT_MAX_TARGETS = 1 << 15,
};

enum event_type {
	EVENT_STACK = 1,
	EVENT_SAMPLE = 2,
};

enum event_stack_kind {
	EVENT_STACK_USER = 0,
	EVENT_STACK_KERNEL = 1,
};

/* How a user stack ended. */
enum event_stack_end {
	EVENT_END_COMPLETE = 0,
	EVENT_END_BROKEN_FRAME_POINTER = 1,
	EVENT_END_UNREADABLE = 2,
	EVENT_END_DEPTH = 3,
	EVENT_END_NO_REGISTERS = 4,
};

/*
 * Sent once for each new stack, always ahead of the first sample that names it.
 * nr_frames addresses (u64) follow: leaf first, return addresses behind the leaf.
 */
struct event_stack {
	unsigned int type; /* EVENT_STACK */
	unsigned short kind;
	unsigned short end;
	unsigned int pid; /* whose mappings the addresses mean */
	unsigned int nr_frames;
	unsigned long long hash;
	unsigned long long time_ns;
};

struct event_sample {
	unsigned int type; /* EVENT_SAMPLE */
	unsigned int cpu;
	unsigned int pid, tid;
	unsigned long long time_ns;     /* CLOCK_MONOTONIC */
	unsigned long long user_hash;   /* 0: no user stack (kernel thread) */
	unsigned long long kernel_hash; /* 0: not in the kernel */
	unsigned long long start_ns; /* of the process: start_boottime, tells reused pids apart */
	char comm[EVENT_COMM_BYTES];
};

_Static_assert(sizeof(struct event_stack) == 32, "wire size");
_Static_assert(sizeof(struct event_sample) == 64, "wire size");

/* Per CPU; ticks == samples + idle + filtered + lost_ring, exactly. */
struct event_counters {
	unsigned long long ticks;
	unsigned long long samples; /* handed to the ring */
	unsigned long long idle;
	unsigned long long filtered;
	unsigned long long lost_ring;
};

/* Fixed before the programs are loaded. */
enum event_filter {
	EVENT_FILTER_NONE = 0,
	EVENT_FILTER_PROCESS = 1, /* the target map holds tgids */
	EVENT_FILTER_THREAD = 2,  /* ... tids */
};

struct event_config {
	unsigned int filter;
	unsigned int
		follow_children;   /* new processes, or with EVENT_FILTER_THREAD new threads, too */
	unsigned int wakeup_bytes; /* unread ring bytes at which the recorder is woken */
};

/* ---- unwind rules: how to get from a frame to its caller ---- */

enum unwind_cfa {
	UNWIND_CFA_NONE = 0,   /* no rule covers the address */
	UNWIND_CFA_REGISTER,   /* register + offset */
	UNWIND_CFA_DEREF,      /* *(register + low 16 bits of offset) + high 16 bits */
	UNWIND_CFA_PLT,        /* sp + 8, and 8 more when (ip & 15) >= offset */
	UNWIND_CFA_UNSUPPORTED /* known, but beyond a rule */
};

enum unwind_register {
	UNWIND_SAME = 0, /* unchanged */
	UNWIND_AT_CFA,   /* saved at CFA + offset */
	UNWIND_AT_SP,    /* saved at sp + offset */
	UNWIND_IN_REGISTER,
	UNWIND_UNDEFINED, /* of the return address: this is the outermost frame */
	UNWIND_UNSUPPORTED
};

enum unwind_flag {
	UNWIND_SIGNAL_FRAME = 1, /* the caller was interrupted: its pc is exact */
};

/*
 * Where the rules of a file hold is said by rows {offset & 0xffff | rule << 16},
 * each good until the next. They are grouped by page of the file, so that a
 * search stays among a page's few: rows[first], ..., rows[first + count - 1]
 * ascend, and the first of them is at the page's first byte.
 */
enum {
	UNWIND_PAGE_SHIFT = 12, /* of file offsets: all that the kernel knows of an address */
	UNWIND_MAX_PAGES = 1 << 19,
};

struct unwind_page {
	unsigned int first, count; /* of rows; count 0: nothing is known in this page */
};

/* Whatever does not matter to a rule is zero, so that equal rules have equal bytes. */
struct unwind_rule {
	unsigned char cfa;            /* enum unwind_cfa */
	unsigned char cfa_register;   /* DWARF number */
	unsigned char fp : 4, ra : 4; /* enum unwind_register */
	unsigned char flags;          /* enum unwind_flag */
	int cfa_offset;
	short fp_offset, ra_offset;
	/* x86-64 only: the lazy binding of ld.so keeps its CFA in rbx while it calls. */
	short rbx_offset;
	unsigned char rbx; /* enum unwind_register */
	unsigned char zero;
};

_Static_assert(sizeof(struct unwind_rule) == 16, "the map of rules is an array of these");

#endif
