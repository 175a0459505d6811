/*
 * What the BPF programs and the recorder say to each other. It spells its types out and includes
 * nothing but what does the same, since both sides include it. So do they format/unwind and, of
 * runtimes that interpret programs, bpf/runtime/runtime_row.h.
 */
#ifndef EBPROF_EVENT_H
#define EBPROF_EVENT_H

#include "format/unwind/unwind_rule.h"

enum {
	EVENT_MAX_KERNEL_FRAMES = 127, /* sysctl kernel.perf_event_max_stack, as the kernel ships */
	EVENT_MAX_USER_FRAMES = 1024,
	EVENT_COMM_BYTES = 16, /* TASK_COMM_LEN */
	EVENT_SEEN_SLOTS = 1 << 16,
	EVENT_MAX_TARGETS = 1 << 15,
	EVENT_MIN_FILES =
		1 << 14, /* files that can be told apart; more where there are many CPUs */
	EVENT_FILES_PER_CPU = 256,
	EVENT_RECORDER_FILES = 1 << 10, /* of them, the last: the recorder numbers them itself */
	EVENT_SNAPSHOT_CHUNK_BYTES = 4096,
	EVENT_MAX_SNAPSHOT_CHUNKS = 32,
	EVENT_MAX_PROBES = 255,
	EVENT_PROBE_IS_RETURN = 1 << 16, /* beside the number of a probe, as it was attached */
	EVENT_MAX_WAITING = 1 << 16,     /* threads that wait at a time */
	EVENT_MAX_WAKER_CPUS = 1 << 10,  /* a power of two: numbers of wakers have so many apart */
	EVENT_MAX_SOURCES = 64,          /* numbers of sources stay below */
	EVENT_MAX_COUNTERS = 8,          /* events that the kernel counts, each a source */
	EVENT_MAX_TRACES = 8,            /* patterns of tracepoints, each a source */
	EVENT_MAX_TRACE_POINTS = 512,
	EVENT_MAX_KEPT = 1 << 16, /* allocations that are in use at a time, of those sampled ... */
	EVENT_MAX_KEPT_OF_PROCESS = 1 << 15, /* ... of one process */
	EVENT_DISTANCE_BITS = 10,
	EVENT_DISTANCES = 1 << EVENT_DISTANCE_BITS,
	EVENT_MAX_CALLS = 6,            /* functions whose time is measured, each a source */
	EVENT_MAX_OPEN_CALLS = 1 << 16, /* calls of them that have not returned */
	EVENT_MAX_OPEN_SYSCALLS = 1 << 16,
	EVENT_MAX_CONTENTIONS = 1 << 14,     /* tasks that wait for locks of the kernel at a time */
	EVENT_MAX_OPEN_REQUESTS = 1 << 15,   /* to disks */
	EVENT_MAX_THREAD_CONTEXTS = 1 << 13, /* processes whose threads publish what they work at */
	EVENT_DEVICE_MINOR_BITS = 20,      /* of a device's number, below those of the major one */
	EVENT_MAX_SYSCALLS = 1 << 10,      /* numbers of system calls stay below */
	EVENT_MAX_GROUP_THREADS = 1 << 14, /* that were counted and not sampled since, at a time */
	EVENT_SYSCALL_OF_32_BITS = 0xffff, /* in place of a number: of a program of 32 bits */
};

/*
 * What causes samples. Each has a file in bpf/source/, and a row of this number in record/source/.
 */
enum event_source_number {
	EVENT_SOURCE_TIMER = 0,
	EVENT_SOURCE_PROBE = 1,
	EVENT_SOURCE_WAIT = 2,
	EVENT_SOURCE_COUNTER = 3, /* the first of EVENT_MAX_COUNTERS */
	EVENT_SOURCE_TRACE = EVENT_SOURCE_COUNTER + EVENT_MAX_COUNTERS, /* of EVENT_MAX_TRACES */
	EVENT_SOURCE_HEAP = EVENT_SOURCE_TRACE + EVENT_MAX_TRACES,      /* see enum event_heap */
	/* What takes time, and has a beginning and an end: the first of EVENT_DURATIONS. */
	EVENT_SOURCE_DURATION = EVENT_SOURCE_HEAP + 5,
	EVENT_SOURCE_CALL = EVENT_SOURCE_DURATION, /* the first of EVENT_MAX_CALLS */
	EVENT_SOURCE_SYSCALL = EVENT_SOURCE_CALL + EVENT_MAX_CALLS,
	EVENT_SOURCE_LOCK,
	EVENT_SOURCE_BLOCK_IO,
	EVENT_SOURCES,
	EVENT_DURATIONS = EVENT_SOURCES - EVENT_SOURCE_DURATION,
};

