/* The lists of rows that reports for people have; which rows say no more than another one. */
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

/*
 * By self, but callers by total. What takes less than min_share is in no list, nor is a caller that
 * repeats what another row says.
 */
bool diff_is_in_list(
	const struct difference *diff, const struct diff_row *row, enum diff_list list);

/*
 * Sets `repeats` of the rows: of those that are on the same stacks, as a function and its only
 * caller are, all but one. That one is the user's own rather than a library's or the kernel's, and
 * of those the innermost, or the longest stack.
 */
void diff_find_repeats(struct difference *diff);
/* How many callers are left out of the list for that. */
size_t diff_count_repeats(const struct difference *diff);

/* How many rows have this verdict, by self. */
size_t diff_count(const struct difference *diff, enum diff_verdict verdict);
/* The share of both sides' samples that is in these rows. */
double diff_share_of(const struct difference *diff, enum diff_verdict verdict);

#endif
