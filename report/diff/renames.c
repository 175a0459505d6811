#include "report/diff/renames.h"

#include <math.h>

struct candidate {
	uint32_t entity;
	double self, total; /* shares */
	size_t nr_alike;    /* on the other side */
	uint32_t alike;     /* the last of those, by its place in the list */
};

struct candidates {
	struct candidate *data;
	size_t len, cap;
};

/* What only this side has, and as much of it that its share is no accident. */
static void collect(const struct run_counts *counts, enum match_side side,
	const struct diff_side *of, double least, struct candidates *out)
{
	const struct run_sums *own = counts->sums[side], *others = counts->sums[!side];
	for (uint32_t i = 0; i < counts->nr_entities; i++) {
		struct candidate candidate = {
			.entity = i,
			.self = (double)own[i].self / (double)of->known,
			.total = (double)own[i].total / (double)of->known,
		};
		if (!others[i].total && candidate.total >= least &&
			entities_is_named_function(counts->entities, i))
			vec_push(out, candidate);
	}
}

static bool is_as_much(double a, double b)
{
	static const double factor = 1.25;
	return fmax(a, b) <= factor * fmin(a, b);
}

static void find_alike(
	const struct run_counts *counts, struct candidates *base, struct candidates *new)
{
	for (uint32_t i = 0; i < base->len; i++)
		for (uint32_t k = 0; k < new->len; k++) {
			struct candidate *old = &base->data[i], *now = &new->data[k];
			if (!is_as_much(old->self, now->self) ||
				!is_as_much(old->total, now->total) ||
				!entities_are_of_one_object(
					counts->entities, old->entity, now->entity))
				continue;
			old->nr_alike++;
			now->nr_alike++;
			old->alike = k;
		}
}

size_t renames_join(struct run_counts *counts, const struct diff_side sides[MATCH_SIDES],
	const struct diff_options *options)
{
	static const double least = 0.001; /* of a side; whatever is to be reported */
	static const size_t pairs_max = 1 << 20;
	struct candidates base = {0}, new = {0};
	size_t count = 0;
	if (options->by == DIFF_BY_FUNCTION) {
		double share = fmax(least, options->min_share);
		collect(counts, MATCH_BASE, &sides[MATCH_BASE], share, &base);
		collect(counts, MATCH_NEW, &sides[MATCH_NEW], share, &new);
	}
	if (base.len && new.len <= pairs_max / base.len)
		find_alike(counts, &base, &new);
	CLEANUP_FREE uint32_t *new_of = mem_zalloc_array(counts->nr_entities + 1, sizeof(*new_of));
	vec_each(&base, old) {
		if (old->nr_alike != 1 || new.data[old->alike].nr_alike != 1)
			continue;
		new_of[old->entity] = new.data[old->alike].entity + 1;
		count++;
	}
	if (count)
		run_counts_join(counts, new_of);
	vec_deinit(&base);
	vec_deinit(&new);
	return count;
}
