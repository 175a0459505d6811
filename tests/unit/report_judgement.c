#include "report/compare/judgement.h"

#include <math.h>
#include <string.h>

#include "tests/unit/unit.h"

enum {
	ROWS_MAX = 64,
	RUNS_MAX = 16,
};

struct family {
	struct judgement_family of;
	struct diff_options options;
	double amounts[ROWS_MAX * RUNS_MAX];
	double rest[RUNS_MAX];
	bool is_tested[ROWS_MAX];
	struct diff_judgement judgements[ROWS_MAX];
};

static void family_init(struct family *family, size_t nr_base, size_t nr_new, double samples)
{
	*family = (struct family){
		.options = DIFF_OPTIONS_DEFAULT,
		.of = {.nr_runs = nr_base + nr_new, .nr_base = nr_base},
	};
	for (size_t i = 0; i < nr_base + nr_new; i++)
		family->rest[i] = samples;
}

/* A row with these hits of each run of base, and of the new side. */
static struct diff_judgement *family_add(struct family *family, uint32_t base, uint32_t new)
{
	size_t row = family->of.nr_rows++;
	double sums[MATCH_SIDES] = {0}, wholes[MATCH_SIDES] = {0};
	for (size_t run = 0; run < family->of.nr_runs; run++) {
		int side = run >= family->of.nr_base;
		family->amounts[row * family->of.nr_runs + run] = side ? new : base;
		sums[side] += side ? new : base;
		wholes[side] += family->rest[run];
	}
	family->is_tested[row] = true;
	for (int side = 0; side < MATCH_SIDES; side++)
		family->judgements[row].sides[side].share = sums[side] / wholes[side];
	return &family->judgements[row];
}

static void family_judge(struct family *family)
{
	family->of.amounts = family->amounts;
	family->of.rest = family->rest;
	family->of.is_tested = family->is_tested;
	judgement_make(&family->of, &family->options, family->judgements);
}

static bool is_near(double got, double want, double relative)
{
	return fabs(got - want) <= relative * fabs(want);
}

/* Two by two, by hand: 100 of 1000 against 180 of 1000; how runs differ is not known. */
TEST(judgement_of_one_run_a_side)
{
	struct family family;
	family_init(&family, 1, 1, 1000);
	struct diff_judgement *judgement = family_add(&family, 100, 180);
	family_judge(&family);
	CHECK(is_near(judgement->effect, 180.0 * 900 / (820 * 100) - 1, 1e-12));
	double deviance = 2 * (100 * log(.1) + 900 * log(.9) + 180 * log(.18) + 820 * log(.82) -
				      280 * log(.14) - 1720 * log(.86));
	CHECK(is_near(judgement->t, sqrt(deviance / 2), 1e-12));
	CHECK(judgement->p >= erfc(judgement->t / sqrt(2)));
	CHECK(is_near(judgement->p, erfc(judgement->t / sqrt(2)), 0.5)); /* Fisher's is no other */
	double width = 2.5758293 * sqrt(2 * (1 / 100.5 + 1 / 900.5 + 1 / 180.5 + 1 / 820.5));
	CHECK(is_near(judgement->low, 1.975609756 * exp(-width) - 1, 1e-6));
	CHECK(is_near(judgement->high, 1.975609756 * exp(width) - 1, 1e-6));
	CHECK(judgement->dispersion == 2 && judgement->adjusted_p == judgement->p);
	CHECK_INT(judgement->verdict, DIFF_REGRESSION);
}

TEST(judgement_of_what_is_new_or_gone)
{
	struct family family;
	family_init(&family, 1, 1, 10000);
	struct diff_judgement *new = family_add(&family, 0, 100);
	struct diff_judgement *gone = family_add(&family, 100, 0);
	struct diff_judgement *few = family_add(&family, 0, 3);
	family_judge(&family);
	CHECK(isinf(new->effect) && isinf(new->high) && new->low > 1);
	CHECK_INT(new->verdict, DIFF_REGRESSION);
	CHECK(gone->effect == -1 && gone->low == -1 && gone->high < -0.5);
	CHECK_INT(gone->verdict, DIFF_IMPROVEMENT);
	CHECK(few->p > 0.1 && few->low < 0);
	CHECK_INT(few->verdict, DIFF_INCONCLUSIVE);
}

