/* The lists of rows that reports for people have. */
#ifndef EBPROF_DIFF_LISTS_H
#define EBPROF_DIFF_LISTS_H

#include "report/compare/difference.h"

/* In this order. */
enum diff_list {
	DIFF_LIST_REGRESSIONS,
	DIFF_LIST_IMPROVEMENTS,
	/* Changed by what they call, while they did not themselves: not what calls hardly anything.
	 */
	DIFF_LIST_CALLERS,
	DIFF_LIST_INCONCLUSIVE,
	DIFF_LISTS,
};

/* By self, but callers by total. What takes less than min_share is in no list. */
bool diff_is_in_list(
	const struct difference *diff, const struct diff_row *row, enum diff_list list);

/*
 * For each row whether it is a caller that has the same samples as another row of the lists, which
 * says more: all functions between a thread's begin and its only loop have one number. Of these
 * the program's own are shown rather than libraries' and the kernel's, and of those the innermost.
 */
bool *diff_find_repeats(const struct difference *diff);

/*
 * Of a row that is a reason to wait, which is no function: the program's function that takes longer
 * by most with what it calls; NULL: none does for sure.
 */
const struct diff_row *diff_find_waiting(
	const struct difference *diff, const struct diff_row *reason);

/* How many rows have this verdict, by self. */
size_t diff_count(const struct difference *diff, enum diff_verdict verdict);
/* The share of both sides' samples that is in these rows. */
double diff_share_of(const struct difference *diff, enum diff_verdict verdict);

#endif
