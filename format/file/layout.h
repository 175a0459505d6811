/*
 * What a recording is made of: the numbers that stand in the file and the
 * entities that writer and reader exchange. man/ebprof-data.5 describes the
 * same layout byte by byte; the two change together.
 *
 * A recording is a 16-byte file header and then chunks. Entities refer to each
 * other by ids, which are dense, begin at 1 (0 is "none") and are defined
 * before they are used. A prefix of a recording is therefore a recording.
 */
#ifndef EBPROF_LAYOUT_H
#define EBPROF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/file/script_failure.h"

#define LAYOUT_MAGIC \
	"\x89" \
	"EBPROF\n"

enum {
	LAYOUT_MAGIC_BYTES = 8,
	LAYOUT_VERSION_MAJOR = 1, /* a reader refuses another one */
	LAYOUT_VERSION_MINOR = 9, /* a reader reads any */
	LAYOUT_HEADER_BYTES = 16,

	LAYOUT_CHUNK_SYNC = 0x4b434245, /* "EBCK": where a reader finds its way back after damage */
	LAYOUT_CHUNK_HEADER_BYTES = 24,
	LAYOUT_CHUNK_MAX_BYTES = 16 << 20, /* of a payload, stored or raw */
	LAYOUT_BUILD_ID_MAX_BYTES = 64,
	LAYOUT_MAX_SEGMENTS = 256, /* PT_LOADs of one object */
	LAYOUT_MAX_META = 1024,    /* entries */
	LAYOUT_MAX_EVENTS = 1024,
	LAYOUT_MAX_CPUS = 65536,         /* CPU numbers stay below */
	LAYOUT_MAX_DEPTH = 4096,         /* nodes of one stack */
	LAYOUT_MAX_TEXT_BYTES = 1 << 20, /* of a string or a META value; the writer cuts it there */
	LAYOUT_MAX_SNAPSHOT_BYTES = 64 << 10, /* of a stack */
	LAYOUT_MAX_REGISTERS = 34,            /* their DWARF numbers stay below */
	LAYOUT_MAX_LABELS = 64,               /* of one set */
};

enum layout_chunk_type {
	LAYOUT_CHUNK_META = 1,
	LAYOUT_CHUNK_STRINGS = 2,
	LAYOUT_CHUNK_OBJECTS = 3,
	LAYOUT_CHUNK_PROCESSES = 4,
	LAYOUT_CHUNK_THREADS = 5,
	LAYOUT_CHUNK_MAPPINGS = 6,
	LAYOUT_CHUNK_FRAMES = 7,
	LAYOUT_CHUNK_STACKS = 8,
	LAYOUT_CHUNK_SAMPLES = 9,
	LAYOUT_CHUNK_SYMBOLS = 10,
	LAYOUT_CHUNK_COUNTERS = 11,
	LAYOUT_CHUNK_EVENTS = 12,
	LAYOUT_CHUNK_CLOCKS = 13,
	LAYOUT_CHUNK_END = 14,
	LAYOUT_CHUNK_SNAPSHOTS = 15,
	LAYOUT_CHUNK_CODE = 16,
	LAYOUT_CHUNK_CHAINS = 17,
	LAYOUT_CHUNK_UNWOUND = 18,
	LAYOUT_CHUNK_ORIGINS = 19,
	LAYOUT_CHUNK_VALUES = 20,
	LAYOUT_CHUNK_EVENT_COUNTERS = 21,
	LAYOUT_CHUNK_THREAD_TIMES = 22,
	LAYOUT_CHUNK_LABELS = 23,
};

enum layout_encoding {
	LAYOUT_ENCODING_RAW = 0,
	LAYOUT_ENCODING_ZLIB = 1,
};