/* Small changes are none, small functions are not reported, and few samples say nothing. */
TEST(judgement_tells_same_from_inconclusive)
{
	struct family family;
	family_init(&family, 1, 1, 1000000);
	struct diff_judgement *same = family_add(&family, 200000, 201000);
	struct diff_judgement *small_change = family_add(&family, 300000, 306000);
	struct diff_judgement *small_function = family_add(&family, 1000, 3000);
	family_judge(&family);
	CHECK_INT(same->verdict, DIFF_SAME);
	CHECK_INT(small_change->verdict, DIFF_SAME);
	CHECK(small_change->adjusted_p < 1e-9);
	CHECK_INT(small_function->verdict, DIFF_INCONCLUSIVE);
	family_init(&family, 1, 1, 100);
	struct diff_judgement *unclear = family_add(&family, 20, 30);
	family_judge(&family);
	CHECK_INT(unclear->verdict, DIFF_INCONCLUSIVE);
	CHECK(unclear->detectable > 1);
}

/* What has all samples has nothing to be compared with; there are numbers, but nothing is reported.
 */
TEST(judgement_without_a_rest)
{
	struct family family;
	family_init(&family, 2, 2, 1000);
	struct diff_judgement *all = family_add(&family, 1000, 1000);
	struct diff_judgement *nearly = family_add(&family, 999, 1000);
	family_judge(&family);
	CHECK(all->p == 1 && !isnan(all->low) && !isnan(all->high) && !isnan(all->effect));
	CHECK_INT(all->verdict, DIFF_INCONCLUSIVE);
	CHECK(!isnan(nearly->p) && !isnan(nearly->effect) && nearly->p > 0.05);
}

/* Runs that differ much by themselves hide what would be seen in steady ones. */
TEST(judgement_allows_for_runs_that_differ)
{
	static const int sway[] = {-60, 60, 0, -40, 40};
	struct family family;
	family_init(&family, 5, 5, 10000);
	struct diff_judgement *steady = family_add(&family, 1000, 1100);
	struct diff_judgement *swaying = family_add(&family, 1000, 1100);
	for (size_t run = 0; run < 10; run++)
		family.amounts[10 + run] += 4 * sway[run % 5];
	family_judge(&family);
	CHECK(steady->dispersion == 1 && steady->p < 0.01);
	CHECK_INT(steady->verdict, DIFF_REGRESSION);
	/* (8 / 8 of) the squares of sway, by n p (1 - p). */
	double want = 2 * 16 * (3600 + 3600 + 1600 + 1600) / 8.0 / (10000 * .105 * .895);
	CHECK(is_near(swaying->dispersion, want, 0.03));
	CHECK(swaying->p > 0.3);
	CHECK(swaying->detectable > 3 * steady->detectable);
}

/*
 * Of one row 165 against 100 of 1000 is a change; of forty it may be chance: the interval says so,
 * as p does. With more that changed, less is needed.
 */
TEST(intervals_say_of_many_rows_what_p_says)
{
	for (int nr_changed = 0; nr_changed <= 30; nr_changed += 30) {
		struct family family;
		family_init(&family, 1, 1, 1000);
		struct diff_judgement *judgement = family_add(&family, 100, 165);
		for (int i = 0; i < 40; i++)
			family_add(&family, 100, i < nr_changed ? 200 : 100);
		family_judge(&family);
		CHECK(judgement->p < .01);
		CHECK_INT(judgement->adjusted_p<.01, nr_changed> 0);
		CHECK_INT(judgement->low > 0, nr_changed > 0);
		CHECK_INT(judgement->verdict, nr_changed ? DIFF_REGRESSION : DIFF_INCONCLUSIVE);
		CHECK(judgement->half_width < (judgement->high - judgement->low) / 2);
	}
}

/* Also where there are few, and an exact test is what p is of. */
TEST(intervals_and_p_agree_of_few_samples)
{
	for (uint32_t base = 0; base <= 40; base++) {
		struct family family;
		family_init(&family, 1, 1, 500);
		for (uint32_t i = 0; i <= 60; i++)
			family_add(&family, base, i);
		family_judge(&family);
		for (size_t row = 0; row < family.of.nr_rows; row++) {
			const struct diff_judgement *judgement = &family.judgements[row];
			bool excludes_none = judgement->low > 0 || judgement->high < 0;
			CHECK_INT(excludes_none, judgement->adjusted_p < .01);
			CHECK(judgement->low <= judgement->effect &&
				judgement->effect <= judgement->high);
		}
	}
}

/* That nothing changed is said of a row by itself. */
TEST(interval_of_what_is_the_same_is_its_own)
{
	struct family family;
	family_init(&family, 1, 1, 1000000);
	for (int i = 0; i < 40; i++)
		family_add(&family, 20000, 20000);
	family_judge(&family);
	const struct diff_judgement *judgement = &family.judgements[0];
	CHECK_INT(judgement->verdict, DIFF_SAME);
	CHECK(judgement->low > -.05 && judgement->high < .05);
	CHECK(is_near(judgement->half_width, (judgement->high - judgement->low) / 2, 1e-12));
}

