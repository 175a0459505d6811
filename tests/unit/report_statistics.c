#include "report/compare/statistics.h"

#include <math.h>

#include "tests/unit/unit.h"

#define CHECK_NEAR(got, want, relative) check_near(__LINE__, #got, (got), (want), (relative))

static void check_near(int line, const char *what, double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		unit_fail(__FILE__, line, "%s is %.17g, not %.17g", what, got, want);
}

/* Abramowitz and Stegun, 6.3.2, 6.3.3, 6.4.2 and table 6.1. */
TEST(statistics_gammas_kin)
{
	CHECK_NEAR(statistics_digamma(1), -0.57721566490153286, 1e-13);
	CHECK_NEAR(statistics_digamma(0.5), -1.9635100260214235, 1e-13);
	CHECK_NEAR(statistics_digamma(10), 2.2517525890667211, 1e-13);
	CHECK_NEAR(statistics_trigamma(1), 1.6449340668482264, 1e-13); /* pi^2 / 6 */
	CHECK_NEAR(statistics_trigamma(0.5), 4.9348022005446793, 1e-13);
	CHECK_NEAR(statistics_pentagamma(1), 6.4939394022668291, 1e-13);   /* pi^4 / 15 */
	CHECK_NEAR(statistics_pentagamma(0.5), 97.409091034002437, 1e-13); /* pi^4 */
	CHECK_NEAR(statistics_trigamma_inverse(statistics_trigamma(0.01)), 0.01, 1e-9);
	CHECK_NEAR(statistics_trigamma_inverse(statistics_trigamma(3)), 3, 1e-9);
	CHECK_NEAR(statistics_trigamma_inverse(statistics_trigamma(1e6)), 1e6, 1e-6);
}

TEST(statistics_incomplete_beta)
{
	CHECK_NEAR(statistics_beta(0.5, 2, 3), 0.6875, 1e-13);
	/* P(X >= 4) of ten throws at 0.3, added up. */
	CHECK_NEAR(statistics_beta(0.3, 4, 7), 0.35038928160000003, 1e-12);
	CHECK_NEAR(statistics_beta(0.2, 1, 5), 1 - pow(0.8, 5), 1e-13);
	CHECK(statistics_beta(0, 3, 4) == 0 && statistics_beta(1, 3, 4) == 1);
	CHECK_NEAR(statistics_beta(0.5, 1e5, 1e5), 0.5, 1e-9);
}

/* Tables of Student's distribution, as R's qt() prints them; tails by numerical integration. */
TEST(statistics_student)
{
	CHECK_NEAR(statistics_t_quantile(0.025, 5), 2.570581836, 1e-9);
	CHECK_NEAR(statistics_t_quantile(0.025, 10), 2.228138852, 1e-9);
	CHECK_NEAR(statistics_t_quantile(0.005, 8), 3.355387331, 1e-9);
	CHECK_NEAR(statistics_t_quantile(0.025, INFINITY), 1.959963985, 1e-9);
	CHECK_NEAR(statistics_t_quantile(0.975, 5), -2.570581836, 1e-9);
	CHECK_NEAR(statistics_t_tail(2, 3), 0.06966298427, 1e-8);
	CHECK_NEAR(statistics_t_tail(10, 4), 0.0002810019, 1e-5);
	CHECK_NEAR(statistics_t_tail(0, 7), 0.5, 1e-12);
	CHECK_NEAR(statistics_t_tail(-1, 1), 0.75, 1e-12);
	/* Where the normal distribution takes over there is no step. */
	CHECK_NEAR(statistics_t_tail(4, 9e7), statistics_t_tail(4, INFINITY), 1e-5);
	CHECK_NEAR(statistics_t_tail(30, INFINITY), 4.906713927148187e-198, 1e-9);
}

/* Fisher's lady: four cups of eight had the milk first. The others by whole numbers. */
TEST(statistics_fishers_test)
{
	CHECK_NEAR(statistics_fisher(3, 4, 4, 8), 34.0 / 70, 1e-12);
	CHECK_NEAR(statistics_fisher(4, 4, 4, 8), 2.0 / 70, 1e-12);
	CHECK_NEAR(statistics_fisher(10, 10, 10, 20), 2.0 / 184756, 1e-11);
	CHECK_NEAR(statistics_fisher(16, 50, 20, 100), 0.0050397734213430394, 1e-11);
	CHECK_NEAR(statistics_fisher(3, 50, 20, 100), 0.0008085759644643935, 1e-11);
	CHECK_NEAR(statistics_fisher(0, 300, 12, 1000), 0.026903362484324293, 1e-11);
	CHECK(statistics_fisher(10, 50, 20, 100) == 1);
}