/*
 * The sources of allocations, beside EVENT_SOURCE_HEAP: each has one event. The BPF programs know
 * the first and the last, and the recorder makes the others' samples of those of the first.
 */
enum event_heap {
	EVENT_HEAP_ALLOCATED_BYTES,
	EVENT_HEAP_ALLOCATED_OBJECTS,
	EVENT_HEAP_USED_BYTES, /* by what was not freed until recording, or the program, ended */
	EVENT_HEAP_USED_OBJECTS,
	EVENT_HEAP_LIFETIME, /* of those that were freed: how long they were in use, in ns */
	EVENT_HEAPS,
};

/* The events of EVENT_SOURCE_WAIT: how long tasks were off their CPUs. */
enum event_wait {
	EVENT_WAIT_OFF_CPU = 0,   /* blocked: they had nothing to do, or could not go on */
	EVENT_WAIT_RUN_QUEUE = 1, /* ready to run */
	EVENT_WAITS,
};

/*
 * Where on a CPU an event's sample is put together: a lane's events never interrupt each other, but
 * may interrupt the walk of an event of a later lane. Only those that the session's sources use are
 * there: that of tasks is always the last one, see task_lane().
 */
enum event_lane {
	/* The kernel never nests two of our ticks on one CPU, nor does anything of a task run there
	 * before a tick is through. */
	EVENT_LANE_INTERRUPT = 0,
	/* At the end of a switch of tasks: only interrupts come between. */
	EVENT_LANE_SWITCH = 1,
	/* These can be preempted (since Linux 6.0): one that finds another task's under way on its
	 * CPU makes no sample, but is counted. */
	EVENT_LANE_TASK = 2,
	EVENT_LANES,
};

enum event_type {
	EVENT_STACK = 1,
	EVENT_SAMPLE = 2,
	EVENT_FILE = 3,
	EVENT_SNAPSHOT = 4,
	EVENT_SNAPSHOT_CHUNK = 5,
	EVENT_SAMPLE_AGAIN = 6, /* a struct event_sample: the same tick, with a snapshot */
	EVENT_CODE = 7,         /* see bpf/runtime/ */
	EVENT_FORKS = 8, /* the type alone: processes forked, see record/event/timer_choice.h */
	EVENT_LABELS = 9,
	EVENT_WAKER = 10, /* a struct event_sample: who ended a wait whose sample comes later */
	EVENT_BEGUN = 11, /* likewise: who began what the EVENT_ENDED of its number ends */
	/* A struct event_sample of the task and with the stacks of the EVENT_BEGUN: it has none. */
	EVENT_ENDED = 12,
	EVENT_MOVED = 13,
	EVENT_THREAD_TIMES = 14, /* see enum event_wait */
	EVENT_ENVIRONMENT = 15,
	/* The struct event_sample of an allocation that was freed; measured: how many ns later. */
	EVENT_FREED = 16,
};

struct event_moved {       /* a process is in another control group */
	unsigned int type; /* EVENT_MOVED */
	unsigned int pid;
	unsigned long long time_ns;
};

_Static_assert(sizeof(struct event_moved) == 16, "wire size");

enum {
	EVENT_MAX_VARIABLES = 8,            /* that are looked for */
	EVENT_MAX_VARIABLE_BYTES = 512,     /* that are read at once, with a NUL */
	EVENT_MAX_ENVIRONMENT_BYTES = 2048, /* behind so many no more are taken */
};

/* How a variable begins: its first bytes as they are in memory, others 0. */
struct event_variable {
	unsigned long long word, mask;
};

/* Variables that begin as wanted, of the program that a process executes. */
struct event_environment {
	unsigned int type; /* EVENT_ENVIRONMENT */
	unsigned int pid;
	unsigned long long start_ns; /* of the process, */
	unsigned long long exec_ns;  /* ... and when it was executed, CLOCK_BOOTTIME both */
	unsigned int exec_id;        /* of its program, as samples have it */
	unsigned int bytes;
	unsigned int is_cut; /* these are not all, or not whole: what is cut has all the bytes that
			      * are read at once */
	unsigned int zero;
	unsigned char text[EVENT_MAX_ENVIRONMENT_BYTES]; /* with one NUL or more behind each */
};

