#include "report/compare/diff_lists.h"

#include <math.h>
#include <string.h>

#include "format/base/map.h"
#include "report/compare/entities.h"
#include "report/compare/judgement.h"

/* It calls next to nothing: its total is its self, and no other evidence. */
static bool is_mostly_self(const struct diff_row *row)
{
	static const double most = 0.9;
	const struct diff_amount *self = row->self.sides, *total = row->total.sides;
	return row->self.is_tested &&
	       self[0].share + self[1].share >= most * (total[0].share + total[1].share);
}

static bool is_changed_caller(const struct diff_row *row)
{
	return row->total.is_tested && !is_mostly_self(row) &&
	       row->self.verdict != row->total.verdict && judgement_says_change(&row->total);
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
		return is_changed_caller(row) && !row->repeats;
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

/* Its total is what is shown of it. */
static bool is_seen_by_total(const struct diff_row *row)
{
	const struct diff_amount *self = row->self.sides, *total = row->total.sides;
	bool is_leaf = self[0].samples == total[0].samples && self[1].samples == total[1].samples;
	return is_changed_caller(row) || (is_leaf && judgement_says_change(&row->self));
}

/* How much the user's own it is. */
static int closeness_of(const struct diff_row *row)
{
	enum {
		KERNEL,
		WAIT,
		LIBRARY,
		LIBRARY_WITH_SOURCE,
		PROGRAM,
		SCRIPT, /* whose interpreter may be the user's, too */
	};
	if (row->is_own)
		return row->function && row->function->is_script ? SCRIPT : PROGRAM;
	if (strcmp(row->object, PROFILE_WAITS) == 0)
		return WAIT;
	return row->object[0] == '[' ? KERNEL : row->file ? LIBRARY_WITH_SOURCE : LIBRARY;
}

static bool says_more(
	const struct difference *diff, const struct diff_row *row, const struct diff_row *than)
{
	int rank = closeness_of(row), other = closeness_of(than);
	if (diff->options.by != DIFF_BY_STACK && rank != other)
		return rank > other;
	return entities_are_outermost_first(diff->entities) ? row->entity > than->entity
							    : row->entity < than->entity;
}

void diff_find_repeats(struct difference *diff)
{
	struct map shown = {0}; /* by their stacks: 1 + the row */
	uint64_t seed = map_random_seed();
	for (size_t i = 0; i < diff->rows.len; i++) {
		struct diff_row *row = &diff->rows.data[i];
		if (!is_seen_by_total(row))
			continue;
		uint64_t key = map_hash_bytes((const char *)row->stacks, sizeof(row->stacks), seed);
		uint64_t *best = map_put(&shown, key, NULL);
		struct diff_row *other = *best ? &diff->rows.data[*best - 1] : NULL;
		bool is_best = !other || says_more(diff, row, other);
		if (other)
			(is_best ? other : row)->repeats = true;
		if (is_best)
			*best = i + 1;
	}
	map_deinit(&shown);
}

size_t diff_count_repeats(const struct difference *diff)
{
	size_t count = 0;
	vec_each(&diff->rows, row)
		count += row->repeats && is_changed_caller(row);
	return count;
}
