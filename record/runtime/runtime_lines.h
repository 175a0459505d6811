/*
 * From places in code to lines. Some runtimes' tables can only be read from their beginning on:
 * each is read once, a mark is kept every so many entries, and a place is looked for from the
 * last mark ahead of it.
 */
#ifndef EBPROF_RUNTIME_LINES_H
#define EBPROF_RUNTIME_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

struct runtime_lines {
	uint8_t version; /* of struct event_code */
	uint32_t first_line;
	const uint8_t *bytes;
	size_t len;
};

/* An entry of a table, and all that the next one depends on. */
struct runtime_line_entry {
	size_t next;   /* offset of the next entry's bytes */
	uint64_t end;  /* places below that, and not of an entry before, are of this one */
	int64_t base;  /* the line that the next entry counts on from */
	uint32_t line; /* 0: these places have none */
};

/* Goes on to the next entry; false: there is none, or its bytes make no sense. */
typedef bool runtime_next_line_fn(
	const struct runtime_lines *lines, struct runtime_line_entry *entry);

struct runtime_line_marks {
	VEC(struct runtime_line_entry) entries; /* by `end` */
};

/* Reads all of the table. The marks are good for this table only. */
void runtime_line_marks_init(struct runtime_line_marks *marks, const struct runtime_lines *lines,
	runtime_next_line_fn *next);
void runtime_line_marks_deinit(struct runtime_line_marks *marks);
/* The line of a place, 0: it has none. Takes a bounded number of steps. */
uint32_t runtime_line_marks_find(const struct runtime_line_marks *marks,
	const struct runtime_lines *lines, runtime_next_line_fn *next, uint32_t place);

#endif