enum layout_sample_column {
	LAYOUT_COLUMN_TIME = 1,
	LAYOUT_COLUMN_THREAD = 2,
	LAYOUT_COLUMN_CPU = 3,
	LAYOUT_COLUMN_USER_STACK = 4,
	LAYOUT_COLUMN_KERNEL_STACK = 5,
	LAYOUT_COLUMN_WEIGHT = 6,
	LAYOUT_COLUMN_SNAPSHOT = 7,
	LAYOUT_COLUMN_MEASURED = 8,
	LAYOUT_COLUMN_SYSCALL = 10,
	LAYOUT_COLUMN_WAKER = 11,
	LAYOUT_COLUMN_WAKER_USER_STACK = 12,
	LAYOUT_COLUMN_WAKER_KERNEL_STACK = 13,
	LAYOUT_COLUMN_LABELS = 14,
};

enum layout_frame_column { /* behind the objects and offsets, which are always there */
	LAYOUT_FRAME_COLUMN_FLAGS = 1,
};

/* Functions of scripts that have no name; or, of those whose line is known, with it: others of the
 * file have none either. */
#define LAYOUT_NAMELESS         "(anonymous)"
#define LAYOUT_NAMELESS_AT_LINE "(anonymous:%u)"

/* Where code comes from. Names are what `info --json` prints. */
#define LAYOUT_OBJECT_KINDS(X) \
	X(LAYOUT_OBJECT_FILE, 1, "file")           /* offset: in the file */ \
	X(LAYOUT_OBJECT_KERNEL, 2, "kernel")       /* offset: address - base */ \
	X(LAYOUT_OBJECT_MODULE, 3, "module")       /* offset: address - base */ \
	X(LAYOUT_OBJECT_VDSO, 4, "vdso")           /* offset: in the image */ \
	X(LAYOUT_OBJECT_ANONYMOUS, 5, "anonymous") /* executable memory of no file (JIT) of one \
						      image; offset: address */ \
	X(LAYOUT_OBJECT_UNKNOWN, 6, "unknown")     /* no mapping was known; offset: address */ \
	X(LAYOUT_OBJECT_BPF, 7, "bpf")             /* JITed BPF program; offset: address - base */ \
	X(LAYOUT_OBJECT_SCRIPT, 8, "script")       /* what an interpreter runs, all of a language; \
						      offset: a number for each line that was seen, \
						      or a layout_script_failure */

enum layout_object_kind {
#define X(name, number, word) name = number,
	LAYOUT_OBJECT_KINDS(X)
#undef X
};

enum layout_object_flag {
	LAYOUT_OBJECT_DELETED = 1,    /* the file was unlinked when it was looked at */
	LAYOUT_OBJECT_UNREADABLE = 2, /* it could not be opened: no segments */
	LAYOUT_OBJECT_CHANGED = 4,    /* the path held another build ID than the mapping */
	LAYOUT_OBJECT_UNSEARCHED = 8, /* too many notes to look for a build ID in all of them */
	LAYOUT_OBJECT_REMOTE = 16, /* besides UNREADABLE: the recorder did not open it, since it may
				      lie on a remote or FUSE file system of another user */
};

/*
 * Why a user stack stops before its outermost frame. Stored as the offset of
 * the root frame of such a stack, whose object is 0.
 */
#define LAYOUT_TRUNCATIONS(X) \
	X(LAYOUT_TRUNCATED_UNKNOWN, 1, "unknown") \
	X(LAYOUT_TRUNCATED_FRAME_POINTER, 2, \
		"broken_frame_pointer")                       /* the chain left the stack */ \
	X(LAYOUT_TRUNCATED_UNREADABLE, 3, "unreadable_stack") /* the page was not in memory */ \
	X(LAYOUT_TRUNCATED_DEPTH, 4, "depth_limit") \
	X(LAYOUT_TRUNCATED_NO_REGISTERS, 5, "no_user_registers") \
	X(LAYOUT_TRUNCATED_NO_TABLE, 6, \
		"no_unwind_table") /* no file that could be read, or no call frame information */ \
	X(LAYOUT_TRUNCATED_NO_RULE, 7, "no_unwind_rule") /* none for this address */ \
	X(LAYOUT_TRUNCATED_UNSUPPORTED, 8, "unsupported_rule") \
	X(LAYOUT_TRUNCATED_REGISTER, 9, \
		"unknown_register") /* the rule needs one whose value is not known */ \
	X(LAYOUT_TRUNCATED_JIT, 10, \
		"unclaimed_code") /* anonymous executable memory, no frame pointer */ \
	X(LAYOUT_TRUNCATED_TABLE_PENDING, 11, \
		"table_pending") /* its table was not there yet, nor a snapshot taken */ \
	X(LAYOUT_TRUNCATED_NO_MAPPING, 12, \
		"no_mapping") /* a return address outside of every executable mapping */ \
	X(LAYOUT_TRUNCATED_LEFT_OUT, 13, \
		"left_out") /* rare frames, so that a baseline stays small: it may go on behind */

