/* Whose a sample is, as the outermost calls of its stack: for formats that show nothing but those,
 * and for views that group by it.
 */
#ifndef EBPROF_ROOTS_H
#define EBPROF_ROOTS_H

#include "format/base/str.h"
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
	X(ROOT_LABEL, "label") /* the value for one key, or all labels; may come several times */ \
	X(ROOT_FILE, "file")   /* whose code ran */ \
	X(ROOT_EVENT, "event")

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

/* The word of a kind: "process". */
const char *root_kind_word(enum root_kind kind);

/* The profile must have been symbolized; it becomes one of other stacks. */
void roots_add(struct profile *profile, const struct roots *roots);

/* ---- beside a profile whose stacks stay as they are ---- */

/* What has the same root. */
struct root_group {
	uint32_t frame;
	uint32_t thread, event; /* of one of its samples */
};

/* The roots that a profile was given frames for: each once, however often it is asked for. */
struct root_frames {
	struct root_kind_frames {
		uint32_t object;               /* 0: none yet */
		struct strtab names;           /* what is shown */
		VEC(struct root_group) groups; /* of each name */
	} kinds[ROOT_KIND_COUNT];
};

void root_frames_deinit(struct root_frames *frames);

/* Stacks with roots. */
struct planted {
	struct profile *profile; /* of profile_create_beside() */
	uint32_t *stack_of;      /* for each sample of the recording, the stack there */
	enum root_kind kind;
	VEC(struct root_group) groups; /* all that have a frame, not only those that are shown */
};

/*
 * One root of a kind for each sample's stack as `shown` has it, which is `profile` or beside it.
 * Adds to the profile's frames and functions, and to its objects where roots_reserve() did not.
 */
struct planted *roots_plant_beside(struct profile *profile, const struct profile *shown,
	struct root_frames *frames, enum root_kind kind);
/* NULL is safe. */
void planted_destroy(struct planted *planted);
/* The group that a frame is the root of; NULL: none. */
const struct root_group *planted_find(const struct planted *planted, uint32_t frame);

/* Adds the object of such roots, so that the objects stay where they are afterwards. */
void roots_reserve(struct profile *profile, struct root_frames *frames, enum root_kind kind);

#endif
