#include "report/compare/rename_match.h"

#include <math.h>
#include <string.h>

static bool is_as_much(double a, double b)
{
	static const double factor = 1.25;
	return fmax(a, b) <= factor * fmin(a, b);
}

static void find_alike(struct rename_candidates *base, struct rename_candidates *new)
{
	for (uint32_t i = 0; i < base->len; i++)
		for (uint32_t k = 0; k < new->len; k++) {
			struct rename_candidate *old = &base->data[i], *now = &new->data[k];
			if (old->object != now->object || !is_as_much(old->self, now->self) ||
				!is_as_much(old->total, now->total))
				continue;
			old->nr_alike++;
			now->nr_alike++;
			old->alike = k;
		}
}

static bool has_moved(const struct rename_candidate *old, const struct rename_candidate *now)
{
	return old->name && now->name && old->object != now->object &&
	       strcmp(old->name, now->name) == 0;
}

/* How long it takes does not matter. */
static size_t match_moved(
	struct rename_candidates *base, struct rename_candidates *new, uint32_t *new_of)
{
	size_t count = 0;
	vec_each(base, old) {
		struct rename_candidate *only = NULL;
		size_t nr_new = 0, nr_old = 0;
		vec_each(new, now)
			if (has_moved(old, now)) {
				only = now;
				nr_new++;
			}
		vec_each(base, other)
			nr_old += other->name && old->name && strcmp(other->name, old->name) == 0;
		if (nr_new != 1 || nr_old != 1 || new_of[old->function])
			continue;
		new_of[old->function] = only->function + 1;
		only->nr_alike = 0; /* it is no other one's */
		count++;
	}
	return count;
}

size_t rename_match(
	struct rename_candidates sides[MATCH_SIDES], uint32_t *new_of, size_t nr_functions)
{
	static const size_t pairs_max = 1 << 20;
	struct rename_candidates *base = &sides[MATCH_BASE], *new = &sides[MATCH_NEW];
	size_t count = 0;
	memset(new_of, 0, nr_functions * sizeof(*new_of));
	bool is_small = base->len && new->len <= pairs_max / base->len &&
			base->len <= pairs_max / base->len;
	if (is_small) {
		find_alike(base, new);
		count = match_moved(base, new, new_of);
	}
	vec_each(base, old) {
		if (new_of[old->function] || old->nr_alike != 1 ||
			new->data[old->alike].nr_alike != 1)
			continue;
		new_of[old->function] = new->data[old->alike].function + 1;
		count++;
	}
	return count;
}
