/*
 * A recording in memory, checked: every index that stands in it is in range,
 * so the views follow them without checks. Tables are indexed by the file's
 * ids; index 0 is a placeholder for "none" and for what damage took away.
 */
#ifndef EBPROF_PROFILE_H
#define EBPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/file/chain_map.h"
#include "format/file/layout.h"
#include "format/file/reader.h"
#include "report/model/debug_attempt.h"

/* Stands for texts that cannot be read. */
#define PROFILE_DAMAGED "[damaged]"

/* The path and name of memory of no file that was executed, under any name in the recording. */
#define PROFILE_GENERATED_CODE "[JIT]"

/* The path and name of what stands for a wait's reason; see wait_reasons.h. */
#define PROFILE_WAITS "[wait]"
/* ... and the one of system calls. */
#define PROFILE_SYSCALLS "[syscall]"
/* Labels that waits get: why, and of who ended them. */
#define PROFILE_LABEL_REASON "reason"
#define PROFILE_LABEL_WAKER  "waker"
/* ... and of those that recordings have. */
#define PROFILE_LABEL_TRACE     "trace_id"
#define PROFILE_LABEL_SPAN      "span_id"
#define PROFILE_LABEL_NAMESPACE "k8s.namespace.name"

struct profile_string {
	const char *bytes; /* NUL-terminated; may hold anything, escape it at the sink */
	uint32_t len;
};

struct profile_meta {
	const char *key, *value;
};

struct profile_object {
	struct layout_object info; /* segments owned by the arena */
	const char *path;
	const char *name; /* see file_names.h; or the whole of a [bracketed] path */
	bool is_used;     /* by a frame */
	/* What an archived recording has for it, completed by symbolize(). */
	struct chain_map chains;
	size_t nr_archived; /* the first of them, which stand in the recording */
	/* Set by symbolize(): the file that gave symbols, or NULL and why there is none. */
	const char *symbols_from, *symbols_problem;
	enum symbol_level symbols_level;
	bool lacks_debug_parts; /* a .dwo or dwz's file was not there, or there was no room */
	bool lacks_room;        /* ... to unpack something */
	bool is_symtab_cut;     /* see elf_symbols.h */
	const struct debug_attempt *attempts; /* what was tried, in this order */
	uint32_t nr_attempts;
};

struct profile_origin { /* a recording that was merged into this one */
	const char *name;
	struct layout_origin info; /* without its pointers */
	const struct profile_meta *meta;
	uint32_t boot; /* the first origin of the same boot; where no boot is known, this one */
};

struct profile_process {
	struct layout_process info;
	const char *cgroup, *container;
	const char *unit, *pod; /* that the cgroup's path names, see format/base/cgroup_path.h */
	/* What the labels of its samples call them, "" where they do not. */
	const char *container_name, *pod_name;
	/* The first entry of this process and program: recordings of one boot may all have it. */
	uint32_t first;
};

struct profile_thread {
	uint32_t process;
	uint32_t pid, tid;
	const char *comm;
	const char *kernel_name; /* where comm is what its runtime calls it; or NULL */
	uint32_t first;          /* the first entry of this name, in those of its process */
};

struct profile_frame {
	uint32_t object;   /* 0: the stack is truncated here, offset is the cause */
	uint32_t function; /* of profile_functions, once symbolized */
	uint64_t offset;
	uint32_t flags; /* layout_frame_flag */
	uint32_t code;  /* index of profile_codes plus 1, 0: there is none */
	/*
	 * One address can stand in several functions, each inlined into the next. All but the
	 * last become frames of their own, behind those that were recorded: this one's
	 * `innermost` begins the chain, `outer` leads from each to the next and at last back here.
	 */
	uint32_t innermost; /* 0: nothing was inlined */
	uint32_t outer;     /* 0: this frame was recorded */
	const char *file;   /* of the address, or of the call that was inlined; NULL: unknown */
	uint32_t line;      /* 0: unknown */
};

/* A baseline left out something of the stack here to stay small, unlike frames that were never
 * known. */
static inline bool profile_frame_is_left_out(const struct profile_frame *frame)
{
	return !frame->object && frame->offset == LAYOUT_TRUNCATED_LEFT_OUT;
}