_Static_assert(sizeof(struct event_environment) == 40 + 2048, "wire size");

enum event_stack_kind {
	EVENT_STACK_USER = 0,
	EVENT_STACK_KERNEL = 1,
};

/*
 * A frame of a user stack is one word: what kind of place, and where. Files go
 * by the number that EVENT_FILE announced, so that a stack means the same in
 * every process. The place of a caller is the last byte of its call.
 */
enum event_frame_kind {
	EVENT_FRAME_ADDRESS = 0, /* to be looked up in the process's mappings */
	EVENT_FRAME_FILE = 1,    /* offset in a file */
	EVENT_FRAME_ANONYMOUS = 2,
	EVENT_FRAME_VDSO = 3,    /* offset in its image */
	EVENT_FRAME_RUNTIME = 4, /* of a program that an interpreter runs: see bpf/runtime/ */
};

enum {
	EVENT_FRAME_KIND_SHIFT = 60,
	EVENT_FRAME_FOUND_SHIFT = 58, /* two bits: enum unwind_found */
	EVENT_FRAME_FILE_SHIFT = 40,
	EVENT_FRAME_FILE_BITS = 18,
};

/*
 * Sent once for each new stack, always ahead of the first sample that names it.
 * nr_frames words (u64) follow, leaf first: for a user stack as above, for a
 * kernel stack addresses, return addresses behind the leaf.
 */
struct event_stack {
	unsigned int type; /* EVENT_STACK */
	unsigned char kind;
	unsigned char end;
	unsigned char has_snapshot; /* of what is left to unwind: follows, under the same hash */
	unsigned char zero;
	unsigned int pid;
	unsigned int nr_frames;
	unsigned long long hash;
	unsigned long long time_ns;
};

/*
 * The first frame ever seen in a file: from now on it goes by this number. Sent
 * again when its unwind table, dropped for want of memory, is needed once more.
 */
struct event_file {
	unsigned int type; /* EVENT_FILE */
	unsigned int file;
	unsigned int pid; /* who maps it ... */
	unsigned int zero;
	unsigned long long start, end; /* ... here */
	unsigned long long offset;     /* of `start` in the file */
	unsigned long long time_ns;
};

struct event_sample {
	unsigned int type; /* EVENT_SAMPLE */
	unsigned short cpu;
	unsigned char source;    /* its number */
	unsigned char operation; /* of block I/O: enum event_block_operation */
	unsigned int pid, tid;
	unsigned long long time_ns;     /* CLOCK_MONOTONIC */
	unsigned long long user_hash;   /* 0: no user stack (kernel thread) */
	unsigned long long kernel_hash; /* 0: not in the kernel */
	unsigned long long start_ns; /* of the process: start_boottime, tells reused pids apart */
	char comm[EVENT_COMM_BYTES];
	unsigned int exec_id;      /* of the process: another one after each exec */
	unsigned short event;      /* of those of the source, as the recorder numbers them from 0 */
	unsigned char is_followed; /* by another event of the same stacks */
	/*
	 * Not 0: the number of a source whose events are the same ones, each of size 1. Then
	 * `value` is the mean distance of the points that chose this one, see
	 * record/event/point_weight.h, and the stack will be named again.
	 */
	unsigned char counted_by;
	/* What the event stands for, in its unit: 1 where events are just counted. */
	unsigned long long value;
	unsigned long long measured; /* ... and was itself, which the counters sum up */
	/* Of its set of labels the hash but for the low bits, which are an enum event_labels_flag;
	 * 0: it has none. */
	unsigned long long labels;
	unsigned int syscall; /* the number plus 1; 0: none */
	unsigned int device;  /* of block I/O, as the kernel numbers it; 0: none */
	/* Of a wait: the number of the EVENT_WAKER that ended it, or an enum event_waker. Of an
	 * EVENT_BEGUN and its EVENT_ENDED, their number. */
	unsigned long long waker;
};

