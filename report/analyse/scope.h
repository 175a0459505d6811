/*
 * What is looked at: a list of conditions, each of which a sample must meet. Those on stacks are
 * decided once for each stack, those on threads once for each thread.
 */
#ifndef EBPROF_SCOPE_H
#define EBPROF_SCOPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "report/analyse/tree.h"
#include "report/model/pattern.h"

enum scope_kind {
	SCOPE_FUNCTION,  /* `number` is a frame: its function is in the stack */
	SCOPE_PATTERN,   /* a function whose name matches `text` is in the stack */
	SCOPE_OBJECT,    /* `number` is an object: code of it is in the stack */
	SCOPE_KERNEL,    /* the kernel is in the stack */
	SCOPE_THREAD,    /* `number` is an index of threads */
	SCOPE_PROCESS,   /* `number` is an index of processes */
	SCOPE_COMM,      /* `text` is the thread's name */
	SCOPE_CONTAINER, /* `text` is the container, or the cgroup where there is none */
	SCOPE_CPU,       /* `number` */
	SCOPE_TIME,      /* from_ns <= time < to_ns, since the recording's beginning */
};

struct scope_term {
	enum scope_kind kind;
	bool excludes; /* samples that meet it are left out */
	uint32_t number;
	char *text; /* owned; NULL where the kind has none */
	uint64_t from_ns, to_ns;
};

struct scope {
	VEC(struct scope_term) terms;
};

/* `text` is copied. */
void scope_add(struct scope *scope, const struct scope_term *term);
void scope_copy(struct scope *to, const struct scope *from);
void scope_deinit(struct scope *scope);

/*
 * The samples that meet all terms, by time. `tree` is that of all stacks:
 *
 *   struct scope_walk walk;
 *   scope_walk_init(&walk, scope, profile, tree, is_cancelled);
 *   for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));)
 *   scope_walk_deinit(&walk);
 *
 * When *is_cancelled turns true, they end early; NULL: it never does.
 */
struct scope_walk {
	const struct scope *scope;
	const struct profile *profile;
	const atomic_bool *is_cancelled;
	bool *threads, *stacks; /* whether no term forbids it */
	bool has_sample_terms;  /* there are others than those on threads and stacks */
	size_t next;
};

void scope_walk_init(struct scope_walk *walk, const struct scope *scope,
	const struct profile *profile, const struct tree *tree, const atomic_bool *is_cancelled);
const struct profile_sample *scope_walk_next(struct scope_walk *walk);
void scope_walk_deinit(struct scope_walk *walk);

/* The time that the terms leave, since the recording's beginning: from <= time < to. */
void scope_span(const struct scope *scope, const struct profile *profile, uint64_t *from_ns,
	uint64_t *to_ns);

/* What a process runs in: its container, or its cgroup where there is none; "" for neither. */
const char *scope_container(const struct profile_process *process);

#endif
