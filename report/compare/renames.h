/*
 * Functions that got another name (rename_match.h) are one row, and judged as any other; else a
 * renamed function would be a new one and a regression, and its old name an improvement.
 */
#ifndef EBPROF_RENAMES_H
#define EBPROF_RENAMES_H

#include "report/compare/run_counts.h"

/* Joins them in the counts, before rows are chosen; returns how many. */
size_t renames_join(struct run_counts *counts, const struct diff_side sides[MATCH_SIDES],
	const struct diff_options *options);

#endif
