/*
 * perf.data, as `perf record` writes it into files and pipes. Call chains stay as perf unwound
 * them; what --call-graph dwarf copied of stacks becomes snapshots, which the reader unwinds.
 */
#ifndef EBPROF_IMPORT_PERF_H
#define EBPROF_IMPORT_PERF_H

#include "format/import/import_file.h"
#include "format/import/import_output.h"

bool import_perf_is(const uint8_t *head, size_t len);
struct err *import_perf_read(const struct import_file *file, struct import_output *output,
	struct import_result *result) ERR_MUST_CHECK;

#endif
