/*
 * Rows of a table as a recording: those of "ebprof convert --rows", and what a query made of them.
 *
 * Only the column "stack" is needed, an array of names, the outermost first; samples, value, event,
 * unit, time, host and labels are understood as man/ebprof-convert.1 has them. Other columns are
 * labels. What a file like this does not have, the numbers of processes and threads, begins above
 * those that a kernel gives.
 */
#ifndef EBPROF_IMPORT_ROWS_H
#define EBPROF_IMPORT_ROWS_H

#include "format/import/import.h"
#include "format/import/import_file.h"
#include "format/import/import_output.h"

bool import_rows_is(const uint8_t *head, size_t len);
struct err *import_rows_read(const struct import_file *file, struct import_output *output,
	struct import_result *result) ERR_MUST_CHECK;

#endif