enum layout_truncation {
	LAYOUT_COMPLETE = 0,
#define X(name, number, word) name = number,
	LAYOUT_TRUNCATIONS(X)
#undef X
	LAYOUT_TRUNCATED_END, /* behind the last */
};

/* Cumulative counters of a recording; the newest value of a (counter, cpu) holds. */
#define LAYOUT_COUNTERS(X) \
	X(LAYOUT_COUNTER_TICKS, 1, "ticks")         /* the timer's program ran */ \
	X(LAYOUT_COUNTER_IDLE, 2, "idle")           /* ... on the idle task */ \
	X(LAYOUT_COUNTER_FILTERED, 3, "filtered")   /* ... on a task outside the target */ \
	X(LAYOUT_COUNTER_SAMPLES, 4, "samples")     /* ... and a sample stands in the file */ \
	X(LAYOUT_COUNTER_LOST_RING, 5, "lost_ring") /* ring buffer full */ \
	X(LAYOUT_COUNTER_LOST_UNRESOLVED, 6, "lost_unresolved") /* its stack never arrived */ \
	X(LAYOUT_COUNTER_LOST_WRITE, 7, "lost_write")       /* the output failed or was full */ \
	X(LAYOUT_COUNTER_SKIPPED, 8, "skipped")             /* estimate: due, but never fired */ \
	X(LAYOUT_COUNTER_SIDEBAND_LOST, 9, "sideband_lost") /* mmap, comm, fork records lost */ \
	X(LAYOUT_COUNTER_TARGETS_FULL, 10, "targets_full")  /* processes not followed: map full */ \
	X(LAYOUT_COUNTER_FILES_FULL, 11, "files_full") /* frames of files beyond those numbered */ \
	/* Of probes, apart from ticks: hits = samples + filtered + lost, too. */ \
	X(LAYOUT_COUNTER_HITS, 12, "hits") \
	X(LAYOUT_COUNTER_HITS_FILTERED, 13, "hits_filtered") \
	X(LAYOUT_COUNTER_HIT_SAMPLES, 14, "hit_samples") \
	X(LAYOUT_COUNTER_HITS_LOST_RING, 15, "hits_lost_ring") \
	X(LAYOUT_COUNTER_HITS_LOST_BUSY, 16, \
		"hits_lost_busy") /* in the midst of other tasks' hits on the same CPU */ \
	X(LAYOUT_COUNTER_HITS_LOST_UNRESOLVED, 17, "hits_lost_unresolved") \
	X(LAYOUT_COUNTER_HITS_LOST_WRITE, 18, "hits_lost_write") \
	X(LAYOUT_COUNTER_GAP_SAMPLES, 19, "gap_samples") /* while sideband was lost */ \
	X(LAYOUT_COUNTER_CODE_GIVEN_UP, 20, \
		"code_given_up") /* whose name, file or lines took too long to read */ \
	X(LAYOUT_COUNTER_MAPPINGS_FULL, 21, "mappings_full") /* left out: there are bounds */ \
	X(LAYOUT_COUNTER_CPUS_BACK, 22, "cpus_back") /* CPUs came online, or the machine woke */ \
	/* Of code made at run time, as processes register them for debuggers: */ \
	X(LAYOUT_COUNTER_IMAGES_READ, 23, "images_read") \
	X(LAYOUT_COUNTER_IMAGES_GIVEN_UP, 24, \
		"images_given_up") /* they make no sense, or took too long or too much */ \
	/* Samples that lack labels, some or all of theirs: */ \
	X(LAYOUT_COUNTER_LABELS_UNKNOWN, 25, \
		"labels_unknown") /* how the program keeps them is not known, or was not yet */ \
	X(LAYOUT_COUNTER_LABELS_UNREAD, 26, "labels_unread") /* they could not be read */ \
	X(LAYOUT_COUNTER_LABELS_CUT, 27, "labels_cut")       /* they are too many, or too long */ \
	X(LAYOUT_COUNTER_LABELS_LEFT_OUT, 28, \
		"labels_left_out") /* the recording has too many different ones already */ \
	X(LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS, 29, \
		"waits_without_scripts") /* of sleepers: what reads these could not be loaded */ \
	X(LAYOUT_COUNTER_PROGRAMS_SKIPPED, 30, \
		"programs_skipped") /* runs of BPF programs, in the midst of another one's */ \
	X(LAYOUT_COUNTER_CODE_UNREAD, 31, \
		"code_unread") /* steps through code without rules, for want of time to read it */ \
	X(LAYOUT_COUNTER_HEAP_UNSEEN_MS, 32, \
		"heap_unseen_ms") /* in which the probes of allocations were taken off */ \
	X(LAYOUT_COUNTER_TICKS_DUE, 33, "ticks_due") /* by the CPU time of a command that was \
							recorded whole; 0: unknown */ \
	X(LAYOUT_COUNTER_HEAP_PROGRAMS_MISSED, 34, \
		"heap_programs_missed") /* that the command started, without the library */

