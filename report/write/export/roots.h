/* Whose a sample is, as the outermost calls of its stack: for formats that show nothing but those.
 */
#ifndef EBPROF_ROOTS_H
#define EBPROF_ROOTS_H

#include "report/model/profile.h"

/* X(enum, word) */
#define ROOT_KINDS(X) \
	X(ROOT_PROCESS, "process")     /* name:pid */ \
	X(ROOT_THREAD, "thread")       /* name:tid */ \
	X(ROOT_COMM, "comm")           /* the name of the thread */ \
	X(ROOT_CONTAINER, "container") /* where there is none: the cgroup */ \
	X(ROOT_CGROUP, "cgroup") \
	X(ROOT_UNIT, "unit") /* of systemd */ \
	X(ROOT_POD, "pod")   /* of Kubernetes: its UID */ \
	X(ROOT_CPU, "cpu") \
	X(ROOT_ORIGIN, "origin") /* of what was merged: the recording */ \
	X(ROOT_LABEL, "label")   /* the value for one key, or all labels; may come several times */

enum root_kind {
#define X(kind, word) kind,
	ROOT_KINDS(X)
#undef X
	ROOT_KIND_COUNT,
};

enum {
	ROOTS_MAX_LABELS = 8,
	ROOTS_MAX = ROOT_KIND_COUNT + ROOTS_MAX_LABELS,
};

struct roots {
	enum root_kind kinds[ROOTS_MAX]; /* outermost first */
	char *keys[ROOTS_MAX];           /* of each ROOT_LABEL, owned; NULL: all labels */
	uint32_t count;
};

void roots_deinit(struct roots *roots);

/* The profile must have been symbolized; it becomes one of other stacks. */
void roots_add(struct profile *profile, const struct roots *roots);

#endif
