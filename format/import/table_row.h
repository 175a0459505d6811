/*
 * What the columns of a row of a table mean: the names that "ebprof convert --rows" writes, and any
 * other one is a label.
 */
#ifndef EBPROF_TABLE_ROW_H
#define EBPROF_TABLE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/json_value.h"
#include "format/file/layout.h"

/* Texts are borrowed from the row that was read; one that it lacks is "", a number is 0. */
struct table_row {
	const char *event, *unit, *host; /* of a unit of time `unit` is "ns", and so is `value` */
	const char *comm, *thread, *cgroup, *container;
	uint32_t pid, tid;
	const struct json_value *stack;        /* a list of texts */
	uint64_t time_ns;                      /* since 1970; 0: unknown */
	const char *samples_text, *value_text; /* NULL: it has none */
	uint64_t samples, value;
	bool has_samples, has_value;
	bool is_negative, is_rounded; /* samples or value: below 0; a fraction is not in them */
	uint32_t nr_labels, nr_cut_labels;
	struct {
		const char *key, *value;
	} labels[LAYOUT_MAX_LABELS];
};

/* `table` is an object of columns. ERR_FORMAT: a column has what it cannot have. */
struct err *table_row_read(const struct json_value *table, struct table_row *ret) ERR_MUST_CHECK;

#endif