enum layout_counter {
#define X(name, number, word) name = number,
	LAYOUT_COUNTERS(X)
#undef X
	LAYOUT_COUNTER_COUNT,
};

/* What became of the events of a source, see struct layout_event. */
#define LAYOUT_EVENT_COUNTERS(X) \
	X(LAYOUT_EVENTS, 1, "events") \
	X(LAYOUT_EVENTS_SAMPLES, 2, "samples")     /* a sample stands in the file */ \
	X(LAYOUT_EVENTS_IDLE, 3, "idle")           /* in the idle task */ \
	X(LAYOUT_EVENTS_FILTERED, 4, "filtered")   /* in a task outside the target */ \
	X(LAYOUT_EVENTS_LOST_RING, 5, "lost_ring") /* ring buffer full */ \
	X(LAYOUT_EVENTS_LOST_BUSY, 6, "lost_busy") /* in the midst of another on the same CPU */ \
	X(LAYOUT_EVENTS_LOST_UNRESOLVED, 7, "lost_unresolved") /* its stack never arrived */ \
	X(LAYOUT_EVENTS_LOST_WRITE, 8, "lost_write")           /* the output failed or was full */ \
	X(LAYOUT_EVENTS_SKIPPED, 9, "skipped") /* estimate: due, but none of the events */ \
	X(LAYOUT_EVENTS_BELOW, 10, "below")    /* not selected: samples stand for them */

enum layout_event_counter {
#define X(name, number, word) name = number,
	LAYOUT_EVENT_COUNTERS(X)
#undef X
	LAYOUT_EVENT_COUNTER_COUNT,
};

/* What the recorder calls executable memory of no file, unless the kernel has a name for it. */
#define LAYOUT_ANONYMOUS_PATH "[anon]"

/*
 * The name of the event of second samples: ticks that have a sample of the timer's event already,
 * with the stack as the reader unwinds it, to compare both. No counter counts them.
 */
#define LAYOUT_EVENT_SECOND "snapshot"

#define LAYOUT_END_REASONS(X) \
	X(LAYOUT_END_COMMAND, 1, "command ended") \
	X(LAYOUT_END_SIGNAL, 2, "stopped by a signal") \
	X(LAYOUT_END_DURATION, 3, "duration reached") \
	X(LAYOUT_END_SIZE, 4, "size limit reached") \
	X(LAYOUT_END_WRITE_ERROR, 5, "write error") \
	X(LAYOUT_END_TARGET, 6, "target exited") \
	X(LAYOUT_END_SWITCH, 7, "continued in the next file") \
	X(LAYOUT_END_MERGED, 8, "merged")

