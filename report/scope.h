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
#include "report/pattern.h"
#include "report/slice.h"
#include "report/tree.h"

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
bool scope_is_equal(const struct scope *a, const struct scope *b);
/* Takes the last one away; false when there was none. */
bool scope_pop(struct scope *scope);
void scope_deinit(struct scope *scope);

/*
 * The samples that meet all terms. `tree` is that of all stacks. When *is_cancelled turns true,
 * what is returned is of no use; NULL: it never does.
 */
void scope_slice(const struct scope *scope, const struct profile *profile, const struct tree *tree,
	const atomic_bool *is_cancelled, struct slice *ret);

/* For each thread of the profile whether no term forbids it; to be freed with mem_free(). */
bool *scope_threads(const struct scope *scope, const struct profile *profile);
/* For each stack, likewise. */
bool *scope_stacks(
	const struct scope *scope, const struct profile *profile, const struct tree *tree);

#endif
