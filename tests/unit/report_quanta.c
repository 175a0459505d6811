/* How many samples amounts are worth. */
#include "report/compare/quanta.h"

#include <math.h>

#include "tests/unit/unit.h"

/* 100 waits of 10 ns a side, of which the first half of the row's were chosen by chance, and beside
 * them 2 of 1000 ns. */
static void begin_sides(struct difference *diff, struct diff_amount row[MATCH_SIDES])
{
	*diff = (struct difference){.is_weighted = true};
	for (int side = 0; side < MATCH_SIDES; side++) {
		row[side] = (struct diff_amount){
			.amount = 1000, .squares = 10000, .chance_squares = 5000};
		diff->sides[side].known_amount = 1000 + 2000;
		diff->sides[side].known_squares = 10000 + 2e6;
		diff->sides[side].known_chance_squares = 5000;
	}
}

static bool is_about(double value, double wanted)
{
	return fabs(value - wanted) < 1e-6 * wanted;
}

TEST(each_row_has_its_own_quantum)
{
	struct difference diff;
	struct diff_amount row[MATCH_SIDES];
	struct quanta quanta;
	begin_sides(&diff, row);
	quanta_init(&quanta, &diff, 1);
	quanta_set(&quanta, 0, row, false);
	CHECK(is_about(quanta.own[0], 10));
	CHECK(is_about(quanta.rest[0], 1000));
	quanta_deinit(&quanta);
}

TEST(what_was_measured_is_certain_where_runs_differ)
{
	struct difference diff;
	struct diff_amount row[MATCH_SIDES];
	struct quanta quanta;
	begin_sides(&diff, row);
	diff.knows_dispersion = true;
	quanta_init(&quanta, &diff, 1);
	quanta_set(&quanta, 0, row, false);
	CHECK(is_about(quanta.own[0], 5));
	CHECK(quanta.rest[0] < 1);
	CHECK(is_about(quanta_of_whole(&diff, row), 5));
	quanta_deinit(&quanta);
}

TEST(what_is_left_out_is_no_rest)
{
	struct difference diff;
	struct diff_amount row[MATCH_SIDES];
	struct quanta quanta;
	begin_sides(&diff, row);
	quanta_init(&quanta, &diff, 1);
	quanta_leave_out(&quanta, row);
	quanta_set(&quanta, 0, row, true);
	CHECK(is_about(quanta.rest[0], 1000));
	quanta_deinit(&quanta);
}

TEST(samples_of_one_amount_need_none)
{
	struct difference diff;
	struct diff_amount row[MATCH_SIDES];
	struct quanta quanta;
	begin_sides(&diff, row);
	diff.is_weighted = false;
	quanta_init(&quanta, &diff, 1);
	quanta_set(&quanta, 0, row, false);
	CHECK(!quanta.own);
	CHECK(is_about(quanta_of_whole(&diff, row), 1));
	quanta_deinit(&quanta);
}