enum layout_end_reason {
#define X(name, number, word) name = number,
	LAYOUT_END_REASONS(X)
#undef X
};

/* Keys of META. Values are UTF-8 text; unknown keys are kept and shown. */
#define LAYOUT_META_VERSION   "ebprof.version"
#define LAYOUT_META_HOST      "host.name"
#define LAYOUT_META_ARCH      "host.arch"
#define LAYOUT_META_KERNEL    "host.kernel"
#define LAYOUT_META_BOOT      "host.boot_id" /* CLOCK_MONOTONIC is one clock in what has the same */
#define LAYOUT_META_CPU_MODEL "host.cpu_model"
/* Of programs' addresses, above which their return addresses are signed; only where they are. */
#define LAYOUT_META_ADDRESS_BITS "host.address_bits"
#define LAYOUT_META_CPUS         "host.cpus_online"
#define LAYOUT_META_MEMORY       "host.memory_bytes"
#define LAYOUT_META_COMMAND      "command.name" /* of the profiled command, without arguments */
#define LAYOUT_META_ARGS         "command.args" /* all of it, shell-quoted, with --with-args only */
#define LAYOUT_META_TARGET       "target"       /* LAYOUT_TARGET_*, "pid 12,13" */
#define LAYOUT_TARGET_SYSTEM     "system"
#define LAYOUT_TARGET_COMMAND    "command"
#define LAYOUT_META_CODE         "code" /* of ticks only those in LAYOUT_CODE_...; else all */
#define LAYOUT_CODE_USER         "user"
#define LAYOUT_CODE_KERNEL       "kernel"
#define LAYOUT_META_CALL_GRAPH   "call_graph" /* LAYOUT_CALL_GRAPH_FP; else by rules */
#define LAYOUT_CALL_GRAPH_FP     "fp"         /* by frame pointers alone, as asked for */
#define LAYOUT_META_NOTE         "note"
#define LAYOUT_META_IMPORT       "import.format" /* of what other profiler's file it was made */
/* Of a baseline: the number of runs that it was made of; which stacks of theirs were left out. */
#define LAYOUT_META_BASELINE_RUNS "baseline.runs"
#define LAYOUT_META_BASELINE_CUT  "baseline.cut"

/* ---- entities ---- */

struct layout_tally { /* numbers of samples, and the sums of what they measured */
	uint64_t count, sum;
};

struct layout_segment { /* a PT_LOAD */
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_* */
};

struct layout_object {
	enum layout_object_kind kind;
	uint32_t flags; /* layout_object_flag */
	uint32_t path;  /* string */
	uint8_t build_id[LAYOUT_BUILD_ID_MAX_BYTES];
	uint32_t build_id_len;
	uint64_t base; /* kernel, module, BPF: the address of offset 0 */
	uint64_t size_bytes, inode, mtime_ns;
	uint32_t device;                       /* major << 20 | minor */
	const struct layout_segment *segments; /* borrowed during the call */
	uint32_t nr_segments;
};

struct layout_clock { /* the same instant on two clocks */
	uint64_t monotonic_ns, realtime_ns;
};

enum layout_origin_flag {
	LAYOUT_ORIGIN_CUT = 1,     /* its recorder was killed: it had no END */
	LAYOUT_ORIGIN_DAMAGED = 2, /* parts of it could not be read */
};

struct layout_text {
	const char *bytes; /* any, not terminated */
	size_t len;
};

struct layout_origin_meta {
	struct layout_text key, value;
};

/* A recording that was merged into this one. */
struct layout_origin {
	struct layout_text name; /* distinguishes it: unique in the file, never empty */
	uint32_t flags;          /* layout_origin_flag */
	enum layout_end_reason reason;
	struct layout_clock clock; /* its first pair, as it had it; zeros: it had none */
	uint64_t shift_ns;         /* what was added to its times */
	const struct layout_origin_meta *meta; /* its META; borrowed during the call */
	uint32_t nr_meta;
};

