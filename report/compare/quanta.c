#include "report/compare/quanta.h"

#include <math.h>

#include "format/base/mem.h"

/* Of the squares, where all is certain: hits have an end. */
static const double least_chance = 1e-4;

static double quantum_of(const struct difference *diff, const struct diff_amount *sum)
{
	double squares = sum->squares;
	if (diff->knows_dispersion)
		squares = fmax(sum->chance_squares, least_chance * sum->squares);
	return sum->amount > 0 && squares > 0 ? squares / sum->amount : 1;
}

static struct diff_amount sum_of_both(const struct diff_amount sides[MATCH_SIDES])
{
	const struct diff_amount *base = &sides[MATCH_BASE], *new = &sides[MATCH_NEW];
	return (struct diff_amount){
		.amount = base->amount + new->amount,
		.squares = base->squares + new->squares,
		.chance_squares = base->chance_squares + new->chance_squares,
	};
}

static struct diff_amount all_of_both(const struct difference *diff)
{
	struct diff_amount all = {0};
	for (int side = 0; side < MATCH_SIDES; side++) {
		all.amount += diff->sides[side].known_amount;
		all.squares += diff->sides[side].known_squares;
		all.chance_squares += diff->sides[side].known_chance_squares;
	}
	return all;
}

static struct diff_amount difference_of(struct diff_amount all, const struct diff_amount *part)
{
	all.amount -= part->amount;
	all.squares -= part->squares;
	all.chance_squares = fmax(0, all.chance_squares - part->chance_squares);
	return all;
}

/* Where a row is all there is, what is left is what rounding left. */
static double quantum_of_others(
	const struct difference *diff, const struct diff_amount *all, const struct diff_amount *sum)
{
	static const double rounding = 1e-9;
	struct diff_amount others = difference_of(*all, sum);
	bool has_any =
		others.amount > rounding * all->amount && others.squares > rounding * all->squares;
	return quantum_of(diff, has_any ? &others : all);
}

/* Also where all samples are 1, and certain, as the hits of a tracepoint are. */
static bool has_quanta(const struct difference *diff)
{
	struct diff_amount all = all_of_both(diff);
	return diff->is_weighted || (diff->knows_dispersion && all.chance_squares < all.squares);
}

void quanta_init(struct quanta *quanta, const struct difference *diff, size_t nr_rows)
{
	*quanta = (struct quanta){.diff = diff, .rest_of = all_of_both(diff)};
	if (!has_quanta(diff))
		return;
	quanta->own = mem_zalloc_array(nr_rows + 1, sizeof(*quanta->own));
	quanta->rest = mem_zalloc_array(nr_rows + 1, sizeof(*quanta->rest));
}

void quanta_set(
	struct quanta *quanta, size_t row, const struct diff_amount sides[MATCH_SIDES], bool is_out)
{
	static const struct diff_amount nothing = {0};
	struct diff_amount sum = sum_of_both(sides);
	if (!quanta->own)
		return;
	quanta->own[row] = quantum_of(quanta->diff, &sum);
	quanta->rest[row] =
		quantum_of_others(quanta->diff, &quanta->rest_of, is_out ? &nothing : &sum);
}

void quanta_leave_out(struct quanta *quanta, const struct diff_amount sides[MATCH_SIDES])
{
	struct diff_amount sum = sum_of_both(sides);
	quanta->rest_of = difference_of(quanta->rest_of, &sum);
}

void quanta_deinit(struct quanta *quanta)
{
	mem_free(quanta->own);
	mem_free(quanta->rest);
}

double quanta_of_whole(const struct difference *diff, const struct diff_amount sides[MATCH_SIDES])
{
	struct diff_amount sum = sum_of_both(sides);
	return has_quanta(diff) ? quantum_of(diff, &sum) : 1;
}
