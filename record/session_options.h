/* What a session is asked to do: whom to sample, by which events, into which file, how long. */
#ifndef EBPROF_SESSION_OPTIONS_H
#define EBPROF_SESSION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/caller.h"

struct cgroup_name;
struct event_spec;

enum session_target {
	SESSION_COMMAND,   /* argv */
	SESSION_PROCESSES, /* pids */
	SESSION_THREADS,   /* pids are tids */
	SESSION_SYSTEM,
	SESSION_USER,     /* of the system what has the real user ID `uid` */
	SESSION_CGROUPS,  /* of the system what is in these control groups, or below them */
	SESSION_LABELLED, /* ... what `label_file` has: processes and containers */
};

enum session_event {
	SESSION_EVENT_AUTO,
	SESSION_EVENT_CYCLES,
	SESSION_EVENT_CPU_CLOCK,
	SESSION_EVENT_NONE, /* no timer: other events only */
};

enum session_call_graph {
	SESSION_CALL_GRAPH_AUTO,  /* by unwind tables */
	SESSION_CALL_GRAPH_FP,    /* by frame pointers */
	SESSION_CALL_GRAPH_DWARF, /* by the report, from copies of the stacks */
	SESSION_CALL_GRAPH_BOTH,  /* by tables and by the report, to compare them */
};

enum session_wait { /* bits: waits of tasks that are events */
	SESSION_WAIT_OFF_CPU = 1,
	SESSION_WAIT_RUN_QUEUE = 2,
};

struct session_switch {       /* begin another file ... */
	bool on_signal;       /* ... at SIGUSR2 */
	uint64_t bytes;       /* ... when one has grown to this; 0: never */
	uint64_t interval_ns; /* ... after this time; 0: never */
	uint32_t max_files;   /* keep so many; 0: all */
};

struct session_ring {        /* files that follow each other in a folder, see file_ring.h */
	const char *folder;  /* NULL: there is no ring */
	uint64_t keep_bytes; /* 0: no limit */
	uint64_t keep_ns;    /* 0: no limit */
	bool takes_over;     /* from a recorder that writes there, which is ended for it */
};

struct session_options {
	enum session_target target;
	/* The command to run, ends with NULL; it is what is profiled with SESSION_COMMAND, and else
	 * (may be NULL) only says how long to record. */
	char *const *argv;
	const uint32_t *pids;
	size_t nr_pids;
	uint32_t uid;
	const struct cgroup_name *cgroups; /* record/cgroup/target_cgroups.h */
	size_t nr_cgroups;
	bool no_inherit;       /* new children are not followed */
	bool with_descendants; /* of SESSION_PROCESSES: the children that they have already, too */

	enum session_event event;
	const char *const *usdt; /* probes, "PATH:PROVIDER:NAME" */
	size_t nr_usdt;
	const struct event_spec *specs; /* other events: record/event/event_spec.h */
	size_t nr_specs;
	uint32_t waits;   /* enum session_wait; 0: none */
	bool with_wakers; /* ... with who ended them */
	bool loads_all;   /* BPF programs that are loaded when they are wanted, too: to try them */
	uint64_t wait_period_ns; /* waits of that time are samples, of shorter ones a choice */
	uint64_t heap_bytes;     /* allocations: one in so many bytes is a sample; 0: none are */
	uint32_t max_overhead_percent; /* of CPU time that probes of allocations may take */
	const char
		*usdt_stacks; /* "LANG[:PATH],...", see record/script/script_probes.h; NULL: none */
	uint32_t frequency_hz; /* 0: period */
	uint64_t period;
	bool exclude_user, exclude_kernel;
	enum session_call_graph call_graph;
	uint32_t snapshot_bytes;    /* of a stack that cannot be unwound at once; 0: the default */
	uint64_t table_bytes;       /* for unwind tables in the kernel */
	uint32_t unwanted_runtimes; /* interpreters to be left out, see runtime_names.h */
	uint32_t label_sources;     /* bits, see record/label/label_source.h */
	const char *const *label_variables; /* of environments, which are labels */
	size_t nr_label_variables;
	const char *label_file;   /* see record/label/label_file.h; NULL: none */
	const char *cache_folder; /* for unwind tables; NULL: the usual one, "": none */
	const int *cpus;          /* only these; NULL: all */
	size_t nr_cpus;

	const char *output;
	int output_fd; /* of the output "-": written to in place of standard output; 0: none */
	struct caller owner;
	uint64_t delay_ns, duration_ns; /* 0: none */
	uint64_t max_bytes;             /* 0: no limit */
	struct session_switch switching;
	struct session_ring ring; /* with a folder: `output` is that folder, too */
	size_t ring_bytes;        /* a power of two of at least a page */
	bool with_args;           /* store the command's arguments */
	bool keeps_files;         /* see session_take_kept_files() */
	/* With waits and a duration: the stacks of threads that wait at the end are what is sought.
	 * It goes on until what walks them is loaded, or for two seconds longer. */
	bool awaits_stacks;

	/* Debugging: reads nothing from the ring for so long after the start. */
	uint64_t stall_ns;
};

/* Which processes matter is not known before they run. */
static inline bool session_target_is_system_wide(enum session_target target)
{
	return target == SESSION_SYSTEM || target == SESSION_USER || target == SESSION_CGROUPS ||
	       target == SESSION_LABELLED;
}

static inline bool session_is_system_wide(const struct session_options *options)
{
	return session_target_is_system_wide(options->target);
}

#endif
