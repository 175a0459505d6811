#include "report/compare/waiting.h"

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

/* The row that the verdict is of, if that is a reason; nr_rows: it is none. */
static size_t waiting_find_reason(const struct difference *diff)
{
	size_t first = diff->rows.len;
	for (size_t i = 0; i < diff->rows.len; i++) {
		const struct diff_row *row = &diff->rows.data[i];
		if (row->self.verdict == DIFF_REGRESSION &&
			(first == diff->rows.len ||
				more_in_all(diff, &row->self) >
					more_in_all(diff, &diff->rows.data[first].self)))
			first = i;
	}
	bool is_reason =
		first < diff->rows.len && strcmp(diff->rows.data[first].object, PROFILE_WAITS) == 0;
	return is_reason ? first : diff->rows.len;
}

/* Of a row's total, by how much more of it ends in the reason. */
static double more_for_reason(
	const struct difference *diff, const struct run_counts *counts, const double *cells)
{
	double amounts[MATCH_SIDES] = {0};
	for (size_t run = 0; run < counts->nr_runs; run++)
		amounts[run < counts->nr_base ? MATCH_BASE : MATCH_NEW] += cells[run];
	return waiting_more_of(diff, amounts);
}

void waiting_find(struct difference *diff, struct run_counts *counts)
{
	static const double as_much = 0.95, mostly = 0.5;
	size_t reason = waiting_find_reason(diff);
	if (reason == diff->rows.len)
		return;
	CLEANUP_FREE bool *is_reason = mem_zalloc_array(diff->rows.len, sizeof(*is_reason));
	is_reason[reason] = true;
	CLEANUP_FREE double *cells = run_counts_of_chosen(counts, is_reason);
	struct diff_row *best = NULL;
	double most = 0;
	for (size_t i = 0; i < diff->rows.len; i++) {
		struct diff_row *row = &diff->rows.data[i];
		double more = more_for_reason(diff, counts, &cells[i * counts->nr_runs]);
		if (!row->is_own || row->total.verdict != DIFF_REGRESSION || more <= 0 ||
			more < mostly * more_in_all(diff, &row->total) || more < as_much * most)
			continue;
		bool is_alike = best && as_much * more <= most;
		if (!is_alike || row->total.effect > best->total.effect)
			best = row;
		most = more > most ? more : most;
	}
	if (best)
		best->waits_longer = true;
}