/* What a request to a disk does: include/linux/blk_types.h, enum req_op. */
enum event_block_operation {
	EVENT_BLOCK_READ = 0,
	EVENT_BLOCK_WRITE = 1,
	EVENT_BLOCK_FLUSH = 2,
	EVENT_BLOCK_DISCARD = 3,
	EVENT_BLOCK_OTHER,
	EVENT_BLOCK_OPERATIONS,
};

enum event_waker {
	EVENT_WAKER_UNKNOWN = 0,
	EVENT_WAKER_INTERRUPT = 1, /* of a CPU that was idle */
	EVENT_WAKER_NONE_YET = 2,  /* it goes on: the task sleeps */
	EVENT_WAKERS,              /* numbers are not below */
};

/* ---- labels ---- */

/* What gives samples labels. Each has a row of this number in record/label/. */
enum event_label_source {
	EVENT_LABEL_GO = 0,         /* those of the goroutine that ran: runtime/pprof's, */
	EVENT_LABEL_GOROUTINE = 1,  /* ... its number, */
	EVENT_LABEL_GO_CREATOR = 2, /* ... and the return address of the "go" that began it */
	/* Of the process of Erlang's that ran: its identifier, a number in the low 32 bits and a
	 * serial number above, as its users see both, */
	EVENT_LABEL_ERLANG_PID = 3,
	/* ... and its registered name, or the function that it began with; a number: there was
	 * none, and the scheduler's enum event_label_scheduler. */
	EVENT_LABEL_ERLANG_PROCESS = 4,
	/* The BPF side knows none of these: what a process's container is called, and its service.
	 */
	EVENT_LABEL_CONTAINER = 5,
	EVENT_LABEL_SERVICE = 6,
	/* Of what a thread publishes as OpenTelemetry has it: what it works at, */
	EVENT_LABEL_TRACE = 7,
	EVENT_LABEL_SPAN = 8,
	/* ... and more of that, whose keys are a byte: a number of the process's list of them. */
	EVENT_LABEL_THREAD = 9,
	/* Nor this one: what a process publishes of itself. */
	EVENT_LABEL_RESOURCE = 10,
	EVENT_LABEL_SOURCES,
};

enum event_label_scheduler { /* of Erlang: a thread that runs its processes */
	EVENT_LABEL_SCHEDULER = 0,
	EVENT_LABEL_SCHEDULER_OF_CPU = 1, /* a dirty one, for what takes long */
	EVENT_LABEL_SCHEDULER_OF_IO = 2,  /* ... for what waits */
	EVENT_LABEL_SCHEDULERS,
};

enum event_label_kind { /* what a value is */
	EVENT_LABEL_TEXT = 0,
	EVENT_LABEL_NUMBER = 1,
	EVENT_LABEL_PLACE = 2, /* an address in the process, of the call that ended before it */
	EVENT_LABEL_BYTES = 3, /* any, shown by their digits */
};

enum {
	EVENT_LABELS_MAX_BYTES = 4096, /* of a set */
	EVENT_LABEL_MAX_TEXT_BYTES = 256,
};

/* How the labels of a sample could be read: the low bits of its `labels`. */
enum event_labels_flag {
	EVENT_LABELS_SET = 1, /* it has some: the hash is that of a set */
	EVENT_LABELS_UNKNOWN =
		2,               /* the program keeps them in a way that is not known, or not yet */
	EVENT_LABELS_UNREAD = 4, /* some could not be read */
	EVENT_LABELS_CUT = 8,    /* there are more, or longer ones, than there is room for */
	EVENT_LABELS_FLAGS = 15,
};

/*
 * A label. Behind it stand the key, which is the source's where it has no bytes, and the value: a
 * text, bytes, or the 8 of a number or address. Both are filled up with zeros to words of 8 bytes.
 */
struct event_label {
	unsigned char source, kind;
	unsigned char zero[2];
	unsigned short key_bytes, value_bytes;
};

/* Of a process: where its threads have a pointer to what they publish. */
struct event_thread_context {
	unsigned long long start_ns; /* of the process, and of its image: as samples have them */
	unsigned int exec_id;
	/* Whose block of each thread's has it, by number, and bits of an entry's size in the C
	 * library's vector of blocks; 0: it is in none. */
	unsigned int module, module_shift;
	unsigned int zero;
	/* In the block, or from the thread's pointer on. */
	unsigned long long place;
};

_Static_assert(sizeof(struct event_thread_context) == 32, "value of a map");

