/*
 * A table as engines and "ebprof convert --rows" write it, row by row as objects of JSON:
 *
 *   {"stack": ["main", "run"], "value": 10000000}        an object a line (NDJSON), or in one list
 *   stack<TAB>value                                      a line of names, and rows with tabs
 *   ["main", "run"]<TAB>10000000                         whose cells may stand in quotes
 *
 * A cell of "stack" or "labels" that begins as a list or an object is read as JSON, any other is a
 * text; an empty one is left out.
 */
#ifndef EBPROF_ROWS_TABLE_H
#define EBPROF_ROWS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/json_value.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

struct rows_table {
	const char *text, *at, *end; /* borrowed */
	bool has_tabs;
	VEC(char *) columns; /* with tabs */
	struct arena list;   /* where all rows stand in one list, which is read at once, */
	struct arena row;    /* ... else of the row that was read last */
	bool is_list;
	const struct json_value *next; /* of the list */
	uint64_t nr_rows;              /* that were read */
};

/*
 * Whether the beginning of a file is that of a table whose columns, or whose first row in what is
 * seen of it, have a stack: an object of JSON that nests nothing before it but labels.
 */
bool rows_table_is(const char *head, size_t len);

struct err *rows_table_begin(struct rows_table *table, const char *text, size_t len) ERR_MUST_CHECK;
/* The next row, which lives until the one behind it is read; NULL: there is none. */
struct err *rows_table_next(struct rows_table *table, const struct json_value **ret) ERR_MUST_CHECK;
void rows_table_deinit(struct rows_table *table);

#endif
