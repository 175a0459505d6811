/* What rows can be told apart by. A row of this table is a column of a report. */
#ifndef EBPROF_COLUMN_H
#define EBPROF_COLUMN_H

#include <stdbool.h>

/* X(enum, name, title, is_of_frame, is_number) */
#define COLUMNS(X) \
	X(COLUMN_SYM, "sym", "symbol", true, false) \
	X(COLUMN_FILE, "file", "file", true, false) /* that holds the code */ \
	/* where the function is declared, if known */ \
	X(COLUMN_SOURCE, "source", "source", true, false) \
	X(COLUMN_COMM, "comm", "comm", false, false) \
	X(COLUMN_PID, "pid", "pid", false, true) \
	X(COLUMN_TID, "tid", "tid", false, true) \
	X(COLUMN_CPU, "cpu", "cpu", false, true) \
	/* or the control group, where there is none */ \
	X(COLUMN_CONTAINER, "container", "container", false, false) \
	X(COLUMN_CGROUP, "cgroup", "cgroup", false, false) \
	X(COLUMN_UNIT, "unit", "unit", false, false) /* of systemd */ \
	X(COLUMN_POD, "pod", "pod", false, false)    /* of Kubernetes: its UID */ \
	X(COLUMN_ORIGIN, "origin", "origin", false, false) \
	/* its value for one key, or all that there are: may be a column several times */ \
	X(COLUMN_LABEL, "label", "labels", false, false)

enum column {
#define X(column, name, title, is_of_frame, is_number) column,
	COLUMNS(X)
#undef X
	COLUMN_COUNT,
};

struct column_info {
	const char *name; /* as typed in --sort */
	const char *title;
	bool is_of_frame; /* else of the sample */
	bool is_number;
};

const struct column_info *column_info(enum column column);

#endif
