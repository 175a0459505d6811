/*
 * The public face of recording: a session is created (programs loaded, timers
 * disarmed, output open), run until something ends it, and destroyed.
 *
 *   session_create -> session_run (blocks; calls back) -> session_destroy
 */
#ifndef EBPROF_SESSION_H
#define EBPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/file/layout.h"
#include "record/kept_files.h"
#include "record/output.h"

enum session_target {
	SESSION_COMMAND,   /* argv */
	SESSION_PROCESSES, /* pids */
	SESSION_THREADS,   /* pids are tids */
	SESSION_SYSTEM,
	SESSION_USER, /* of the system what has the real user ID `uid` */
};

enum session_event {
	SESSION_EVENT_AUTO,
	SESSION_EVENT_CYCLES,
	SESSION_EVENT_CPU_CLOCK,
	SESSION_EVENT_NONE, /* no timer: probes only */
};

enum session_call_graph {
	SESSION_CALL_GRAPH_AUTO,  /* by unwind tables */
	SESSION_CALL_GRAPH_FP,    /* by frame pointers */
	SESSION_CALL_GRAPH_DWARF, /* by the report, from copies of the stacks */
	SESSION_CALL_GRAPH_BOTH,  /* by tables and by the report, to compare them */
};

struct session_switch {       /* begin another file ... */
	bool on_signal;       /* ... at SIGUSR2 */
	uint64_t bytes;       /* ... when one has grown to this; 0: never */
	uint64_t interval_ns; /* ... after this time; 0: never */
	uint32_t max_files;   /* keep so many; 0: all */
};

struct session_options {
	enum session_target target;
	/* The command to run, ends with NULL; it is what is profiled with SESSION_COMMAND, and else
	 * (may be NULL) only says how long to record. */
	char *const *argv;
	const uint32_t *pids;
	size_t nr_pids;
	uint32_t uid;
	bool no_inherit; /* new children are not followed */

	enum session_event event;
	const char *const *usdt; /* probes, "PATH:PROVIDER:NAME" */
	size_t nr_usdt;
	const char *usdt_stacks; /* "LANG[:PATH],...", see record/script_probes.h; NULL: none */
	uint32_t frequency_hz;   /* 0: period */
	uint64_t period;
	bool exclude_user, exclude_kernel;
	enum session_call_graph call_graph;
	uint32_t snapshot_bytes;  /* of a stack that cannot be unwound at once; 0: the default */
	uint64_t table_bytes;     /* for unwind tables in the kernel; 0: the default */
	uint32_t unwanted_vms;    /* interpreters to be left out, see record/vm/vm_names.h */
	const char *cache_folder; /* for unwind tables; NULL: the usual one, "": none */
	const int *cpus;          /* only these; NULL: all */
	size_t nr_cpus;

	const char *output;
	struct output_owner owner;
	uint64_t delay_ns, duration_ns; /* 0: none */
	uint64_t max_bytes;             /* 0: no limit */
	struct session_switch switching;
	size_t ring_bytes; /* 0: the default */
	bool with_args;    /* store the command's arguments */
	bool keeps_files;  /* see session_take_kept_files() */

	/* Debugging: reads nothing from the ring for so long after the start. */
	uint64_t stall_ns;
};

/* Which processes matter is not known before they run. */
static inline bool session_is_system_wide(const struct session_options *options)
{
	return options->target == SESSION_SYSTEM || options->target == SESSION_USER;
}

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
	uint64_t ticks, idle, filtered, skipped, lost_ring, lost_unresolved, lost_write;
	struct session_hits { /* of probes: hits = samples + filtered + lost */
		uint64_t hits, samples, filtered;
		uint64_t lost, lost_busy; /* in all, and of them because of other hits */
	} hits;
	struct session_script_probes { /* of functions that scripts enter and leave */
		uint64_t entries, returns, filtered, unmatched, deep;
		uint64_t program_ns; /* in BPF; by the kernel's statistics, or the program's own */
		bool is_timed_by_kernel;
		uint64_t around_ns;    /* in traps, estimated by a trial; 0: unknown */
		const char *advice[5]; /* on languages that were not heard of; NULL: no more */
	} script_probes;
	uint64_t complete, kernel_only, left;       /* left: to be unwound by the report */
	uint64_t truncated[16];                     /* by enum layout_truncation */
	struct session_blame blame[4];              /* the worst first; path NULL: no more */
	struct session_runtime unknown_runtimes[8]; /* name NULL: no more */
	uint64_t dsos, dsos_with_build_id, dsos_readable;
	uint64_t targets_full, files_full, sideband_lost;
	bool kernel_hidden; /* kernel symbols could not be read */
	char output[4096];  /* the (last) file */
	bool is_published;  /* there is a file (or a stream) */
	uint32_t files, files_kept;
	int end_signal;        /* that stopped the session, 0 for none */
	bool has_child_status; /* the command ended ... */
	int child_status;      /* ... with this, as of waitpid(2) */
	double child_cpu_s;    /* CPU time of it and of its children that ended */
	int exec_errno;        /* the command could not be started */
};

struct session_callbacks {
	void *context;
	/* The timers run. */
	void (*ready)(void *context, const char *event, uint32_t child_pid);
	/* A few times a second. */
	void (*progress)(void *context, const struct session_progress *progress);
};

struct session;

struct err *session_create(const struct session_options *options, struct session **ret);
/*
 * Blocks TERM, INT, HUP, QUIT and USR2 for itself meanwhile. An error means
 * that the recording stopped short; *ret is filled all the same and what was
 * recorded can be read.
 */
struct err *session_run(struct session *session, const struct session_callbacks *callbacks,
	struct session_summary *ret);
/*
 * After a recording that ended before its command did: waits for the command,
 * or for a signal to us. True when the command has ended.
 */
bool session_wait_command(struct session *session, struct session_summary *summary);
/* Of all events, one behind the other. */
const char *session_event_name(const struct session *session);
/* With options->keeps_files, after session_run(): yours. NULL without. */
struct kept_files *session_take_kept_files(struct session *session);
void session_destroy(struct session *session);

#endif
