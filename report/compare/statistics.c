#include "report/compare/statistics.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "format/base/mem.h"

enum {
	ITERATIONS_MAX = 10000, /* of what converges */
};

/* ---- gamma's kin ---- */

/*
 * Up to where the asymptotic series holds (DLMF 5.11.2, 5.15.8 and its second derivative), by the
 * recurrences 5.5.2, 5.15.5.
 */
static const double asymptotic_from = 15;

double statistics_digamma(double x)
{
	double sum = 0;
	for (; x < asymptotic_from; x++)
		sum -= 1 / x;
	double y = 1 / (x * x);
	return sum + log(x) - 0.5 / x -
	       y * (1 / 12.0 - y * (1 / 120.0 - y * (1 / 252.0 - y * (1 / 240.0 - y / 132.0))));
}

double statistics_trigamma(double x)
{
	double sum = 0;
	for (; x < asymptotic_from; x++)
		sum += 1 / (x * x);
	double y = 1 / (x * x);
	double series = 1 / 6.0 - y * (1 / 30.0 - y * (1 / 42.0 - y * (1 / 30.0 - y * 5 / 66.0)));
	return sum + 1 / x + y / 2 + series * y / x;
}

double statistics_pentagamma(double x)
{
	double sum = 0;
	for (; x < asymptotic_from; x++)
		sum += 6 / (x * x * x * x);
	double y = 1 / (x * x);
	double series = 2 + y * (2 - y * (1 - y * (4 / 3.0 - y * 3)));
	return sum + (series + 3 / x) / (x * x * x);
}

/* Trigamma falls from infinity to 0, between 1/x and 1/x + 1/x^2: bisection on a logarithmic scale.
 */