/* Whether a frame is of a program that a language's runtime runs, and not of that itself. */
static inline bool profile_frame_is_script(
	const struct profile_frame *frame, const struct profile_object *objects)
{
	return frame->object && !(frame->flags & LAYOUT_FRAME_OF_RUNTIME) &&
	       objects[frame->object].info.kind == LAYOUT_OBJECT_SCRIPT;
}

/* What a frame is called: set by symbolize(). */
struct profile_function {
	const char *name;        /* as shown: demangled, or "dso fn_start", or dso+0xaddress */
	const char *system_name; /* mangled, or fn_start; equal to name where nothing is */
	uint32_t object;
	bool is_known;            /* false: there was no symbol */
	bool is_script;           /* of an object of scripts: brackets are parts of its name */
	char scope_mark;          /* between packages of a script's name; see short_names_mark() */
	bool has_bounds;          /* ... but its file tells where it begins and ends, */
	enum chain_bounds bounds; /* ... in this way */
	uint64_t start;   /* virtual address or offset of the symbol; 0 for what was only inlined */
	const char *file; /* where it is declared; NULL: unknown */
	uint32_t line;
	bool is_declared;   /* else the file is that of one of its addresses */
	uint32_t seen_line; /* 0, or, where no line is known: the first one of it in a stack */
};

/* A line to go to in its file; 0: none is known. */
static inline uint32_t profile_function_line(const struct profile_function *function)
{
	return function->line ? function->line : function->seen_line;
}

/* The file that it is declared in; NULL: at most that of one of its addresses is known. */
static inline const char *profile_function_declared_in(const struct profile_function *function)
{
	return function->is_declared || function->is_script ? function->file : NULL;
}

/* What it is called where the name of its object stands beside it. */
static inline const char *profile_function_own_name(const struct profile_function *function)
{
	return function->has_bounds ? function->system_name : function->name;
}

/* The same of a name alone: without `object` and the space that it may begin with. */
const char *profile_own_name(const char *name, const char *object);

/* A user stack with the kernel's frames on it; each pair once. */
struct profile_stack {
	uint32_t user, kernel; /* nodes */
	uint32_t root;         /* what calls the user's outermost: see roots.h; 0: nothing */
	uint32_t syscall;      /* whose time the samples measure: its number plus 1; 0: none */
	uint32_t waker;        /* index of wakers: who ended the wait */
};

/* Who ended a wait. */
struct profile_waker {
	uint32_t thread;
	uint32_t user, kernel; /* nodes */
};

enum { /* wakers of which there is no more */
	PROFILE_WAKER_UNKNOWN = 0,
	PROFILE_WAKER_INTERRUPT = 1, /* on a CPU that was idle */
};

/* A label, and the set of labels that it is added to: see label_sets.h. */
struct profile_label {
	uint32_t rest; /* that set, an index before this one; 0: the empty one */
	enum layout_label_kind kind;
	const char *key;
	union {
		const char *text; /* LAYOUT_LABEL_TEXT */
		uint64_t value;   /* a frame for LAYOUT_LABEL_PLACE, else a number */
	};
};

struct profile_sample {   /* there are many: 32 bytes */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t weight;
	uint32_t thread;
	uint32_t stack;      /* index of stacks */
	uint32_t labels;     /* index of labels: the set; 0: none */
	uint16_t cpu;        /* below LAYOUT_MAX_CPUS */
	uint16_t event : 15; /* below LAYOUT_MAX_EVENTS */
	/* It was shorter itself than its weight, which is what it stands for with others like it.
	 */
	uint16_t is_estimate : 1;
};

/* What a sample of an event is, where that is a thread's time without a CPU. */
enum profile_wait {
	PROFILE_NO_WAIT,
	PROFILE_WAIT_BLOCKED,
	PROFILE_WAIT_RUN_QUEUE,
};

struct profile_event {
	const char *name, *unit;
	uint64_t period;
	uint32_t frequency_hz;
	const char *source; /* NULL: one of the first_sources */
	bool is_second;     /* LAYOUT_EVENT_SECOND */
	/* Of a merged recording: an earlier event of this name and unit, with which it is shown as
	 * one; 0: none. */
	uint32_t first;
	uint32_t part_of; /* the event that is the sum of this one and others; 0: none */
	bool is_sum;      /* ... which this is: no sample names it */
	enum profile_wait wait;
};

struct profile_source { /* what became of its events, over all CPUs */
	const char *name;
	struct layout_tally tallies[LAYOUT_EVENT_COUNTER_COUNT];
};