/* By exposure: half the rate of samples, the same time. */
TEST(judgement_by_cpu_time)
{
	struct family family;
	family_init(&family, 3, 3, 0);
	family.of.is_poisson = true;
	for (int run = 0; run < 6; run++)
		family.rest[run] = run < 3 ? 0.002 : 0.001;
	struct diff_judgement *same = family_add(&family, 20000, 10000);
	struct diff_judgement *twice = family_add(&family, 2000, 2000);
	same->sides[0].share = twice->sides[0].share = 0.5;
	family_judge(&family);
	CHECK(fabs(same->effect) < 1e-12 && same->p > 0.99);
	CHECK_INT(same->verdict, DIFF_SAME);
	CHECK(is_near(twice->effect, 1, 1e-12));
	CHECK_INT(twice->verdict, DIFF_REGRESSION);
}

/* That one became much faster makes no regressions of the others. */
TEST(judgement_finds_what_did_not_change)
{
	struct family family;
	bool has_changed[ROWS_MAX] = {false};
	double left[RUNS_MAX];
	family_init(&family, 1, 1, 400000);
	family_add(&family, 200000, 133333); /* takes half as long: 300000 units are left */
	for (int i = 0; i < 5; i++)
		family_add(&family, 40000, 53333);
	family_judge(&family);
	CHECK_INT(family.judgements[1].verdict, DIFF_REGRESSION);
	size_t found = judgement_find_steady(&family.of, &family.options, has_changed, left);
	CHECK_INT(found, 1);
	CHECK(has_changed[0] && !has_changed[1]);
	CHECK(left[0] == 200000 && left[1] == 266667);
	double more[ROWS_MAX * RUNS_MAX] = {200000, 133333};
	family.of.rest = left;
	family.of.more = more;
	judgement_make(&family.of, &family.options, family.judgements);
	CHECK(is_near(family.judgements[0].effect, -0.5, 1e-3));
	CHECK_INT(family.judgements[0].verdict, DIFF_IMPROVEMENT);
	for (int i = 1; i < 6; i++)
		CHECK_INT(family.judgements[i].verdict, DIFF_SAME);
}

/* Of two that are all there is, one longer is the other shorter; an alarm is the safe guess. */
TEST(judgement_of_two_alike)
{
	struct family family;
	bool has_changed[ROWS_MAX] = {false};
	double left[RUNS_MAX];
	family_init(&family, 1, 1, 100000);
	family_add(&family, 50000, 40000);
	family_add(&family, 50000, 60000);
	family_judge(&family);
	CHECK_INT(judgement_find_steady(&family.of, &family.options, has_changed, left), 1);
	CHECK(!has_changed[0] && has_changed[1]);
}

/* Of a second in ten in each run a tenth more, which runs show to be no chance: by waits of half a
 * second nothing could be said, but they were measured. */
TEST(judgement_of_amounts_is_by_their_quanta)
{
	static const double sway[] = {0, 3e6, -2e6, 1e6, -2e6};
	struct family family;
	const double few = 5e8, certain = 5e4, rest = 5e8;
	family_init(&family, 5, 5, 10e9);
	family_add(&family, 1000000000, 1100000000);
	for (int run = 0; run < 10; run++)
		family.amounts[run] += sway[run % 5];
	family.of.quanta = &few;
	family.of.rest_quanta = &rest;
	family_judge(&family);
	CHECK_INT(family.judgements[0].verdict, DIFF_INCONCLUSIVE);
	CHECK(is_near(family.judgements[0].effect, 1.1 / 8.9 * 9 - 1, 1e-3));
	family.of.quanta = family.of.rest_quanta = &certain;
	family_judge(&family);
	CHECK_INT(family.judgements[0].verdict, DIFF_REGRESSION);
	CHECK(is_near(family.judgements[0].effect, 1.1 / 8.9 * 9 - 1, 1e-3));
	CHECK(family.judgements[0].low > 0.09 && family.judgements[0].high < 0.14);
}

/* What every wait is as long as before in every run is the same, however few there are. */
TEST(judgement_of_what_is_certain_is_the_same)
{
	struct family family;
	const double certain = 5e4;
	family_init(&family, 3, 3, 10e9);
	family_add(&family, 2000000000, 2000000000);
	family.of.quanta = family.of.rest_quanta = &certain;
	family_judge(&family);
	CHECK_INT(family.judgements[0].verdict, DIFF_SAME);
}