double statistics_trigamma_inverse(double y)
{
	double low = 1 / y, high = low + 1 + 1 / sqrt(y);
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double middle = (low + high) / 2;
		if (statistics_trigamma(middle) > y)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* ---- Student's distribution ---- */

static double log_gamma(double x)
{
	int sign; /* lgamma() would put it into a global */
	return lgamma_r(x, &sign);
}

/*
 * The continued fraction DLMF 8.17.22, evaluated from its beginning by Lentz's method. It converges
 * fast for x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double x, double a, double b)
{
	static const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double result = d;
	for (int m = 1; m < ITERATIONS_MAX; m++) {
		double change = 1;
		for (int is_odd = 0; is_odd < 2; is_odd++) {
			double term = is_odd ? -(a + m) * (a + b + m) * x /
						       ((a + 2 * m) * (a + 2 * m + 1))
					     : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
			d = 1 + term * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + term / c;
			c = fabs(c) < tiny ? tiny : c;
			change = c * d;
			result *= change;
		}
		if (fabs(change - 1) < 4 * DBL_EPSILON)
			break;
	}
	return result;
}

double statistics_beta(double x, double a, double b)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front =
		exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double statistics_t_tail(double t, double df)
{
	static const double like_infinity = 1e8;
	if (t < 0)
		return 1 - statistics_t_tail(-t, df);
	if (isinf(t))
		return 0;
	if (df >= like_infinity)
		return erfc(t / sqrt(2)) / 2;
	return statistics_beta(df / (df + t * t), df / 2, 0.5) / 2;
}

double statistics_t_quantile(double tail, double df)
{
	if (tail > 0.5)
		return -statistics_t_quantile(1 - tail, df);
	double low = 0, high = 1;
	while (statistics_t_tail(high, df) > tail && high < 1e300)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
		double middle = (low + high) / 2;
		if (statistics_t_tail(middle, df) > tail)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* ---- small counts ---- */

static double log_choose(double n, double k)
{
	return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

/* From `hits` on, away from the middle, until what is left does not count any more. */
static double fisher_tail(double hits, double drawn, double marked, double population, int step)
{
	double least = fmax(0, drawn + marked - population), most = fmin(drawn, marked);
	double term = exp(log_choose(marked, hits) + log_choose(population - marked, drawn - hits) -
			  log_choose(population, drawn));
	double sum = 0;
	for (double at = hits; at >= least && at <= most && term > sum * DBL_EPSILON; at += step) {
		sum += term;
		double up = (marked - at) * (drawn - at);
		double down = (at + 1) * (population - marked - drawn + at + 1);
		if (step < 0) {
			up = at * (population - marked - drawn + at);
			down = (marked - at + 1) * (drawn - at + 1);
		}
		term *= up / down;
	}
	return sum;
}

double statistics_fisher(double hits, double drawn, double marked, double population)
{
	int step = hits * population < drawn * marked ? -1 : 1;
	return fmin(1, 2 * fisher_tail(hits, drawn, marked, population, step));
}

/* ---- many tests ---- */

struct ranked {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void statistics_adjust(const double *p, size_t count, double *adjusted)
{
	if (!count)
		return;
	CLEANUP_FREE struct ranked *ranked = mem_zalloc_array(count, sizeof(*ranked));
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){p[i], i};
	qsort(ranked, count, sizeof(*ranked), by_p);
	double least = 1;
	for (size_t i = count; i-- > 0;) {
		least = fmin(least, ranked[i].p * (double)count / (double)(i + 1));
		adjusted[ranked[i].at] = least;
	}
}

/* ---- variances ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median(const double *values, size_t count)
{
	CLEANUP_FREE double *sorted = mem_zalloc_array(count, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = values[i];
	qsort(sorted, count, sizeof(*sorted), by_value);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

struct line {
	double level, slope;
	double residual; /* mean square */
};

static struct line fit_line(const double *x, const double *y, size_t count, bool is_level)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0, squares = 0;
	for (size_t i = 0; i < count; i++) {
		mean_x += x[i] / (double)count;
		mean_y += y[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		xx += (x[i] - mean_x) * (x[i] - mean_x);
		xy += (x[i] - mean_x) * (y[i] - mean_y);
	}
	double slope = is_level || xx <= 0 ? 0 : xy / xx;
	struct line line = {.level = mean_y - slope * mean_x, .slope = slope};
	for (size_t i = 0; i < count; i++) {
		double off = y[i] - line.level - slope * x[i];
		squares += off * off;
	}
	line.residual = squares / (double)(count - (is_level ? 1 : 2));
	return line;
}

static const double sureness = 1.644854; /* the normal distribution's 95 % */

/* Degrees of freedom of variances whose logarithms scatter like that. */
static double df_of_scatter(double scatter)
{
	return scatter > 0 ? 2 * statistics_trigamma_inverse(scatter) : INFINITY;
}

/*
 * The logarithm of a variance that is known from df observations scatters by trigamma(df / 2). By
 * what they scatter beyond that, the true ones do; that is trigamma of half the prior's df.
 *
 * How much `count` of them scatter is itself a matter of chance; its standard error follows from
 * the kurtosis of those logarithms. If they happen to scatter less than the true ones do, the prior
 * claims more than it knows, of every row at once. So the df are what is 95 % sure: of 300 that are
 * known from 2 observations each, some 7, of 300 from 8 each, some 45.
 */
static double sure_df(double residual, size_t count, double df)
{
	double chance = statistics_trigamma(df / 2);
	double kurtosis = 3 + statistics_pentagamma(df / 2) / (chance * chance);
	double error = chance * sqrt((kurtosis - 1) / (double)count);
	return df_of_scatter(residual - chance + sureness * error);
}

/*
 * None is below 1. So if their mean is hardly more, few can be much more: as if all they have
 * beyond 1 were that of a tenth of them, the rare ones that come in bursts; again what is 95 %
 * sure.
 */
static double sure_df_of_mean(const struct statistics_variance *seen, size_t count)
{
	double sum = 0, df = 0, squares = 0;
	for (size_t i = 0; i < count; i++) {
		sum += seen[i].df * seen[i].value;
		df += seen[i].df;
	}
	double mean = sum / df;
	for (size_t i = 0; i < count; i++) {
		double off = seen[i].df * (seen[i].value - mean);
		squares += off * off;
	}
	/* By how they differ, and at least what chance makes of the mean if they do not. */
	double error = fmax(sqrt(squares) / df, mean * sqrt(2 / df));
	double beyond = fmax(0, mean + sureness * error - 1);
	static const double bursting = 0.1;
	return df_of_scatter(log1p(beyond * beyond * (1 / bursting - 1)));
}

/* As large as those that were seen are in the mean, which logarithms make little of. */
static double raise_level(
	const struct statistics_variance *seen, size_t count, double level, double slope)
{
	double sum = 0, expected = 0;
	for (size_t i = 0; i < count; i++) {
		sum += seen[i].df * seen[i].value;
		expected += seen[i].df * exp(level + slope * seen[i].covariate);
	}
	return level + (sum > expected ? log(sum / expected) : 0);
}

struct statistics_prior statistics_fit_prior(const struct statistics_variance *seen, size_t count)
{
	enum {
		COUNT_MIN = 3,
		COUNT_OF_LINE = 8,
	};
	CLEANUP_FREE double *logs = mem_zalloc_array(count + 1, sizeof(*logs));
	CLEANUP_FREE double *covariates = mem_zalloc_array(count + 1, sizeof(*covariates));
	double df = 0;
	size_t nr_full = 0;
	for (size_t i = 0; i < count; i++)
		df = fmax(df, seen[i].df);
	for (size_t i = 0; i < count; i++) {
		if (seen[i].df < df)
			continue;
		logs[nr_full] = seen[i].value;
		covariates[nr_full++] = seen[i].covariate;
	}
	double middle = nr_full < COUNT_MIN ? 0 : median(logs, nr_full);
	if (middle <= 0 || df <= 0)
		return (struct statistics_prior){0};
	double offset = statistics_digamma(df / 2) - log(df / 2);
	for (size_t i = 0; i < nr_full; i++) /* 0 has no logarithm */
		logs[i] = log(fmax(logs[i], 1e-5 * middle)) - offset;
	struct line line = fit_line(covariates, logs, nr_full, nr_full < COUNT_OF_LINE);
	return (struct statistics_prior){
		.level = raise_level(seen, count, line.level, line.slope),
		.slope = line.slope,
		.df = fmax(sure_df(line.residual, nr_full, df), sure_df_of_mean(seen, count)),
	};
}

double statistics_moderate(
	const struct statistics_prior *prior, double covariate, double variance, double df)
{
	double expected = exp(prior->level + prior->slope * covariate);
	if (isinf(prior->df))
		return expected;
	return prior->df + df > 0 ? (prior->df * expected + df * variance) / (prior->df + df) : 1;
}