struct profile_symbol { /* captured when recording */
	uint32_t object;
	uint64_t offset, size;
	const char *name;
};

/* Snapshots that were not unwound, since that was done by a process which failed. */
struct profile_unwind_losses {
	uint64_t crashed;   /* it died over these */
	uint64_t hung;      /* ... took too long over these */
	uint64_t abandoned; /* ... failed too often before these, or there could be no process */
};

struct profile_code { /* from the recording: of memory of no file */
	uint32_t object;
	uint32_t order; /* of coming */
	uint64_t offset, start, time_ns;
	uint64_t sure_ns; /* see layout_code */
	const char *name;
	const char *file; /* NULL: unknown */
	uint32_t line;
};

struct profile {
	struct arena arena;
	VEC(struct profile_string) strings;
	VEC(struct profile_meta) meta;
	VEC(struct profile_event) events;
	VEC(struct profile_object) objects;
	VEC(struct profile_origin) origins;
	VEC(struct profile_process) processes;
	VEC(struct profile_thread) threads;
	VEC(struct layout_mapping) mappings;
	VEC(struct profile_frame) frames;
	VEC(struct layout_node) nodes;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_waker) wakers; /* empty where none was recorded */
	VEC(struct profile_label) labels;
	VEC(struct layout_thread_times) thread_times; /* of threads that are in `threads` */
	VEC(struct profile_sample) samples;           /* by time */
	VEC(struct profile_symbol) symbols;
	VEC(struct profile_code) codes; /* by place, then by time */
	VEC(struct profile_function) functions;

	bool has_roots;                          /* all of the stacks */
	uint32_t syscall_object;                 /* PROFILE_SYSCALLS; 0: none */
	uint32_t wait_object;                    /* PROFILE_WAITS; 0: none */
	uint32_t main_event;                     /* main_event_fix(); 0: it was not called */
	uint64_t counters[LAYOUT_COUNTER_COUNT]; /* over all CPUs */
	VEC(struct profile_source) sources;      /* whose counters are not among these */
	struct layout_clock first_clock, last_clock;
	uint64_t first_ns, last_ns; /* of anything that has a time */
	/* Of filter_samples(): which samples are left, "thread a, 1.000 to 5.000 s"; NULL: all. */
	const char *only;
	uint64_t only_from_ns, only_to_ns; /* the span of these, as first_ns; 0: to the end */
	bool only_some_events;             /* likewise: the others' samples are left out */
	/* Of heap_peak_find(): the event of bytes, behind which that of objects stands; 0: none. */
	uint32_t heap_peak_event;
	size_t nr_heap_peaks;  /* processes that have one */
	uint64_t heap_peak_ns; /* the last one of these */
	/* Samples of allocations, and what they stand for, that are in none: it is not known how
	 * long they were in use. */
	uint64_t heap_unknown_count, heap_unknown_bytes;
	struct layout_end end; /* reason 0: there was none */
	struct reader_result file;
	uint64_t dangling;          /* references that led nowhere, stacks that were too deep */
	uint64_t too_large;         /* samples whose values cannot be added up; they have 0 */
	uint64_t nr_second_samples; /* that were left out: of ticks that have a sample */
	uint64_t nr_snapshots, snapshot_bytes; /* of stacks that were left to be unwound here */
	struct profile_unwind_losses unwind_losses;
	uint64_t nr_stale; /* samples, of all: a name in them may be that of other code */
	VEC(struct layout_unwound) unwound;         /* ... and were, by this reader */
	size_t nr_unwound_frames, nr_unwound_nodes; /* with what that added to the tables */
};

void profile_destroy(struct profile *profile);

/*
 * A profile beside one that stays as it is: with stacks and nodes of its own, a copy of the
 * other's, which may be changed. Frames, functions and objects are borrowed as they are now; there
 * is nothing else in it.
 */
struct profile *profile_create_beside(const struct profile *profile);
/* Borrows them again. */
void profile_borrow_names(struct profile *beside, const struct profile *profile);
/* NULL is safe. */
void profile_destroy_beside(struct profile *beside);

/* NULL when the key is not there. */
const char *profile_meta(const struct profile *profile, const char *key);
/* The same of a recording that it was merged from; 0: as above. */
const char *profile_origin_meta(const struct profile *profile, uint32_t origin, const char *key);
/* What it is of, in a word or two, for titles: its command, else what was recorded, else what it
 * was made from, else where. */
