/* The table of event sources, and those of its rows of which a session has events. */
#ifndef EBPROF_SOURCES_H
#define EBPROF_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "record/source/event_source.h"

/* By enum event_source_number. */
extern const struct event_source *const event_sources[EVENT_SOURCES];

struct sources {
	struct source *data;
	size_t len, cap;
};

/* Probes each of so many rows, numbered from 0. Also after an error: for sources_deinit(). */
struct err *sources_probe(struct sources *sources, const struct event_source *const *rows,
	size_t nr_rows, const struct session_options *options) ERR_MUST_CHECK;
void sources_deinit(struct sources *sources);

/* What the command is to have in its environment; borrowed of the sources. */
void sources_put_variables(const struct sources *sources, struct target_variables *variables);

/* How many lanes their events take; `has_tasks`: other events take that of tasks. */
uint32_t sources_nr_lanes(const struct sources *sources, bool has_tasks);
/* Whether stacks of tasks that sleep are walked, which takes a place behind all lanes. */
bool sources_walk_sleepers(const struct sources *sources);
/* The programs are about to be loaded: says which of them the sources need. */
void sources_load(struct sources *sources, struct sample_bpf *bpf);
struct err *sources_attach(
	struct sources *sources, const struct source_place *place) ERR_MUST_CHECK;
struct err *sources_start(struct sources *sources, uint64_t now_ns) ERR_MUST_CHECK;
/* Whether all have what stop() needs; only with options->awaits_stacks they may not. */
bool sources_are_ready(struct sources *sources);
void sources_stop(struct sources *sources, uint64_t now_ns);
/* Where a file ends, and sampling goes on. */
void sources_divide(struct sources *sources, uint64_t now_ns);
/* After both, until it is false; the ring is to be emptied in between. */
bool sources_finish_some(struct sources *sources);
/* What sources kept of a process's program image, or of all. */
void sources_end_kept(struct sources *sources, const struct source_image *image, source_kept_fn *fn,
	void *context);
struct err *sources_update(struct sources *sources, uint64_t now_ns) ERR_MUST_CHECK;
/*
 * For a CPU that came online. A source that cannot go on there is left as it is: the CPU is gone
 * again, or what it lacks counts as skipped.
 */
void sources_renew_cpu(struct sources *sources, const struct cpu_gap *gap);
/* What ticks came from; zeros: no source has ticks. */
struct ticker_times sources_times(const struct sources *sources, uint64_t now_ns);
/* In ns, of the source that has raised its period; 0: none has. */
uint64_t sources_raised_period(const struct sources *sources);
/* Bits, see event_source.h. */
uint32_t sources_lacking_runtimes(const struct sources *sources);
/* "cycles, page-faults": those of a source one by one, but for the many that a pattern stands for.
 */
void sources_put_names(const struct sources *sources, struct str *names);

#endif
