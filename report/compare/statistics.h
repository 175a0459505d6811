/*
 * Distributions and tests that comparisons need: numbers in, numbers out. Degrees of freedom may be
 * INFINITY, which makes Student's distribution the normal one.
 */
#ifndef EBPROF_STATISTICS_H
#define EBPROF_STATISTICS_H

#include <stddef.h>

/* The logarithmic derivative of gamma(x), and that one's first and third derivative; x > 0. */
double statistics_digamma(double x);
double statistics_trigamma(double x);
double statistics_pentagamma(double x);
/* The x > 0 whose trigamma is y > 0. */
double statistics_trigamma_inverse(double y);

/* The regularized incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double statistics_beta(double x, double a, double b);

/* P(T > t) of Student's distribution. */
double statistics_t_tail(double t, double df);
/* The t whose tail is `tail`, 0 < tail < 1. */
double statistics_t_quantile(double tail, double df);

/*
 * Fisher's exact test: `marked` of `population` are drawn `drawn` times without returning; the
 * probability that at least (at most) `hits` of those drawn are marked, whichever is less likely,
 * doubled; at most 1.
 */
double statistics_fisher(double hits, double drawn, double marked, double population);

/*
 * Benjamini and Hochberg's adjustment, R's p.adjust(p, "BH"): with those reported whose adjusted p
 * is below alpha, at most that part is expected to be false. `adjusted` may be `p`.
 */
void statistics_adjust(const double *p, size_t count, double *adjusted);

struct statistics_variance {
	double value, df; /* as it was estimated, from how many degrees of freedom */
	double covariate;
};

/*
 * What many estimated variances, none of them really below 1, have in common: their logarithms
 * scatter around a line over some covariate, as if each one's place on it were known from
 * `prior.df` observations (Smyth 2004, section 6.2: moments of their logarithms; limma's fitFDist
 * with a trend). Of those, as many are taken as the number of variances makes sure; and the line is
 * as high as they are in the mean. Too few of them have nothing in common: prior.df is 0.
 */
struct statistics_prior {
	double level, slope; /* of the logarithm of the variance */
	double df;
};

struct statistics_prior statistics_fit_prior(const struct statistics_variance *seen, size_t count);
/* The better estimate of a variance that is one of those. */
double statistics_moderate(
	const struct statistics_prior *prior, double covariate, double variance, double df);

#endif