/* A set of labels, in no order, sent once, ahead of the first sample that names it. */
struct event_labels {
	unsigned int type; /* EVENT_LABELS */
	unsigned int pid;
	unsigned long long hash; /* as samples have it, with no flag */
	unsigned long long time_ns;
	unsigned int bytes; /* of its labels, which follow */
	unsigned int zero;
};

/*
 * How a thread spent its time since it was followed: on CPUs, in the run queue, blocked. Sent when
 * it ends, and of all that live when recording, or a file, ends.
 */
struct event_thread_times {
	unsigned int type; /* EVENT_THREAD_TIMES */
	unsigned int pid, tid;
	unsigned int exec_id;
	unsigned long long time_ns;
	unsigned long long start_ns; /* of the process, as samples have it */
	char comm[EVENT_COMM_BYTES];
	unsigned int has_ended;
	unsigned int zero;
	struct event_times {
		unsigned long long life_ns, queued_ns, blocked_ns; /* the rest it ran */
		/* The kernel's own accounts of the same time; all 0: it has none. */
		struct event_thread_account {
			unsigned long long on_ns, queued_ns;
			unsigned long long voluntary, involuntary; /* times that it left a CPU */
		} kernel;
	} times;
};

_Static_assert(sizeof(struct event_stack) == 32, "wire size");
_Static_assert(sizeof(struct event_file) == 48, "wire size");
_Static_assert(sizeof(struct event_sample) == 112, "wire size");
_Static_assert(sizeof(struct event_thread_times) == 112, "wire size");
_Static_assert(sizeof(struct event_label) == 8, "wire size");
_Static_assert(sizeof(struct event_labels) == 32, "wire size");

/* What became of the events of a source. */
enum event_counter {
	EVENT_COUNTER_EVENTS,
	EVENT_COUNTER_SAMPLES, /* handed to the ring */
	EVENT_COUNTER_IDLE,
	EVENT_COUNTER_FILTERED,
	EVENT_COUNTER_LOST_RING,
	/* In the midst of another one of the lane; or there was no room to follow it. */
	EVENT_COUNTER_LOST_BUSY,
	EVENT_COUNTER_BELOW, /* not selected: others of the source stand for them */
	EVENT_COUNTER_LATE,  /* behind the end of sampling: not among the events */
	EVENT_COUNTERS,
};

/*
 * Per source and CPU; when no walk goes on any more, events == samples + idle + filtered +
 * below + lost_ring + lost_busy exactly, in numbers and in sums.
 */
struct event_counters {
	struct event_tally {
		unsigned long long count;
		unsigned long long sum; /* of what the events measured */
	} of[EVENT_COUNTERS];
};

/* What selects of a CPU's short events, in ns, or in another unit. */
struct event_time_selector {
	unsigned long long period; /* the one at hand; 0: the first has not begun */
	unsigned long long passed; /* of it */
	unsigned long long point;  /* in it */
};

/* Of a CPU: what selects of its short waits, and what was selected of the task that comes. */
struct event_wait_lane {
	struct event_time_selector selectors[EVENT_WAITS];
	unsigned int tid; /* the task that comes */
	unsigned int zero;
	unsigned long long waker; /* which ended its wait: see struct event_sample */
	struct event_selected_wait {
		unsigned long long value_ns; /* what it stands for; 0: it is not selected */
		unsigned long long measured_ns;
	} selected[EVENT_WAITS];
};

/* ---- allocations ---- */

/* What a function of an allocator does, and where its arguments are. */
enum event_heap_call {
	EVENT_HEAP_MALLOC,         /* (size) */
	EVENT_HEAP_CALLOC,         /* (number, size) */
	EVENT_HEAP_REALLOC,        /* (address, size) */
	EVENT_HEAP_ALIGNED,        /* (alignment, size) */
	EVENT_HEAP_POSIX_MEMALIGN, /* (where to put the address, alignment, size) */
	EVENT_HEAP_FREE,           /* (address) */
	EVENT_HEAP_CALLS,
	/* What a preloaded sampler says. */
	EVENT_HEAP_GIVEN = EVENT_HEAP_CALLS, /* (address) that the call before returned */
	EVENT_HEAP_PASSED, /* (number, bytes) of allocations that are no samples */
	/* By Go's own convention of calls: of its allocator, and of what that samples. */
	EVENT_HEAP_GO_FIRST,  /* (size, ...) */
	EVENT_HEAP_GO_SECOND, /* (address, size) */
	EVENT_HEAP_GO_THIRD,  /* (thread, address, size) */
	EVENT_HEAP_CALL_MASK = 15,
	/* Beside it in the number of a probe: the allocator may call another one that is probed. */
	EVENT_HEAP_NESTS = 1 << 4,
	/* ... the process has chosen the allocation, see record/preload/heap_sampler.c */
	EVENT_HEAP_IS_CHOSEN = 1 << 5,
	/* ... and how far from the probe the process has the mean distance of its points; 0: it is
	 * the recorder's */
	EVENT_HEAP_RATE_SHIFT = 16,
	/* The address of an allocation that the process will not say the end of. */
	EVENT_HEAP_UNFOLLOWED = 1,
};

