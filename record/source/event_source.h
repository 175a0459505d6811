/*
 * A source of events: what causes samples, and how the recorder comes by them. Each is a row of
 * record/source/sources.c, with a file of its own here and one in bpf/source/; no other file names
 * one.
 */
#ifndef EBPROF_EVENT_SOURCE_H
#define EBPROF_EVENT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/event/ticker.h"
#include "record/host/cpu.h"
#include "record/host/cpu_watch.h"
#include "record/session_options.h"
#include "record/task/target.h"
#include "record/task/target_tasks.h"

struct sample_bpf;
struct sources;

struct source_event {
	const char *name, *unit; /* of the state, or static */
	uint64_t period;         /* in `unit`; 0: it varies, or the samples have values */
	uint32_t frequency_hz;   /* asked for */
	bool has_no_samples;     /* it was not asked for, and has a number all the same */
};

/* Since sampling began. */
struct source_cpu {
	uint32_t cpu;
	struct event_counters counted;
	uint64_t skipped; /* events that were due and did not come, an estimate */
};

struct source_cpus {
	struct source_cpu *data;
	size_t len, cap;
};

/* A row of which a session has events; or one of several sources that have the same row. */
struct source {
	const struct event_source *row;
	uint32_t number;                 /* that of samples and counters */
	const char *name, *tallied;      /* the row's, or of the state: see there */
	void *state;                     /* the row's own */
	VEC(struct source_event) events; /* as samples number them */
	struct cpu_list cpus;            /* that are counted, see source_kernel_read() */
};

/* What a source attaches to; borrowed during the call but for the programs. */
struct source_place {
	struct sample_bpf *bpf; /* loaded; lives longer than the source is attached */
	const int *cpus;        /* nr_cpus of them, to which sampling is bound; 0: all */
	size_t nr_cpus;
	struct target_tasks tasks; /* the targets, where they are known by ids */
	const uint32_t *runtimes;  /* bits: that may be met, so far; lives as long as `bpf` */
	/* All that are attached to it, in the order in which they are; live as long as `bpf`. */
	const struct sources *sources;
};

/* What ends. */
struct source_image {
	uint32_t pid;      /* 0: all do */
	uint64_t until_ns; /* when; what came later is another image's */
};

typedef void source_kept_fn(void *context, const struct event_sample *sample);

struct event_source {
	const char *name;    /* in the file */
	const char *tallied; /* what its events are called where they are summed up: "ticks" */
	const char *program; /* the name of its SAMPLING_PROGRAMS in bpf/source/; NULL: none */
	enum event_lane lane;
	bool has_idle;           /* its events may come upon the idle task */
	bool has_second_samples; /* with SESSION_CALL_GRAPH_BOTH */
	bool walks_sleepers;     /* it makes samples of tasks that sleep, too */

	/*
	 * Looks up what the options ask for: makes a state and appends the events to `source`; or
	 * neither, where the session wants none. ERR_USAGE: there is no such event. Nothing runs
	 * yet.
	 */
	struct err *(*probe)(
		struct source *source, const struct session_options *options)ERR_MUST_CHECK;
	/* NULL, or appends what the command is to have in its environment; borrowed. */
	void (*put_variables)(const struct source *source, struct target_variables *variables);
	/* The programs are about to be loaded. */
	void (*load)(struct source *source, struct sample_bpf *bpf);
	/* Opens what makes the programs run; no event counts before start(). */
	struct err *(*attach)(
		struct source *source, const struct source_place *place)ERR_MUST_CHECK;
	struct err *(*start)(struct source *source, uint64_t now_ns)ERR_MUST_CHECK;
	/* NULL, or with options->awaits_stacks, ahead of stop(): whether what that needs is there.
	 */
	bool (*is_ready)(struct source *source);
	/* When it returns no event counts any more, and no sample of one is under way; of waits
	 * when finish_some() has returned false. */
	void (*stop)(struct source *source, uint64_t now_ns);
	/* NULL, or called where a file ends: what is under way is divided, see finish_some(). */
	void (*divide)(struct source *source, uint64_t now_ns);
	/*
	 * NULL, or called after stop() or divide() until it returns false: makes samples of what
	 * was still under way then, some at a time, so that the ring can be emptied in between.
	 */
	bool (*finish_some)(struct source *source);
	/*
	 * NULL, or hands over the samples that were kept of a process's program image. They came
	 * before, to tell when what they are of ends.
	 */
	void (*end_kept)(struct source *source, const struct source_image *image,
		source_kept_fn *fn, void *context);
	/*
	 * Appends what every CPU has counted: always the same ones in the same order, new ones
	 * last. `with_skipped`: CPUs may have to be interrupted, and waited for, to tell that.
	 */
	struct err *(*read_counters)(
		struct source *source, bool with_skipped, struct source_cpus *ret)ERR_MUST_CHECK;
	/* Frees the state, and closes what is still open. */
	void (*release)(struct source *source);

	/* NULL, or called now and then: it may change how it comes by its events. */
	struct err *(*update)(struct source *source, uint64_t now_ns)ERR_MUST_CHECK;
	/* NULL, or called for a CPU that came online: what was open there is dead. */
	struct err *(*renew_cpu)(struct source *source, const struct cpu_gap *gap)ERR_MUST_CHECK;
	/* NULL, or ns that it samples by since the period asked for made too many; 0: it did not.
	 */
	uint64_t (*raised_period)(const struct source *source);
	/* NULL, or a sentence for the user when it is over, of the source; NULL: there is none. */
	const char *(*hint)(const struct source *source);
	/* NULL, or the path of a library that all programs of the command are to have, or NULL. */
	const char *(*preloads)(const struct source *source);
	/* NULL, or after stop() and divide(): bits of the runtimes whose functions its samples of
	 * tasks that sleep are without, since what reads them could not be loaded; UINT32_MAX: any.
	 */
	uint32_t (*lacking_runtimes)(const struct source *source);
	/* NULL, or ns in which it did not see its events, since that had cost too much. */
	uint64_t (*unseen_ns)(const struct source *source);
	/* NULL, or what its events came from; `now_ns`: any time when it was stopped. */
	struct ticker_times (*times)(const struct source *source, uint64_t now_ns);
};

#endif