struct layout_process {       /* one program image of a process: an exec begins another */
	uint32_t pid, ns_pid; /* ns_pid: in its innermost pid namespace, 0 when the same */
	uint32_t parent_pid;
	uint64_t start_ns;          /* CLOCK_BOOTTIME; (pid, start_ns) is the process */
	uint32_t exe;               /* object, 0 when unknown */
	uint32_t cgroup, container; /* strings */
	uint32_t origin;            /* 0 where nothing was merged */
};

struct layout_thread { /* one name of a thread: a new comm begins another */
	uint32_t process;
	uint32_t tid;
	uint32_t comm; /* string */
	/* string: comm is what its runtime calls the thread that the kernel calls so; 0: comm is
	 * the kernel's, or, of more than 15 bytes, see thread_name.h */
	uint32_t kernel_name;
};

struct layout_mapping { /* executable mappings only */
	uint32_t process, object;
	uint64_t start, length, offset; /* offset in the object's file */
	uint64_t time_ns;               /* when it was seen to appear */
};

/*
 * A place in code. For a frame that called another, the offset is that of a
 * byte inside the call instruction, so every frame is looked up as it stands.
 * Object 0: the stack is truncated here, offset is an enum layout_truncation.
 */
struct layout_frame {
	uint32_t object;
	uint64_t offset;
	uint32_t flags; /* layout_frame_flag */
};

enum layout_frame_flag {
	/* The low two bits: how the frame was found, enum unwind_found of unwind_rule.h. Odd ones
	 * are guesses. */
	LAYOUT_FRAME_FOUND = 3,
	LAYOUT_FRAME_GUESSED = 1,
	/* Which one of the functions inlined in each other at the place it is was guessed; the
	 * outermost of them is sure, and has no such flag. */
	LAYOUT_FRAME_GUESSED_INLINED = 4,
	LAYOUT_FRAME_OF_RUNTIME = 8, /* of a language's runtime itself, not of a program in it */
};

struct layout_node { /* a stack: this frame, called from `parent` (0: outermost) */
	uint32_t parent, frame;
};

enum layout_snapshot_flag { /* on disk only */
	LAYOUT_SNAPSHOT_EXACT = 1,
};

#define LAYOUT_REGISTERS_MASK ((1ULL << LAYOUT_MAX_REGISTERS) - 1)

/*
 * What is left to unwind of a user stack: the registers of its next frame and
 * the stack's bytes from there on. The frames that were found before are the
 * sample's user_stack, at whose root the marker says why the recorder stopped;
 * this one's ip is not among them.
 */
struct layout_snapshot {
	uint32_t process; /* whose mappings the addresses mean */
	uint64_t time_ns; /* ... at this time: later mappings do not hold yet */
	/*
	 * Bit n: registers[n] is known. DWARF's numbers: System V x86-64 psABI, figure 3.36, where
	 * 16 is the ip; AADWARF64, section 4.1, where 31 is the sp and 32 the pc.
	 */
	uint64_t known;
	uint64_t registers[LAYOUT_MAX_REGISTERS]; /* 0 where not known */
	bool is_exact;          /* ip is where a thread was interrupted, no return address */
	uint64_t stack_address; /* of the first byte below */
	const uint8_t *stack;   /* borrowed during the call */
	uint32_t stack_bytes;
};

enum layout_label_kind {       /* what a label's value is */
	LAYOUT_LABEL_TEXT = 0, /* a string */
	LAYOUT_LABEL_NUMBER = 1,
	LAYOUT_LABEL_PLACE = 2, /* a frame: what it is called, the reader finds out */
};

/*
 * A set of labels: this label and those of another set, so that sets share what they have in
 * common, as stacks do. A key that is in the other set, too, has this value.
 */
struct layout_label {
	uint32_t rest; /* the other set; 0: the empty one */
	uint32_t key;  /* string */
	enum layout_label_kind kind;
	uint64_t value;
};

