#include "report/compare/renames.h"

#include <math.h>

#include "report/compare/rename_match.h"

static const char *name_of(const struct run_counts *counts, uint32_t entity)
{
	struct diff_row row = {0};
	entities_name(counts->entities, entity, &row);
	return row.name;
}

/* What only this side has, and as much of it that its share is no accident. */
static void renames_collect(const struct run_counts *counts, enum match_side side,
	const struct diff_side *of, double least, struct rename_candidates *out)
{
	const struct run_sums *own = counts->sums[side], *others = counts->sums[!side];
	bool is_weighted = counts->sides[side].is_weighted;
	for (uint32_t i = 0; i < counts->nr_entities; i++) {
		const struct run_sum *self = &own[i].self, *total = &own[i].total;
		if (others[i].total.samples || !entities_is_named_function(counts->entities, i))
			continue;
		struct rename_candidate candidate = {
			.function = i,
			.object = entities_object(counts->entities, i),
			.name = name_of(counts, i),
			.self = run_sum_amount(self, is_weighted) / of->known_amount,
			.total = run_sum_amount(total, is_weighted) / of->known_amount,
		};
		if (candidate.total >= least)
			vec_push(out, candidate);
	}
}

size_t renames_join(struct run_counts *counts, const struct diff_side sides[MATCH_SIDES],
	const struct diff_options *options)
{
	static const double least_of_all = 0.001; /* of a side; also with a smaller min_share */
	struct rename_candidates candidates[MATCH_SIDES] = {0};
	double least = fmax(least_of_all, options->min_share);
	if (options->by != DIFF_BY_FUNCTION)
		return 0;
	for (int side = 0; side < MATCH_SIDES; side++)
		renames_collect(
			counts, (enum match_side)side, &sides[side], least, &candidates[side]);
	CLEANUP_FREE uint32_t *new_of = mem_zalloc_array(counts->nr_entities + 1, sizeof(*new_of));
	size_t count = rename_match(candidates, new_of, counts->nr_entities);
	if (count)
		run_counts_join(counts, new_of);
	vec_deinit(&candidates[MATCH_BASE]);
	vec_deinit(&candidates[MATCH_NEW]);
	return count;
}