struct event_heap_lane {         /* of a CPU */
	unsigned long long left; /* bytes to the next point; 0: none was drawn yet */
	unsigned long long hits; /* of probes */
};

/* A call that has not returned. */
struct event_call_key {
	unsigned pid;          /* the kernel's own */
	unsigned number;       /* of the function, among those that are timed */
	unsigned long long sp; /* as it is when the function has returned */
};

/* An allocation in use, by the kernel's own number of its process. */
struct event_kept_key {
	unsigned long long process, address;
};

/* ---- tracepoints ---- */

enum event_trace_operator {
	EVENT_TRACE_EQUAL,
	EVENT_TRACE_NOT_EQUAL,
	EVENT_TRACE_LESS,
	EVENT_TRACE_AT_MOST,
	EVENT_TRACE_MORE,
	EVENT_TRACE_AT_LEAST,
	EVENT_TRACE_HAS_BITS,
	EVENT_TRACE_LIKE, /* a text matches a pattern */
};

enum {
	EVENT_TRACE_MAX_TERMS = 16,
	EVENT_TRACE_PASSES = 0xfe, /* in place of the number of the next term: that is all */
	EVENT_TRACE_FAILS = 0xff,
	EVENT_TRACE_MAX_GLOB_PARTS = 62,
	EVENT_TRACE_MAX_GLOB_TEXT = 256, /* bytes of a text that patterns see */
};

/*
 * A pattern: parts that each stand for a byte, with stars between them. Matching is in a set of
 * states at a time: that of bit i has seen the first i parts. A byte leads from there to the next
 * where part i can stand for it, and back to itself where a star comes before part i.
 */
struct event_trace_glob {
	unsigned long long stars;
	unsigned long long nr_parts;
	unsigned long long parts_of[256]; /* bits: the parts that can stand for this byte */
};

/* A field of a tracepoint's record is compared. */
struct event_trace_term {
	unsigned short offset; /* in the record */
	unsigned char bytes;   /* of a number: 1, 2, 4, 8; 0: it is a text */
	unsigned char is_signed;
	unsigned char is_located; /* a word there says where the text is */
	unsigned char operation;  /* enum event_trace_operator */
	unsigned char yes, no;    /* the next term, where it is true and where not */
	unsigned long long value;
	char text[16];               /* with zeros behind it */
	unsigned int bytes_in_place; /* of a text that is not located */
	unsigned int glob;           /* the number of its pattern */
};

/* A tracepoint: events of it are those of a source. */
struct event_trace_point {
	unsigned int source, event;
	unsigned long long period; /* one of so many hits on a CPU is a sample, or of that value */
	unsigned int nr_terms;     /* what a hit has to fulfil; 0: nothing */
	/* Of the field that is a hit's value: where it is, its bytes; 0: hits are counted. */
	unsigned short value_offset;
	unsigned char value_bytes, value_is_signed;
	/* Where tasks enter and leave the kernel its stack says no more than that they do. */
	unsigned int has_no_kernel_stack;
	struct event_trace_term terms[EVENT_TRACE_MAX_TERMS];
};

/*
 * Of a CPU: what the counters of groups had when they were read last; of targets' tasks alone,
 * which run by turns with others: while the task `tid` runs.
 */
struct event_group_lane {
	unsigned long long counts[EVENT_MAX_COUNTERS];
	unsigned int tid; /* the kernel's own; 0: what runs is not counted */
	unsigned int zero;
};

struct event_member_counts {
	unsigned long long of[EVENT_MAX_COUNTERS];
};

