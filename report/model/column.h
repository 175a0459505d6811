/* What rows can be told apart by. A row of this table is a column of a report. */
#ifndef EBPROF_COLUMN_H
#define EBPROF_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

enum column {
	COLUMN_SYM,
	COLUMN_DSO,
	COLUMN_FILE, /* where the function is declared, as far as that is known */
	COLUMN_COMM,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_CPU,
	COLUMN_CONTAINER, /* or the control group, where there is none */
	COLUMN_ORIGIN,
	COLUMN_COUNT,
};

struct column_info {
	const char *name; /* as typed in --sort */
	const char *title;
	bool is_of_frame; /* else of the sample */
	bool is_number;
};

const struct column_info *column_info(enum column column);
/* COLUMN_COUNT when there is none of that name (perf's synonyms are known). */
enum column column_find(const char *name, size_t len);

#endif
