#include "report/compare/waiting.h"

#include <math.h>
#include <string.h>

#include "format/base/mem.h"
#include "report/compare/judgement.h"

/* By how much more of a side's whole, or of a run, there is of it. */
static double waiting_more_of(const struct difference *diff, const double amounts[MATCH_SIDES])
{
	double parts[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++)
		parts[side] = amounts[side] / (diff->options.metric == DIFF_SHARE
							      ? diff->sides[side].known_amount
							      : (double)diff->sides[side].runs.len);
	return parts[MATCH_NEW] - parts[MATCH_BASE];
}

static double more_in_all(const struct difference *diff, const struct diff_judgement *judgement)
{
	const double amounts[MATCH_SIDES] = {
		judgement->sides[MATCH_BASE].amount, judgement->sides[MATCH_NEW].amount};
	return waiting_more_of(diff, amounts);
}

/* The row that the verdict is of, if that is a reason; NULL: it is none. */
static const struct diff_row *waiting_find_reason(const struct difference *diff)
{
	vec_each(&diff->rows, row)
		if (row->self.verdict == DIFF_REGRESSION)
			return strcmp(row->object, PROFILE_WAITS) == 0 ? row : NULL;
	return NULL;
}

/* By how much more of a row's total ends in the reason; `cells`: of the counts' rows and runs. */
static double more_for_reason(const struct difference *diff, const struct run_counts *counts,
	const double *cells, const struct diff_row *row)
{
	double amounts[MATCH_SIDES] = {0};
	const double *runs = &cells[(counts->row_of[row->entity] - 1) * counts->nr_runs];
	for (size_t run = 0; run < counts->nr_runs; run++)
		amounts[run < counts->nr_base ? MATCH_BASE : MATCH_NEW] += runs[run];
	return waiting_more_of(diff, amounts);
}

static bool may_wait_longer(
	const struct difference *diff, const struct diff_row *row, double more_for_it)
{
	static const double mostly = 0.5;
	return row->is_own && !row->repeats && row->total.verdict == DIFF_REGRESSION &&
	       more_for_it > 0 && more_for_it >= mostly * more_in_all(diff, &row->total);
}

void waiting_find(struct difference *diff, struct run_counts *counts)
{
	static const double as_much = 0.95;
	const struct diff_row *reason = waiting_find_reason(diff);
	if (!reason || diff->options.by == DIFF_BY_STACK) /* which names all functions */
		return;
	CLEANUP_FREE bool *is_reason = mem_zalloc_array(diff->rows.len, sizeof(*is_reason));
	is_reason[counts->row_of[reason->entity] - 1] = true;
	CLEANUP_FREE double *cells = run_counts_of_chosen(counts, is_reason);
	struct diff_row *best = NULL;
	double most = 0;
	vec_each(&diff->rows, row) {
		double more = more_for_reason(diff, counts, cells, row);
		if (may_wait_longer(diff, row, more))
			most = fmax(most, more);
	}
	vec_each(&diff->rows, row) {
		double more = more_for_reason(diff, counts, cells, row);
		if (may_wait_longer(diff, row, more) && more >= as_much * most &&
			(!best || row->total.effect > best->total.effect))
			best = row;
	}
	if (best)
		best->waits_longer = true;
}