struct layout_unwound { /* of an archived recording: a snapshot needs not be unwound any more */
	uint32_t snapshot;
	uint32_t node; /* the whole user stack of the samples that have it */
};

struct layout_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t event, thread, cpu;
	uint32_t user_stack, kernel_stack; /* nodes; the kernel's frames stand on the user's */
	uint64_t weight;   /* what it stands for, in the event's unit; 1 for a tick */
	uint32_t snapshot; /* the rest of the user stack, 0 when there is none */
	uint32_t labels;   /* a set, 0: none */
	uint64_t measured; /* what it was itself, in the event's unit; 0: what it stands for */
	uint32_t syscall;  /* the number of the system call plus 1, 0: none */
	uint32_t waker;    /* who ended a wait: a thread plus 1, or an enum layout_waker */
	uint32_t waker_user_stack, waker_kernel_stack; /* nodes */
};

enum {
	/* Of a call's number: that of a program of 32 bits, whose numbers are others. */
	LAYOUT_SYSCALL_OF_32_BITS = 0xffff,
};

enum layout_waker {
	LAYOUT_WAKER_UNKNOWN = 0,
	LAYOUT_WAKER_INTERRUPT = 1, /* of a CPU that was idle */
};

static inline uint64_t layout_sample_measured(const struct layout_sample *sample)
{
	return sample->measured ? sample->measured : sample->weight;
}

struct layout_symbol { /* captured when recording, since it cannot be had later */
	uint32_t object;
	uint64_t offset, size; /* size 0: up to the next one */
	uint32_t name;
};

/*
 * What stood at a sampled place in memory of no file, or in a BPF program, from a time on.
 * Compilers move code and put other code in its place: the newest one of the place that is not
 * newer than the sample holds, or the oldest.
 */
struct layout_code {
	uint32_t object;
	uint64_t offset;  /* that of the frame */
	uint64_t start;   /* of the function */
	uint64_t time_ns; /* 0: unknown */
	uint32_t name;
	uint32_t file, line; /* of the place; 0: unknown */
	uint64_t
		sure_ns; /* before this time it may have been something else; 0: time_ns is exact */
};

#define LAYOUT_UNIT_NS "ns"
#define LAYOUT_UNIT_HITS \
	"hits" /* of the events of probes: they come by hits, the others by ticks */

/*
 * Events of one source are counted together. The first two sources are known by the unit, and have
 * numbers in COUNTERS (format/file/first_sources.h); of all others, samples are VALUES and counters
 * EVENT_COUNTERS, which versions before 1.4 skip: they take all that they read for ticks or hits.
 */
struct layout_event {
	uint32_t name;         /* string: cpu-clock, cycles, usdt:FILE:PROVIDER:NAME */
	uint64_t period;       /* between ticks, in `unit`; 0 when it varies (frequency mode) */
	uint32_t frequency_hz; /* asked for */
	uint32_t unit;         /* string: ns, cycles, hits */
	uint32_t source;       /* string; 0: that of hits by the unit, else the timer */
};

struct layout_counter_value {
	enum layout_counter counter;
	uint32_t cpu;
	uint64_t value;
};

struct layout_event_tally {
	uint32_t source; /* string */
	enum layout_event_counter counter;
	uint32_t cpu;
	uint64_t count, sum; /* of events, and of their values */
};

/*
 * How a thread spent its time since it was followed, or since its times were written before: it ran
 * for what is neither in the run queue nor blocked. Several of a thread add up.
 */
struct layout_thread_times {
	uint32_t thread;
	uint64_t life_ns, queued_ns, blocked_ns;
	bool has_kernel; /* the kernel's own accounts of that time are known: */
	uint64_t kernel_on_ns, kernel_queued_ns;
	uint64_t voluntary, involuntary; /* times that it left a CPU */
};

struct layout_end {
	enum layout_end_reason reason;
	uint64_t time_ns;
};

/* The ids and the number of the next chunk that would continue a recording. */
struct layout_position {
	uint32_t frame, node, sequence;
};

#endif
