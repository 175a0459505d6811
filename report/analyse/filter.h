/*
 * Which samples a command looks at, by its options: terms of scope.h. Lists that are
 * empty let everything pass.
 */
#ifndef EBPROF_FILTER_H
#define EBPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/profile.h"

struct filter_strings {
	const char *const *data;
	size_t len;
};

struct filter_numbers {
	const uint32_t *data;
	size_t len;
};

/* A word of comms, dsos and symbols may be "/EXPRESSION/", which matches names: pattern.h. */
struct filter {
	struct filter_strings comms;
	struct filter_strings events;     /* their names, or what comes behind the last colons */
	struct filter_strings containers; /* a name, an ID or its beginning, a unit, a pod, a cgroup
					     or one above */
	struct filter_strings languages;  /* the stack has a frame of one: "python" */
	/* "KEY=VALUE" or "KEY": of each key one is to be met */
	struct filter_strings labels;
	struct filter_numbers pids, tids, cpus;
	unsigned hidden;         /* see report/analyse/hidden_frames.h */
	uint64_t from_ns, to_ns; /* since the recording's beginning; to_ns 0: no end */
	/* Without the last tenth of the recording's time, of programs that had not ended then. */
	bool without_newest;
	/* Of frames: */
	struct filter_strings dsos; /* file names or whole paths */
	/* Names as shown or whole, with or without parameters, or mangled. */
	struct filter_strings symbols;
};

/* Whether second samples are asked for by the name of their event: see profile_options. */
bool filter_wants_second_samples(const struct filter *filter);

/* Whether all samples of an event are wanted, whole. */
bool filter_wants_all_of_event(const struct filter *filter);

/* The terms that mean the same in another recording: not what is chosen by numbers and times. */
struct filter filter_of_names(const struct filter *filter);

/*
 * Drops the samples whose comm, event, container, pid, tid, CPU, time or language is not wanted,
 * and then of the others' stacks what is not. What is left stands in profile->only, but events.
 */
void filter_samples(struct profile *profile, const struct filter *filter);
/* Drops the samples without any frame in the wanted dsos and symbols. After symbolize(). */
void filter_stacks(struct profile *profile, const struct filter *filter);
/* How many samples that would leave. */
uint64_t filter_count_stacks(const struct profile *profile, const struct filter *filter);
/* For each function whether it is in the wanted dsos and symbols; to be freed with mem_free(). */
bool *filter_functions(const struct profile *profile, const struct filter *filter);

#endif