struct event_task_ticks { /* of tasks' own timers, per CPU */
	unsigned long long ticks;
	unsigned long long switch_rates; /* summed over these: a task's switches a second it runs */
};

/* Fixed before the programs are loaded. */
enum event_filter {
	EVENT_FILTER_NONE = 0,
	EVENT_FILTER_PROCESS = 1, /* the target map holds tgids */
	EVENT_FILTER_THREAD = 2,  /* ... tids */
	EVENT_FILTER_USER = 3,    /* processes with the real user ID of struct event_config */
	EVENT_FILTER_CGROUP = 4,  /* tasks in control groups of the map, or below them */
	EVENT_FILTER_EITHER = 5,  /* ... and processes of the target map */
};

/* Of version 2, and that of version 1 which has the controller "memory". */
enum event_cgroup_hierarchy {
	EVENT_CGROUP_UNIFIED = 0,
	EVENT_CGROUP_MEMORY = 1,
	EVENT_CGROUP_HIERARCHIES,
};

/* A control group: numbers are unique in a hierarchy, and not used again. */
struct event_cgroup {
	unsigned long long id;
	unsigned int hierarchy; /* enum event_cgroup_hierarchy */
	unsigned int zero;
};

enum {
	EVENT_MAX_CGROUPS = 4096,     /* targets */
	EVENT_MAX_CGROUP_LEVELS = 32, /* that may be targets */
};

_Static_assert(sizeof(struct event_cgroup) == 16, "key of a map");

enum event_call_graph {
	EVENT_CALL_GRAPH_AUTO = 0, /* by rules; snapshots where they do not suffice */
	EVENT_CALL_GRAPH_FP = 1,
	EVENT_CALL_GRAPH_DWARF = 2, /* a snapshot of every stack, unwound when reported */
	EVENT_CALL_GRAPH_BOTH = 3,  /* by rules, and a snapshot all the same: for comparisons */
};

struct event_config {
	unsigned int filter;
	unsigned int uid;
	unsigned int command_pid; /* a target from its exec on; 0: there is none */
	unsigned int
		follow_children;   /* new processes, or with EVENT_FILTER_THREAD new threads, too */
	unsigned int wakeup_bytes; /* unread ring bytes at which the recorder is woken */
	unsigned int snapshot_limit_bytes; /* unread ring bytes above which none are taken */
	unsigned int snapshot_bytes;
	unsigned int call_graph;
	unsigned int nr_cpus;         /* CPU numbers stay below */
	unsigned int nr_lanes;        /* up to the last one that is in use */
	unsigned int nr_places;       /* ... and with that of sleepers, behind them */
	unsigned int max_files;       /* numbers of files stay below, but for the recorder's own */
	unsigned int shadow_runtimes; /* bits: whose script frames are those of shadow stacks */
	unsigned int runtimes;        /* bits: whose script frames the programs find */
	unsigned int other_runtimes;  /* ... and those that walk for the other group may find */
	unsigned int times_calls;     /* the kernel does not tell how long on_call() takes */
	unsigned int reads_code;      /* the recorder finds rules for code that has none */
	unsigned int label_sources;   /* bits: of which labels are wanted */
	unsigned int cgroup_hierarchies; /* bits: which there are, with filters by them */
	unsigned int waits;              /* bits: which enum event_wait are sampled */
	unsigned int wakers;             /* ... with who ended them */
	unsigned int has_block_io;       /* requests to disks are sampled */
	unsigned int has_queue_argument; /* tracepoints of their beginning have the queue first */
	unsigned int has_traces;         /* there are tracepoints */
	unsigned int has_heap;           /* allocations are sampled, */
	unsigned int heap_distance;      /* ... one in so many bytes on average */
	unsigned int page_shift;         /* a page has 1 << page_shift bytes */
	unsigned long long pc_mask;      /* of a return address: what is not its signature */
	/* Where the kernel's functions __schedule() and schedule() are; 0: not known. */
	struct event_function {
		unsigned long long start, end;
	} switches, schedules;
	/* ... bpf_trace_run1() and bpf_trace_run2(), which run programs of raw tracepoints. */
	struct event_function runs_one, runs_two;
	/* Of a counter: bits, those of its group, whose counts its samples have; all of them. */
	unsigned int members_of[EVENT_MAX_COUNTERS];
	unsigned int members, zero;
};

