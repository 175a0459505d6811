#include "report/write/diff/diff_lists.h"

#include <math.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/path.h"

/* It calls next to nothing: its total is its self, and no other evidence. */
static bool is_mostly_self(const struct diff_row *row)
{
	static const double most = 0.9;
	const struct diff_amount *self = row->self.sides, *total = row->total.sides;
	return row->self.is_tested &&
	       self[0].share + self[1].share >= most * (total[0].share + total[1].share);
}

bool diff_is_in_list(const struct difference *diff, const struct diff_row *row, enum diff_list list)
{
	static const enum diff_verdict verdicts[DIFF_LISTS] = {
		[DIFF_LIST_REGRESSIONS] = DIFF_REGRESSION,
		[DIFF_LIST_IMPROVEMENTS] = DIFF_IMPROVEMENT,
		[DIFF_LIST_INCONCLUSIVE] = DIFF_INCONCLUSIVE,
	};
	const struct diff_amount *sides = row->self.sides;
	if (list == DIFF_LIST_CALLERS)
		return row->total.is_tested && !is_mostly_self(row) &&
		       row->self.verdict != row->total.verdict &&
		       (row->total.verdict == DIFF_REGRESSION ||
			       row->total.verdict == DIFF_IMPROVEMENT);
	return row->self.is_tested && row->self.verdict == verdicts[list] &&
	       fmax(sides[0].share, sides[1].share) >= diff->options.min_share;
}

size_t diff_count(const struct difference *diff, enum diff_verdict verdict)
{
	size_t count = 0;
	vec_each(&diff->rows, row)
		count += row->self.is_tested && row->self.verdict == verdict;
	return count;
}

double diff_share_of(const struct difference *diff, enum diff_verdict verdict)
{
	double share = 0;
	vec_each(&diff->rows, row)
		if (row->self.is_tested && row->self.verdict == verdict)
			share += (row->self.sides[0].share + row->self.sides[1].share) / 2;
	return share;
}

/* ---- rows that say the same ---- */

static bool is_in_lists_of_self(const struct difference *diff, const struct diff_row *row)
{
	return diff_is_in_list(diff, row, DIFF_LIST_REGRESSIONS) ||
	       diff_is_in_list(diff, row, DIFF_LIST_IMPROVEMENTS);
}

/* Its total is what is shown of it. */
static bool is_seen_by_total(const struct difference *diff, const struct diff_row *row)
{
	const struct diff_amount *self = row->self.sides, *total = row->total.sides;
	bool is_leaf = self[0].samples == total[0].samples && self[1].samples == total[1].samples;
	return diff_is_in_list(diff, row, DIFF_LIST_CALLERS) ||
	       (is_leaf && is_in_lists_of_self(diff, row));
}

static bool is_reason(const struct diff_row *row)
{
	return strcmp(row->object, PROFILE_WAITS) == 0;
}

static bool is_of_program(const struct difference *diff, const struct diff_row *row)
{
	for (int side = 0; side < MATCH_SIDES; side++)
		vec_each(&diff->sides[side].runs, run)
			if (run->program && strcmp(run->program, path_last_part(row->object)) == 0)
				return true;
	return row->function && row->function->is_script;
}

/* How much the user's own it is: the more of what has the same samples is shown. */
static int rank_of(const struct difference *diff, const struct diff_row *row)
{
	enum {
		KERNEL,
		WAIT,
		LIBRARY,
		LIBRARY_WITH_SOURCE,
		PROGRAM,
	};
	if (is_of_program(diff, row))
		return PROGRAM;
	if (is_reason(row))
		return WAIT;
	return row->object[0] == '[' ? KERNEL : row->file ? LIBRARY_WITH_SOURCE : LIBRARY;
}

/*
 * Entities are numbered from the innermost function of a stack on; those of a tree's paths from
 * the outermost on, and the whole path tells most.
 */
static bool says_more(
	const struct difference *diff, const struct diff_row *row, const struct diff_row *than)
{
	if (diff->options.by == DIFF_BY_STACK)
		return row->entity > than->entity;
	int rank = rank_of(diff, row), other = rank_of(diff, than);
	return rank != other ? rank > other : row->entity < than->entity;
}

static uint64_t hash_total(const struct diff_row *row, uint64_t seed)
{
	struct {
		uint64_t samples;
		double amount, squares;
	} key[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct diff_amount *total = &row->total.sides[side];
		key[side].samples = total->samples;
		key[side].amount = total->amount;
		key[side].squares = total->squares;
	}
	return map_hash_bytes(key, sizeof(key), seed);
}

bool *diff_find_repeats(const struct difference *diff)
{
	bool *repeats = mem_zalloc_array(diff->rows.len + 1, sizeof(*repeats));
	struct map shown = {0}; /* by their samples: 1 + the row */
	uint64_t seed = map_random_seed();
	for (size_t i = 0; i < diff->rows.len; i++) {
		const struct diff_row *row = &diff->rows.data[i];
		if (!is_seen_by_total(diff, row))
			continue;
		uint64_t *best = map_put(&shown, hash_total(row, seed), NULL);
		bool is_best = !*best || says_more(diff, row, &diff->rows.data[*best - 1]);
		if (*best)
			repeats[is_best ? *best - 1 : i] = true;
		if (is_best)
			*best = i + 1;
	}
	map_deinit(&shown);
	for (size_t i = 0; i < diff->rows.len; i++)
		repeats[i] &= diff_is_in_list(diff, &diff->rows.data[i], DIFF_LIST_CALLERS);
	return repeats;
}

const struct diff_row *diff_find_waiting(
	const struct difference *diff, const struct diff_row *reason)
{
	const struct diff_row *most = NULL;
	CLEANUP_FREE bool *repeats = is_reason(reason) ? diff_find_repeats(diff) : NULL;
	for (size_t i = 0; repeats && i < diff->rows.len; i++) {
		const struct diff_row *row = &diff->rows.data[i];
		if (!repeats[i] && diff_is_in_list(diff, row, DIFF_LIST_CALLERS) &&
			is_of_program(diff, row) && row->total.verdict == DIFF_REGRESSION &&
			(!most || row->total.effect > most->total.effect))
			most = row;
	}
	return most;
}