/* Benjamini and Hochberg (1995), section 4: of fifteen, the first four are reported at 0.05. */
TEST(statistics_adjusting)
{
	static const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
		0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
	double adjusted[15], turned[3] = {0.04, 0.01, 0.03};
	statistics_adjust(p, 15, adjusted);
	CHECK_NEAR(adjusted[0], 0.0015, 1e-12);
	CHECK_NEAR(adjusted[3], 0.0095 * 15 / 4, 1e-12);
	CHECK(adjusted[3] < 0.05 && adjusted[4] > 0.05);
	CHECK_NEAR(adjusted[4], 0.0201 * 15 / 5, 1e-12);
	CHECK_NEAR(adjusted[5], 0.0298 * 15 / 7, 1e-12); /* a later one is smaller */
	CHECK(adjusted[14] == 1);
	statistics_adjust(turned, 3, turned);
	CHECK_NEAR(turned[0], 0.04, 1e-12);
	CHECK_NEAR(turned[1], 0.03, 1e-12);
	CHECK_NEAR(turned[2], 0.04, 1e-12);
	statistics_adjust(NULL, 0, NULL);
}

static struct statistics_prior fit(struct statistics_variance *seen, size_t count, double df)
{
	for (size_t i = 0; i < count; i++)
		seen[i].df = df;
	return statistics_fit_prior(seen, count);
}

/* Variances that scatter no more than theirs would by chance have everything in common. */
TEST(statistics_common_variance)
{
	struct statistics_variance seen[50];
	for (int i = 0; i < 50; i++)
		seen[i] = (struct statistics_variance){
			.value = 1 + 0.1 * (i % 3), .covariate = i % 7};
	struct statistics_prior prior = fit(seen, 50, 8);
	CHECK(isinf(prior.df));
	CHECK(fabs(prior.slope) < 0.02);
	/* The mean of logarithms is below the logarithm of the mean: digamma(4) - log(4). */
	CHECK_NEAR(exp(prior.level), 1.1 * exp(0.1302), 0.02);
	for (int i = 0; i < 50; i++)
		seen[i].value = exp(0.5 * seen[i].covariate);
	CHECK_NEAR(fit(seen, 50, 8).slope, 0.5, 1e-9);
	/* These do not have much in common: the own one counts. */
	for (int i = 0; i < 50; i++)
		seen[i].value = i % 2 ? 100 : 0.01;
	prior = fit(seen, 50, 8);
	CHECK(prior.df < 1);
	CHECK(statistics_moderate(&prior, 3, 100, 8) > 80);
	prior = fit(seen, 2, 8);
	CHECK(prior.df == 0);
	CHECK(statistics_moderate(&prior, 3, 7, 8) == 7);
	CHECK(statistics_moderate(&prior, 3, 7, 0) == 1);
}

/* Quantiles of chi-square with `df` degrees, over those: as variances that are all 1 would be. */
static void fill_by_chance(struct statistics_variance *seen, size_t count, int df)
{
	for (size_t i = 0; i < count; i++) {
		double tail = ((double)i + 0.5) / (double)count, sum = 1, term = 1, x = 0;
		for (double low = 0, high = 100; high - low > 1e-12;) {
			x = (low + high) / 2; /* its tail: Poisson's below df / 2, of x / 2 */
			sum = term = 1;
			for (int k = 1; k < df / 2; k++)
				sum += term *= x / 2 / k;
			*(sum * exp(-x / 2) > tail ? &low : &high) = x;
		}
		seen[i] =
			(struct statistics_variance){.value = x / df, .covariate = (double)(i % 5)};
	}
}

/* What many have in common is the less sure, the fewer they are and the less each is known from. */
TEST(statistics_is_no_surer_than_the_variances_make_it)
{
	static const double level = 10; /* far above 1, which says nothing about how they differ */
	struct statistics_variance seen[300];
	double df[3];
	for (int i = 0; i < 3; i++) {
		size_t count = i == 1 ? 30 : 300;
		fill_by_chance(seen, count, i == 2 ? 8 : 2);
		for (size_t k = 0; k < count; k++)
			seen[k].value *= level;
		df[i] = fit(seen, count, i == 2 ? 8 : 2).df;
	}
	CHECK(df[0] > 5 && df[0] < 9);
	CHECK(df[1] < df[0] / 1.5);
	CHECK(df[2] > 30 && df[2] < 70);
}

/* None is below 1: if they are 1 in the mean, then each is. */
TEST(statistics_of_chance_alone)
{
	struct statistics_variance seen[300];
	fill_by_chance(seen, 300, 2);
	CHECK(fit(seen, 300, 2).df > 11);
	for (size_t i = 0; i < 300; i += 10)
		seen[i].value *= 21;
	CHECK(fit(seen, 300, 2).df < 10);
}

/* A tenth that come in bursts pull the mean up, though hardly the mean of logarithms. */
TEST(statistics_common_variance_is_the_mean)
{
	struct statistics_variance seen[300];
	fill_by_chance(seen, 300, 8);
	double before = exp(fit(seen, 300, 8).level);
	CHECK_NEAR(before, 1, 0.05);
	for (size_t i = 0; i < 300; i += 10)
		seen[i].value *= 21;
	struct statistics_prior prior = fit(seen, 300, 8);
	double sum = 0, expected = 0;
	for (size_t i = 0; i < 300; i++) {
		sum += seen[i].value;
		expected += exp(prior.level + prior.slope * seen[i].covariate);
	}
	CHECK_NEAR(expected, sum, 1e-9);
}
