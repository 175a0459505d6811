/* The top table: samples grouped by columns, with self and total of each group. */
#ifndef EBPROF_TABLE_H
#define EBPROF_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "report/model/column.h"
#include "report/model/profile.h"

enum {
	TABLE_MAX_LABEL_COLUMNS = 8,
	TABLE_MAX_COLUMNS = COLUMN_COUNT + TABLE_MAX_LABEL_COLUMNS,
};

struct table_row {
	uint32_t thread, cpu; /* of one sample in the group: meaningful where a column says so */
	uint32_t labels;      /* likewise: its set */
	uint32_t function;    /* likewise; 0 when no column is of the frame */
	uint64_t self, total; /* in the event's unit (ns) */
	uint64_t self_samples, total_samples;
};

struct table {
	VEC(struct table_row) rows;
	uint64_t total; /* of all samples */
	uint64_t samples;
	bool has_object;   /* a column shows the file, so names need not */
	uint8_t *nr_parts; /* by function, of namesakes.h; NULL: names are shown as they are */
};

struct table_options {
	enum column columns[TABLE_MAX_COLUMNS];
	const char *label_keys[TABLE_MAX_COLUMNS]; /* of each COLUMN_LABEL; NULL: all labels */
	size_t nr_columns;
	bool by_total; /* sort by total instead of self */
};

/*
 * Time is linear in the samples, plus the frames of each distinct (group,
 * stack). A recursive function counts once a sample in its total.
 */
void table_init(
	struct table *table, const struct profile *profile, const struct table_options *options);
void table_deinit(struct table *table);

/*
 * Group of each function: below their number, equal where the columns of frames among these do not
 * tell them apart. Namesakes are apart by their symbol, unless their file is a column, too. To be
 * freed.
 */
uint32_t *table_group_functions(
	const struct profile *profile, const enum column *columns, size_t nr_columns);

#endif
