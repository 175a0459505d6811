/*
 * The public face of recording: a session is created (programs loaded, timers
 * disarmed, output open), run until something ends it, and destroyed.
 *
 *   session_create -> session_run (blocks; calls back) -> session_destroy
 */
#ifndef EBPROF_SESSION_H
#define EBPROF_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "bpf/runtime/runtime_row.h"
#include "format/base/err.h"
#include "format/file/layout.h"
#include "record/event/ticker.h"
#include "record/session_options.h"
#include "record/task/kept_files.h"
#include "record/task/left_out.h"
#include "record/turn_time.h"

struct session_progress {
	double elapsed_s;
	uint64_t samples, lost;
	uint32_t threads;
	uint64_t bytes;
	double overhead_percent; /* of one CPU, by this process */
};

struct session_blame {    /* where stacks are cut */
	const char *path; /* of the object; borrowed from the session */
	enum layout_truncation truncation;
	uint64_t samples;
};

struct session_runtime { /* an interpreter of a version that is not known */
	const char *name;
	const char *path; /* of the first file that is one; borrowed from the session */
};

struct session_summary {
	struct session_progress final;
	enum layout_end_reason reason;
	uint64_t stopped_ns; /* when sampling ended, CLOCK_MONOTONIC; the file took longer */
	uint64_t lost_ring, lost_unresolved, lost_write; /* of all sources */
	struct session_source {             /* events = samples + idle + filtered + below + lost */
		const char *name, *tallied; /* as struct event_source has them */
		bool has_idle;
		uint64_t events, samples, idle, filtered, below, skipped;
		uint64_t lost, lost_busy; /* in all, and of them because of other events */
	} sources[EVENT_MAX_SOURCES];
	size_t nr_sources;
	struct session_script_probes { /* of functions that scripts enter and leave */
		uint64_t entries, returns, filtered, unmatched, deep;
		uint64_t program_ns; /* in BPF; by the kernel's statistics, or the program's own */
		bool is_timed_by_kernel;
		uint64_t around_ns;    /* in traps, estimated by a trial; 0: unknown */
		const char *advice[5]; /* on languages that were not heard of; NULL: no more */
	} script_probes;
	uint64_t complete,
		by_guesses;         /* by_guesses: the root is reached, not every step is proven */
	uint64_t kernel_only, left; /* left: to be unwound by the report */
	uint64_t truncated[16];     /* by enum layout_truncation */
	struct session_code {       /* places in code without rules where a frame was */
		uint64_t read, inherited, guessed, scanned, unknown;
	} code;
	struct session_blame blame[4]; /* the worst first; path NULL: no more */
	struct session_runtime unknown_runtimes[RUNTIME_MAX_KINDS]; /* a name each, then NULL */
	const char *refused_runtimes[RUNTIME_MAX_KINDS]; /* likewise: frames are missing */
	struct session_own_heap {                        /* of runtimes, see own_heap.h */
		const char *path, *objects, *remedy;
	} own_heaps[4];    /* then path NULL */
	char refusal[256]; /* ... and why */
	uint64_t dsos, dsos_with_build_id, dsos_readable;
	uint64_t dsos_remote; /* not opened, see LAYOUT_OBJECT_REMOTE */
	uint64_t
		perf_maps_remote; /* processes whose /tmp was not looked into for the same reason */
	uint64_t targets_full, files_full, sideband_lost, gap_samples, mappings_full;
	double gap_from_s, gap_until_s;   /* in which sideband was lost, since the start */
	uint64_t programs_skipped;        /* runs of BPF programs, see sampler_programs_skipped() */
	uint64_t heap_programs_missed;    /* that ran without the library that counts */
	const char *heap_program_missed;  /* one of these; NULL: there is none */
	uint64_t ticks_due;               /* by the CPU time of the command; 0: not known */
	uint64_t cpus_back;               /* times that a CPU came online */
	struct left_out_busy left_out[3]; /* the busiest children that were no targets */
	size_t nr_left_out;               /* ... of so many that ran */
	uint32_t children[3];       /* pids of processes that the command has left behind; then 0 */
	size_t nr_children;         /* ... of so many */
	struct ticker_times timers; /* what ticks came from */
	const char *hints[EVENT_MAX_SOURCES + 1]; /* of the sources; then NULL; the session's */
	uint64_t raised_period_ns;    /* of waits, see event_source.h; 0: it is as asked for */
	const char *label_file_error; /* why it was not read again; NULL, or the session's */
	struct turn longest_turn;     /* of the main loop, until it ended */
	bool is_in_pid_namespace;     /* not the machine's own: what is outside was filtered */
	bool kernel_hidden;           /* kernel symbols could not be read */
	char output[4096];            /* the (last) file, or the folder of a ring */
	bool is_published;            /* there is a file (or a stream) */
	uint32_t files, files_kept;
	bool is_ring;
	uint64_t ring_bytes, files_removed; /* of a ring */
	double cpu_s;                       /* of the recorder, so far */
	uint64_t resident_bytes, open_files;
	uint64_t files_for_room; /* of a ring, removed since the disk was full */
	int end_signal;          /* that stopped the session, 0 for none */
	bool has_child_status;   /* the command ended ... */
	int child_status;        /* ... with this, as of waitpid(2) */
	double child_cpu_s;      /* CPU time of it and of its children that ended */
	int exec_errno;          /* the command could not be started */
};

struct session_callbacks {
	void *context;
	/* The timers run. */
	void (*ready)(void *context, const char *event, uint32_t child_pid);
	/* A few times a second. */
	void (*progress)(void *context, const struct session_progress *progress);
	/* Once a second or so: all of the summary that is counted meanwhile. NULL: never. */
	void (*health)(void *context, const struct session_summary *health);
	/* SIGHUP was followed. NULL: nothing is done. */
	void (*reloaded)(void *context);
	/* The last file is written; another recorder may take the ring over when this returns, so
	 * what it needs is to be let go. NULL: nothing is. */
	void (*written)(void *context);
};

struct session;

struct err *session_create(
	const struct session_options *options, struct session **ret) ERR_MUST_CHECK;
/*
 * Blocks TERM, INT, HUP, QUIT and USR2 for itself meanwhile. An error means
 * that the recording stopped short; *ret is filled all the same and what was
 * recorded can be read.
 */
struct err *session_run(struct session *session, const struct session_callbacks *callbacks,
	struct session_summary *ret) ERR_MUST_CHECK;
/*
 * After a recording that ended before its command did: waits for the command,
 * or for a signal to us. True when the command has ended.
 */
bool session_wait_command(struct session *session, struct session_summary *summary);
/* By its name; all zeros when the session had none of its events. */
const struct session_source *session_summary_source(
	const struct session_summary *summary, const char *name);
/* Whether another recorder has the ring, which session_run() is to take over. */
bool session_takes_over(const struct session *session);
/* Of all events, one behind the other. */
const char *session_event_name(const struct session *session);
/* With options->keeps_files, after session_run(): yours. NULL without. */
struct kept_files *session_take_kept_files(struct session *session);
/* A command that was started and never ran ends, too. */
void session_destroy(struct session *session);

#endif