const char *profile_title(const struct profile *profile);
/* Of how many recordings it was merged; 0: of none. */
size_t profile_nr_origins(const struct profile *profile);
/* Whether its recordings are of several boots, or may be: their process IDs say nothing together.
 */
bool profile_has_several_boots(const struct profile *profile);
/*
 * Whether its recording lasted until what was recorded had ended; not of a command that something
 * else was recorded for.
 */
bool profile_has_ended(const struct profile *profile, uint32_t thread);
/* "" where nothing was merged. */
const char *profile_thread_origin(const struct profile *profile, uint32_t thread);
/*
 * Identifies a process: by its number, which the kernel uses again, when it began, and the boot; of
 * those that are merged, where one of these is not known, the recording. Equal for what stood for
 * it before and after an exec.
 */
uint64_t profile_process_key(const struct profile *profile, uint32_t process);
/* Likewise a thread, which has an entry in `threads` for each name that it had. */
uint64_t profile_thread_key(const struct profile *profile, uint32_t thread);
/* The object of the program that the most sampled process ran; 0: unknown. */
uint32_t profile_main_program(const struct profile *profile);
/* Whether it is the kernel's: its own code, a module, a BPF program. */
bool profile_object_is_kernel(const struct profile_object *object);
bool profile_is_kernel(const struct profile *profile, uint32_t object);
/* A share; 0 of nothing. */
double profile_percent(uint64_t part, uint64_t whole);
double profile_duration_s(const struct profile *profile);
/* Whether the recorder counted what the event is of, and measured it: imported ones it did not. */
bool profile_event_is_counted(const struct profile *profile, const struct profile_event *event);
/* The sources of events: first_sources, and behind them those of profile->sources. */
size_t profile_nr_sources(const struct profile *profile);
/* By its number among all of these. */
uint64_t profile_source_count(
	const struct profile *profile, size_t source, enum layout_event_counter counter);
/* Events that became no samples, although they should have; of all sources, or of one. */
uint64_t profile_lost(const struct profile *profile);
uint64_t profile_source_lost(const struct profile *profile, size_t source);
/* Of an event's own source; false: it has none, as a timer's has not. */
bool profile_event_lost(
	const struct profile *profile, const struct profile_event *event, uint64_t *ret);
/* Wall-clock time of an instant of the recording, ns since 1970; 0 when unknown. */
uint64_t profile_wall_ns(const struct profile *profile, uint64_t monotonic_ns);
/*
 * The node of `frame` called from `parent`, for what makes stacks; `known` is the caller's, of all
 * that it has added. New nodes stand behind all others.
 */
uint32_t profile_add_node(
	struct profile *profile, struct map *known, uint32_t parent, uint32_t frame);
/* Why the user stack is incomplete; LAYOUT_COMPLETE when it is not, or there is none. */
enum layout_truncation profile_stack_truncation(const struct profile *profile, uint32_t stack);

/* Whether samples of `event` count where `shown` is: the same, one shown as one with it, a part. */
bool profile_event_has(const struct profile *profile, uint32_t shown, uint32_t event);

/* ns (or what the event counts) that one sample of this weight stands for. */
uint64_t profile_sample_value(const struct profile *profile, const struct profile_sample *sample);
/* The same as a weight of `shown`, which has the sample's event. */
uint64_t profile_weight_as(
	const struct profile *profile, uint32_t shown, const struct profile_sample *sample);

/*
 * The frames of a stack, leaf first, the kernel's before the user's:
 *
 *   struct profile_walk walk = profile_walk(profile, stack);
 *   for (uint32_t frame; (frame = profile_walk_next(&walk));)
 *
 * 0 ends it. Functions that were inlined come as frames of their own, before what they were
 * inlined into. The marker of a truncated stack comes last, as a frame of object 0; where damage
 * took objects, such frames stand in between as well.
 */
struct profile_walk {
	const struct profile *profile;
	uint32_t kernel, user, root;
	uint32_t outer; /* what the last frame was inlined into */
};

struct profile_walk profile_walk(const struct profile *profile, uint32_t stack);
uint32_t profile_walk_next(struct profile_walk *walk);
/* The same without what was inlined: frames as they were recorded, one for each node. */
uint32_t profile_walk_recorded(struct profile_walk *walk);

#endif
