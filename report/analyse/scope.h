/*
 * Which samples are looked at: terms, conditions that a sample must meet. The options of commands
 * (filter.h) and the filters of the terminal interface are both made of them. Terms on threads are
 * decided once for each thread, those on events once for each event, those on stacks once for each
 * node of the profile's stacks.
 */
#ifndef EBPROF_SCOPE_H
#define EBPROF_SCOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "report/model/profile.h"

enum scope_kind {
	/* The stack has a frame of such a function: */
	SCOPE_FUNCTION, /* that of the frame `number`, or shown as one with it */
	SCOPE_PATTERN,  /* `text`, a regular expression, matches its name */
	SCOPE_SYMBOL, /* `text` is its name: shown or whole, with or without parameters, or mangled
		       */
	SCOPE_OBJECT, /* it is of the object `number` */
	SCOPE_FILE,   /* `text` is its object's name or path */
	SCOPE_FILE_PATTERN, /* `text`, a regular expression, matches its object's name */
	SCOPE_KERNEL,       /* it is the kernel's */
	/* The stack has a frame of a script: */
	SCOPE_LANGUAGE, /* in `text`, in letters of either case: "python" */
	/* The thread: */
	SCOPE_THREAD,       /* has the index `number` */
	SCOPE_PROCESS,      /* is of the process with the index `number` */
	SCOPE_TID,          /* has the ID `number` */
	SCOPE_PID,          /* is of the process with the ID `number` */
	SCOPE_COMM,         /* has the name `text` */
	SCOPE_COMM_PATTERN, /* has a name that `text`, a regular expression, matches */
	SCOPE_CONTAINER,    /* runs in the container `text`, or the cgroup where there is none */
	/* ... whose ID begins with `text`, or is called so, in that unit or pod, or in the cgroup
	 * `text` or below it */
	SCOPE_WITHIN,
	/* The sample's labels: */
	SCOPE_LABEL, /* have the key and value "KEY=VALUE", or the key "KEY", of `text` */
	/* The sample: */
	SCOPE_EVENT,        /* is of the event `text`, or the last parts of its name are `text` */
	SCOPE_CPU,          /* was taken on the CPU `number` */
	SCOPE_THREAD_STACK, /* is of the thread whose first index is `number`, by `stack` and any
			       waker */
	SCOPE_TIME,         /* from_ns <= time < to_ns, since the recording's beginning */
};

/* How a term joins the one before it. */
enum scope_joint {
	SCOPE_AND,     /* both are to be met */
	SCOPE_OR,      /* of the same kind: either is */
	SCOPE_OF_SAME, /* both, by one function */
};

struct scope_term {
	enum scope_kind kind;
	enum scope_joint joint;
	bool excludes; /* of the first that others join: samples that meet them are left out */
	uint32_t number, stack;
	char *text; /* owned; NULL where the kind has none */
	uint64_t from_ns, to_ns;
};

struct scope {
	VEC(struct scope_term) terms;
};

/* Whether a term of the kind means the same in another recording: not by numbers, nor by times. */
bool scope_is_of_names(enum scope_kind kind);

/* `text` is copied. */
void scope_add(struct scope *scope, const struct scope_term *term);
void scope_copy(struct scope *to, const struct scope *from);
bool scope_is_same_term(const struct scope_term *a, const struct scope_term *b);
/* Whether the terms are the same, in the same order. */
bool scope_is_same(const struct scope *a, const struct scope *b);
void scope_deinit(struct scope *scope);

/* Stacks that are shown otherwise than the profile has them. */
struct scope_stacks {
	const struct profile
		*profile;   /* whose nodes and stacks are meant: hidden_frames_beside() */
	bool hides_inlined; /* functions that were inlined are in no stack */
};

/*
 * The samples that meet all terms, by time. `stacks`: NULL: the profile's.
 *
 *   struct scope_walk walk;
 *   scope_walk_init(&walk, scope, profile, stacks, is_cancelled);
 *   for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));)
 *   scope_walk_deinit(&walk);
 *
 * When *is_cancelled turns true, they end early; NULL: it never does. A wait whose length is known
 * meets a time if a part of it lies in there.
 */
struct scope_walk {
	const struct scope *scope;
	const struct profile *profile;
	const atomic_bool *is_cancelled;
	bool *threads, *events, *stacks, *labels; /* whether no term forbids it */
	bool has_sample_terms;                    /* there are others than those */
	uint64_t from_ns, to_ns;                  /* scope_span() */
	size_t next;
};

void scope_walk_init(struct scope_walk *walk, const struct scope *scope,
	const struct profile *profile, const struct scope_stacks *stacks,
	const atomic_bool *is_cancelled);
const struct profile_sample *scope_walk_next(struct scope_walk *walk);
/* What of that sample is within the time: of a wait a part, which ends there. */
struct profile_sample scope_walk_part(
	const struct scope_walk *walk, const struct profile_sample *sample);
void scope_walk_deinit(struct scope_walk *walk);

/* Drops the samples that do not meet the terms; how many do. */
void scope_drop(const struct scope *scope, struct profile *profile);
uint64_t scope_count(const struct scope *scope, const struct profile *profile);
/* For each function whether it meets all terms, which are on functions. To be freed. */
bool *scope_functions(const struct scope *scope, const struct profile *profile);

/* The time that the terms leave, since the recording's beginning: from <= time < to. */
void scope_span(const struct scope *scope, const struct profile *profile, uint64_t *from_ns,
	uint64_t *to_ns);

/*
 * What a process runs in: its container, by name or else by ID, or its cgroup where there is none;
 * "" for neither.
 */
const char *scope_container(const struct profile_process *process);
/* Whether it runs in what scope_container() called so, be it by ID before the name was known. */
bool scope_is_in_container(const struct profile_process *process, const char *text);
/* Its pod, by name or else by UID; "": it runs in none. */
const char *scope_pod(const struct profile_process *process);

/* Whether a thread has that name, or one of which the kernel has this beginning only. */
bool scope_is_called(const struct profile_thread *thread, const char *name);
/* Whether a term of that kind and text is met: SCOPE_EVENT, SCOPE_LANGUAGE, SCOPE_WITHIN. */
bool scope_is_event(const char *name, const char *text);
bool scope_is_language(const struct profile_object *object, const char *text);
bool scope_is_within(const struct profile_process *process, const char *text);
/* ... SCOPE_LABEL, of a set of labels. */
bool scope_is_labelled(const struct profile *profile, uint32_t set, const char *text);

#endif
