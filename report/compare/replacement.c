#include "report/compare/replacement.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "report/compare/quanta.h"

/* ---- groups ---- */

struct groups {
	VEC(struct diff_replacement) list;
	uint32_t *of; /* for each row 1 + its group; 0: both sides have it, or nothing to replace */
};

static bool is_one_sided(const struct diff_row *row)
{
	const struct diff_amount *sides = row->self.sides;
	return !sides[0].samples || !sides[1].samples;
}

static void add_row(struct diff_replacement *group, const struct diff_row *row)
{
	group->nr_rows[row->self.sides[MATCH_NEW].samples ? MATCH_NEW : MATCH_BASE]++;
	for (int side = 0; side < MATCH_SIDES; side++) {
		const struct diff_amount *amount = &row->self.sides[side];
		struct diff_amount *sum = &group->judgement.sides[side];
		sum->samples += amount->samples;
		sum->share += amount->share;
		sum->value += amount->value;
		sum->amount += amount->amount;
		sum->squares += amount->squares;
		sum->chance_squares += amount->chance_squares;
	}
}

static void group_by_object(
	struct groups *groups, const struct difference *diff, const bool *is_tested)
{
	struct map by_object = {0};
	uint64_t seed = map_random_seed();
	*groups = (struct groups){.of = mem_zalloc_array(diff->rows.len + 1, sizeof(*groups->of))};
	for (size_t i = 0; i < diff->rows.len; i++) {
		const struct diff_row *row = &diff->rows.data[i];
		if (!is_tested[i] || !is_one_sided(row))
			continue;
		bool added;
		uint64_t *group = map_put(
			&by_object, map_hash_bytes(row->object, strlen(row->object), seed), &added);
		if (added) {
			vec_push(&groups->list, (struct diff_replacement){.object = row->object});
			*group = groups->list.len;
		}
		groups->of[i] = (uint32_t)*group;
		add_row(&groups->list.data[*group - 1], row);
	}
	map_deinit(&by_object);
}

static bool is_replacement(const struct diff_replacement *group)
{
	const struct diff_amount *sides = group->judgement.sides;
	return sides[0].samples && sides[1].samples;
}

/* ---- judging ---- */

/* Of each group and run; `chosen`: of which rows, NULL: of all. */
static double *sum_hits_of_groups(
	const struct groups *groups, const struct judgement_family *rows, const bool *chosen)
{
	double *sums = mem_zalloc_array(groups->list.len * rows->nr_runs + 1, sizeof(*sums));
	for (size_t i = 0; i < rows->nr_rows; i++) {
		if (!groups->of[i] || (chosen && !chosen[i]))
			continue;
		double *of_group = &sums[(groups->of[i] - 1) * rows->nr_runs];
		for (size_t run = 0; run < rows->nr_runs; run++)
			of_group[run] += rows->amounts[i * rows->nr_runs + run];
	}
	return sums;
}

static void judge_groups(const struct groups *groups, const struct judgement_family *rows,
	const bool *has_changed, const struct difference *diff)
{
	size_t count = groups->list.len;
	CLEANUP_FREE double *hits = sum_hits_of_groups(groups, rows, NULL);
	CLEANUP_FREE double *more =
		has_changed ? sum_hits_of_groups(groups, rows, has_changed) : NULL;
	CLEANUP_FREE bool *is_tested = mem_zalloc_array(count + 1, sizeof(*is_tested));
	CLEANUP_FREE struct diff_judgement *judgements =
		mem_zalloc_array(count + 1, sizeof(*judgements));
	CLEANUP(quanta_deinit) struct quanta quanta;
	quanta_init(&quanta, diff, count);
	for (size_t i = 0; i < count; i++) {
		is_tested[i] = is_replacement(&groups->list.data[i]);
		judgements[i] = groups->list.data[i].judgement;
		quanta_set(&quanta, i, judgements[i].sides, false);
	}
	struct judgement_family family = *rows;
	family.nr_rows = count;
	family.amounts = hits;
	family.more = more;
	family.is_tested = is_tested;
	family.quanta = quanta.own;
	family.rest_quanta = quanta.rest;
	judgement_make(&family, &diff->options, judgements);
	for (size_t i = 0; i < count; i++) {
		if (is_tested[i] && !judgement_has_rest(&family, i))
			judgement_withhold(&judgements[i]);
		groups->list.data[i].judgement = judgements[i];
	}
}

static void withhold_rows(struct groups *groups, struct difference *diff)
{
	for (size_t i = 0; i < diff->rows.len; i++) {
		struct diff_judgement *self = &diff->rows.data[i].self;
		if (!groups->of[i] || !judgement_says_change(self))
			continue;
		struct diff_replacement *group = &groups->list.data[groups->of[i] - 1];
		if (!is_replacement(group) || self->verdict == group->judgement.verdict)
			continue;
		judgement_withhold(self);
		group->nr_withheld++;
	}
}

static void find_regressions(struct groups *groups, const struct difference *diff)
{
	vec_each(&groups->list, group)
		group->makes_regression =
			is_replacement(group) && group->judgement.verdict == DIFF_REGRESSION;
	for (size_t i = 0; i < diff->rows.len; i++)
		if (groups->of[i] && diff->rows.data[i].self.verdict == DIFF_REGRESSION)
			groups->list.data[groups->of[i] - 1].makes_regression = false;
}

bool replacement_is_there(const struct difference *diff, const bool *is_tested)
{
	struct groups groups;
	bool is_there = false;
	group_by_object(&groups, diff, is_tested);
	vec_each(&groups.list, group)
		is_there |= is_replacement(group);
	vec_deinit(&groups.list);
	mem_free(groups.of);
	return is_there;
}

void replacement_judge(
	struct difference *diff, const struct judgement_family *family, const bool *has_changed)
{
	struct groups groups;
	group_by_object(&groups, diff, family->is_tested);
	judge_groups(&groups, family, has_changed, diff);
	withhold_rows(&groups, diff);
	find_regressions(&groups, diff);
	vec_each(&groups.list, group)
		if (is_replacement(group))
			vec_push(&diff->replacements, *group);
	vec_deinit(&groups.list);
	mem_free(groups.of);
}