/* How memory of processes is found in that of the machine. */
struct page_tables {
	unsigned long long direct_map; /* where the kernel has all memory mapped; 0: not known */
	unsigned int first_shift;      /* of an address, for its place in the first table */
	unsigned int address_bits;     /* of addresses that programs have */
};

/*
 * What is left of a stack that could not be unwound at once: the registers at
 * the frame where unwinding stopped, and, chunk by chunk, the stack from there,
 * or from a little below.
 */
struct event_snapshot {
	unsigned int type;         /* EVENT_SNAPSHOT */
	unsigned char is_exact;    /* ip is that of an interrupted instruction */
	unsigned char found;       /* enum unwind_found: how this frame was */
	unsigned char is_shown;    /* it is the last of the stack's frames; its caller is next */
	unsigned char is_uncopied; /* no chunks follow: the task sleeps, and has its stack still */
	unsigned long long hash;   /* of its struct event_stack, which comes first */
	unsigned long long code_space; /* of struct code_key, for code of no file */
	unsigned long long code[2];    /* that stands at ip; 0: it cannot be read */
	struct unwind_registers registers;
};

struct event_snapshot_chunk {
	unsigned int type; /* EVENT_SNAPSHOT_CHUNK */
	unsigned int nr_bytes;
	unsigned long long hash;
	unsigned long long address; /* follows on the chunk before */
	unsigned char bytes[EVENT_SNAPSHOT_CHUNK_BYTES];
};

/* ---- unwind tables in the kernel ---- */

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

/*
 * Rows and page directories live in shards, arrays of 32-bit words that the
 * recorder maps and fills. A word's place is shard << UNWIND_SHARD_SHIFT | index.
 * A page is two words: the place of its first row, and how many it has.
 */
enum {
	UNWIND_SHARD_SHIFT = 20,
	UNWIND_SHARD_WORDS = 1 << UNWIND_SHARD_SHIFT,
	UNWIND_MAX_SHARDS = 64,
	UNWIND_MAX_RULES = 1 << 15,
	UNWIND_RULE_NONE = 0,
	UNWIND_RULE_FRAME_POINTER = 1,
	UNWIND_MAX_PAGE_ROWS = (1 << UNWIND_PAGE_SHIFT) + 1,
};

enum unwind_table_state {
	UNWIND_TABLE_NONE = 0, /* asked for when the file was announced */
	UNWIND_TABLE_READY = 1,
	UNWIND_TABLE_ABSENT = 2,  /* there is none to be had */
	UNWIND_TABLE_DROPPED = 3, /* for want of memory; to be asked for */
};

/* Of each file, by its number. The recorder writes `state` last. */
struct unwind_file {
	unsigned int state; /* enum unwind_table_state */
	unsigned int first_page, nr_pages;
	unsigned int pages;   /* the place of the first page's words */
	unsigned int epoch;   /* of the clock below, when it was used last */
	unsigned int runtime; /* number of its struct runtime_row, plus 1; 0: it has no runtime */
	unsigned int zero[2];
};

_Static_assert(sizeof(struct unwind_file) == 32, "the map of files is an array of these");

/* ---- rules of code that has none of its own, see record/unwind/code_rules.h ---- */

enum {
	CODE_RULES_MAX = 1 << 15, /* in the kernel: those used longest ago are dropped */
	CODE_RULE_WORDS = 2,
};

/*
 * An instruction at which a frame is, or the last byte of the call that it made: behind one that
 * never returns another function may begin, whose first instruction has another rule.
 */
struct code_key {
	unsigned long long space;   /* number of the file; of code of no file, the program image */
	unsigned long long address; /* offset in the file, or address */
};

enum code_rule_kind {
	CODE_RULE_UNKNOWN = 0, /* the recorder was not asked yet, or the code is another one now */
	CODE_RULE_NONE,        /* none was found */
	CODE_RULE_READ,        /* by reading the code */
	CODE_RULE_GUESSED,     /* the frame pointer is one, as far as is known */
	CODE_RULE_SCANNED,     /* a guess, too: a call's return address was found on the stack */
	CODE_RULE_REGISTERED,  /* the process said so, see record/generated/registered_code.h */
};

struct code_rule {
	unsigned int rule;                        /* its number */
	unsigned int kind;                        /* enum code_rule_kind */
	unsigned long long code[CODE_RULE_WORDS]; /* that stands there while the rule holds */
};

#endif
