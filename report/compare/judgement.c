#include "report/compare/judgement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/statistics.h"

/* Of all runs of a side. */
struct contrast {
	double hits[MATCH_SIDES], wholes[MATCH_SIDES];
	double dispersion, df; /* as the runs have it */
};

struct quantiles {
	double df;
	double interval;  /* of 1 - alpha, both sides */
	double single;    /* of what adjusting leaves to a single row */
	double certainty; /* of 95 %, one side */
};

struct judging {
	const struct judgement_family *family;
	const struct diff_options *options;
	double nr_shares; /* of alpha, one for each test, the other families' too */
	struct statistics_prior prior;
	double least_dispersion;    /* chance is 1 */
	struct quantiles quantiles; /* those that were used last */
};

/* ---- counts ---- */

static enum match_side judgement_side_of(const struct judgement_family *family, size_t run)
{
	return run < family->nr_base ? MATCH_BASE : MATCH_NEW;
}

static double amount_of(const struct judgement_family *family, size_t row, size_t run)
{
	return family->amounts[row * family->nr_runs + run];
}

static double hits_of(const struct judgement_family *family, size_t row, size_t run)
{
	return amount_of(family, row, run) / (family->quanta ? family->quanta[row] : 1);
}

static double whole_of(const struct judgement_family *family, size_t row, size_t run)
{
	double more = family->more ? family->more[row * family->nr_runs + run] : 0;
	double whole = family->rest[run] + more;
	if (!family->quanta || family->is_poisson)
		return whole;
	double others = fmax(0, whole - amount_of(family, row, run));
	return hits_of(family, row, run) + others / family->rest_quanta[row];
}

/* Pearson's. A side without hits says nothing about it. */
static void put_dispersion(
	const struct judgement_family *family, size_t row, struct contrast *contrast)
{
	double sum = 0;
	for (size_t run = 0; run < family->nr_runs; run++) {
		enum match_side side = judgement_side_of(family, run);
		double share = contrast->hits[side] / contrast->wholes[side];
		double mean = whole_of(family, row, run) * share;
		double variance = family->is_poisson ? mean : mean * (1 - share);
		double off = hits_of(family, row, run) - mean;
		sum += variance > 0 ? off * off / variance : 0;
	}
	size_t nr_runs[MATCH_SIDES] = {family->nr_base, family->nr_runs - family->nr_base};
	for (int side = 0; side < MATCH_SIDES; side++)
		contrast->df += contrast->hits[side] > 0 ? (double)nr_runs[side] - 1 : 0;
	contrast->dispersion = contrast->df > 0 ? sum / contrast->df : 1;
}

static struct contrast contrast_of(const struct judgement_family *family, size_t row)
{
	struct contrast contrast = {0};
	for (size_t run = 0; run < family->nr_runs; run++) {
		enum match_side side = judgement_side_of(family, run);
		contrast.hits[side] += hits_of(family, row, run);
		contrast.wholes[side] += whole_of(family, row, run);
	}
	put_dispersion(family, row, &contrast);
	return contrast;
}

/* ---- dispersion ---- */

/* What a run adds to chance shows the more, the more hits there are. */
static double judgement_size_of(const struct contrast *contrast)
{
	return log(contrast->hits[0] + contrast->hits[1]);
}

/* With one run a side. Measured: 24 runs of one program had at most 1.92. With 2, none of the 20
 * pairs of five other runs was a regression; with chance alone, three were. */
static const double dispersion_of_single_runs = 2;

/* Runs of a side may happen to be alike: judgement.h has how much less than 1 it is. */
static const double least_dispersion_of_whole_runs = 0.1;

static double least_dispersion_of(const struct judgement_family *family)
{
	if (family->nr_runs <= 2)
		return dispersion_of_single_runs;
	return family->is_of_whole_runs ? least_dispersion_of_whole_runs : 1;
}

static struct statistics_prior find_prior(const struct judgement_family *family)
{
	if (family->is_of_whole_runs)
		return (struct statistics_prior){.df = 0};
	if (family->nr_runs <= 2)
		return (struct statistics_prior){.df = INFINITY}; /* 1 */
	CLEANUP_FREE struct statistics_variance *seen =
		mem_zalloc_array(family->nr_rows, sizeof(*seen));
	size_t count = 0;
	for (size_t row = 0; row < family->nr_rows; row++) {
		if (!family->is_tested[row])
			continue;
		struct contrast contrast = contrast_of(family, row);
		if (contrast.df > 0)
			seen[count++] = (struct statistics_variance){
				contrast.dispersion, contrast.df, judgement_size_of(&contrast)};
	}
	return statistics_fit_prior(seen, count);
}

/* What was seen of the row itself counts in full where it is more than the others suggest. */
static void moderate(const struct judging *judging, struct contrast *contrast)
{
	double own = contrast->df > 0 ? contrast->dispersion : 1;
	double expected = statistics_moderate(
		&judging->prior, judgement_size_of(contrast), contrast->dispersion, contrast->df);
	contrast->dispersion = fmax(judging->least_dispersion, fmax(own, expected));
	contrast->df += judging->prior.df;
	if (contrast->df <= 0)
		contrast->df = fmax(1, (double)judging->family->nr_runs - 2);
}

static const struct quantiles *quantiles_of(struct judging *judging, double df)
{
	struct quantiles *quantiles = &judging->quantiles;
	double alpha = judging->options->alpha;
	if (quantiles->df != df)
		*quantiles = (struct quantiles){
			.df = df,
			.interval = statistics_t_quantile(alpha / 2, df),
			.single = statistics_t_quantile(alpha / 2 / judging->nr_shares, df),
			.certainty = statistics_t_quantile(0.05, df),
		};
	return quantiles;
}

/* ---- one row ---- */

static double log_likelihood(double hits, double whole, bool is_poisson)
{
	double missed = whole - hits;
	double likelihood = hits > 0 ? hits * log(hits / whole) : 0;
	return likelihood + (!is_poisson && missed > 0 ? missed * log(missed / whole) : 0);
}

/* How much better two rates explain the counts than one does, doubled. */
static double deviance_of(const struct contrast *contrast, bool is_poisson)
{
	const double *hits = contrast->hits, *wholes = contrast->wholes;
	double apart = log_likelihood(hits[0], wholes[0], is_poisson) +
		       log_likelihood(hits[1], wholes[1], is_poisson);
	double together = log_likelihood(hits[0] + hits[1], wholes[0] + wholes[1], is_poisson);
	return fmax(0, 2 * (apart - together));
}

/* The chance alone, where it is too coarse for what holds of many: of whole numbers. */
static double exact_p(const struct contrast *contrast, bool is_poisson)
{
	double hits[MATCH_SIDES], wholes[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++) {
		hits[side] = round(contrast->hits[side]);
		wholes[side] = is_poisson ? contrast->wholes[side] : round(contrast->wholes[side]);
	}
	double all_hits = hits[0] + hits[1], all = wholes[0] + wholes[1];
	if (!is_poisson)
		return statistics_fisher(hits[1], wholes[1], all_hits, all);
	double share = wholes[1] / all;
	double more = hits[1] > 0 ? statistics_beta(share, hits[1], hits[0] + 1) : 1;
	double less = hits[0] > 0 ? statistics_beta(1 - share, hits[0], hits[1] + 1) : 1;
	return fmin(1, 2 * fmin(more, less));
}

static double p_of(const struct judgement_family *family, const struct contrast *contrast, double t)
{
	bool is_poisson = family->is_poisson;
	static const double few = 1000;
	double p = 2 * statistics_t_tail(t, contrast->df);
	double hits = contrast->hits[0] + contrast->hits[1];
	double missed = contrast->wholes[0] + contrast->wholes[1] - hits;
	if (p < 0.1 && !family->is_of_whole_runs && (hits < few || (!is_poisson && missed < few)))
		p = fmax(p, exact_p(contrast, is_poisson));
	return p;
}

static double log_odds(double hits, double whole, bool is_poisson)
{
	return log(hits) - log(is_poisson ? whole : whole - hits);
}

/* Of the logarithm of the effect; halves as by Gart (1966), so that none has one, too. */
static double variance_of(const double *hits, const double *wholes, bool is_poisson)
{
	double sum = 0;
	for (int side = 0; side < MATCH_SIDES; side++) {
		sum += 1 / (hits[side] + 0.5);
		sum += is_poisson ? 0 : 1 / (wholes[side] - hits[side] + 0.5);
	}
	return sum;
}

/* The logarithm of the effect. */
static double middle_of(const struct contrast *contrast, bool is_poisson)
{
	const double *hits = contrast->hits, *wholes = contrast->wholes;
	bool are_both = hits[0] > 0 && hits[1] > 0;
	bool has_rest = is_poisson || (hits[0] < wholes[0] && hits[1] < wholes[1]);
	double half = are_both && has_rest ? 0 : 0.5, more = is_poisson ? 0 : 2 * half;
	return log_odds(hits[1] + half, wholes[1] + more, is_poisson) -
	       log_odds(hits[0] + half, wholes[0] + more, is_poisson);
}

static double deviation_of(const struct contrast *contrast, bool is_poisson)
{
	double variance = variance_of(contrast->hits, contrast->wholes, is_poisson);
	return sqrt(contrast->dispersion * variance);
}

static void put_interval(const struct contrast *contrast, double middle, double width,
	struct diff_judgement *judgement)
{
	judgement->low = contrast->hits[1] > 0 ? expm1(middle - width) : -1;
	judgement->high = contrast->hits[0] > 0 ? expm1(middle + width) : INFINITY;
}

/* The interval of the row alone. */
static void put_effect(const struct contrast *contrast, bool is_poisson, double quantile,
	struct diff_judgement *judgement)
{
	const double *hits = contrast->hits;
	double middle = middle_of(contrast, is_poisson);
	judgement->effect = hits[0] <= 0 ? INFINITY : hits[1] <= 0 ? -1 : expm1(middle);
	put_interval(contrast, middle, quantile * deviation_of(contrast, is_poisson), judgement);
	judgement->half_width = (judgement->high - judgement->low) / 2;
}

/* If nothing has changed, that is, of what both have in common. */
static double detectable_by(const struct judging *judging, const struct contrast *contrast,
	const struct quantiles *quantiles)
{
	bool is_poisson = judging->family->is_poisson;
	const double *wholes = contrast->wholes;
	double share = (contrast->hits[0] + contrast->hits[1]) / (wholes[0] + wholes[1]);
	double hits[MATCH_SIDES] = {share * wholes[0], share * wholes[1]};
	double deviation = sqrt(contrast->dispersion * variance_of(hits, wholes, is_poisson));
	double seen = (quantiles->single + quantiles->certainty) * deviation;
	double counts = log1p(judging->options->min_effect) + quantiles->certainty * deviation;
	return expm1(fmax(seen, counts));
}

static struct contrast moderate_contrast_of(const struct judging *judging, size_t row)
{
	struct contrast contrast = contrast_of(judging->family, row);
	moderate(judging, &contrast);
	return contrast;
}

static void put_wholes(const struct judgement_family *family, size_t row, double *wholes)
{
	wholes[MATCH_BASE] = wholes[MATCH_NEW] = 0;
	for (size_t run = 0; run < family->nr_runs; run++)
		wholes[judgement_side_of(family, run)] +=
			family->rest[run] +
			(family->more ? family->more[row * family->nr_runs + run] : 0);
}

static void judge_row(struct judging *judging, size_t row, struct diff_judgement *judgement)
{
	bool is_poisson = judging->family->is_poisson;
	struct contrast contrast = moderate_contrast_of(judging, row);
	const struct quantiles *quantiles = quantiles_of(judging, contrast.df);
	judgement->is_tested = true;
	put_wholes(judging->family, row, judgement->wholes);
	judgement->dispersion = contrast.dispersion;
	judgement->t = sqrt(deviance_of(&contrast, is_poisson) / contrast.dispersion);
	judgement->p = p_of(judging->family, &contrast, judgement->t);
	judgement->detectable = detectable_by(judging, &contrast, quantiles);
	put_effect(&contrast, is_poisson, quantiles->interval, judgement);
}

/*
 * What p is of (a ratio of likelihoods, or an exact test) and what the interval is of differ
 * slightly; where they fall on different sides of alpha, the interval is as wide as p has it.
 */
static void put_joint_interval(
	const struct judging *judging, size_t row, double tail, struct diff_judgement *judgement)
{
	bool is_poisson = judging->family->is_poisson;
	bool has_changed = judgement->adjusted_p < judging->options->alpha;
	struct contrast contrast = moderate_contrast_of(judging, row);
	double middle = middle_of(&contrast, is_poisson);
	double quantile = statistics_t_quantile(tail, contrast.df);
	put_interval(&contrast, middle, quantile * deviation_of(&contrast, is_poisson), judgement);
	if ((judgement->low > 0 || judgement->high < 0) == has_changed)
		return;
	double t = judgement->p < 1 ? statistics_t_quantile(judgement->p / 2, contrast.df) : 0;
	put_interval(&contrast, middle, quantile * fabs(middle) / t, judgement);
}

static void put_joint_intervals(const struct judging *judging, struct diff_judgement *judgements)
{
	const struct judgement_family *family = judging->family;
	double nr_changed = 0;
	for (size_t row = 0; row < family->nr_rows; row++)
		nr_changed += family->is_tested[row] &&
			      judgements[row].adjusted_p < judging->options->alpha;
	double tail = judging->options->alpha / 2 * fmax(1, nr_changed) / judging->nr_shares;
	for (size_t row = 0; row < family->nr_rows; row++)
		if (family->is_tested[row] && judgements[row].verdict != DIFF_SAME)
			put_joint_interval(judging, row, tail, &judgements[row]);
}

/* ---- all rows ---- */

static enum diff_verdict verdict_of(
	const struct diff_judgement *judgement, const struct diff_options *options)
{
	double least = options->min_effect;
	double share = fmax(judgement->sides[0].share, judgement->sides[1].share);
	bool counts = judgement->adjusted_p < options->alpha && share >= options->min_share;
	if (counts && judgement->effect >= least && judgement->effect > 0)
		return DIFF_REGRESSION;
	if (counts && judgement->effect <= -least && judgement->effect < 0)
		return DIFF_IMPROVEMENT;
	return judgement->low > -least && judgement->high < least ? DIFF_SAME : DIFF_INCONCLUSIVE;
}

static void adjust(const struct judgement_family *family, struct diff_judgement *judgements)
{
	CLEANUP_FREE double *p = mem_zalloc_array(family->nr_rows, sizeof(*p));
	size_t count = 0;
	for (size_t row = 0; row < family->nr_rows; row++)
		if (family->is_tested[row])
			p[count++] = judgements[row].p;
	statistics_adjust(p, count, p);
	count = 0;
	for (size_t row = 0; row < family->nr_rows; row++)
		if (family->is_tested[row])
			judgements[row].adjusted_p =
				fmin(1, p[count++] * (double)(1 + family->nr_others));
}

/* All but verdicts, and with the interval of each row alone. */
static struct judging judge_rows(const struct judgement_family *family,
	const struct diff_options *options, struct diff_judgement *judgements)
{
	struct judging judging = {
		.family = family,
		.options = options,
		.prior = find_prior(family),
		.least_dispersion = least_dispersion_of(family),
	};
	for (size_t row = 0; row < family->nr_rows; row++)
		judging.nr_shares += family->is_tested[row];
	judging.nr_shares *= (double)(1 + family->nr_others);
	for (size_t row = 0; row < family->nr_rows; row++)
		if (family->is_tested[row])
			judge_row(&judging, row, &judgements[row]);
	adjust(family, judgements);
	return judging;
}

void judgement_make(const struct judgement_family *family, const struct diff_options *options,
	struct diff_judgement *judgements)
{
	struct judging judging = judge_rows(family, options, judgements);
	for (size_t row = 0; row < family->nr_rows; row++)
		if (family->is_tested[row])
			judgements[row].verdict = verdict_of(&judgements[row], options);
	put_joint_intervals(&judging, judgements);
}

bool judgement_has_rest(const struct judgement_family *family, size_t row)
{
	double left[MATCH_SIDES] = {0}, whole[MATCH_SIDES] = {0};
	for (size_t run = 0; run < family->nr_runs; run++) {
		enum match_side side = judgement_side_of(family, run);
		double more = family->more ? family->more[row * family->nr_runs + run] : 0;
		left[side] += family->rest[run] + more - amount_of(family, row, run);
		whole[side] += family->rest[run] + more;
	}
	return family->is_poisson || (left[MATCH_BASE] * 10 >= whole[MATCH_BASE] &&
					     left[MATCH_NEW] * 10 >= whole[MATCH_NEW]);
}

bool judgement_says_change(const struct diff_judgement *judgement)
{
	return judgement->is_tested &&
	       (judgement->verdict == DIFF_REGRESSION || judgement->verdict == DIFF_IMPROVEMENT);
}

void judgement_withhold(struct diff_judgement *judgement)
{
	judgement->t = 0;
	judgement->p = judgement->adjusted_p = 1;
	judgement->low = -1;
	judgement->high = judgement->half_width = INFINITY;
	judgement->verdict = DIFF_INCONCLUSIVE;
}

/* ---- what the others are compared with ---- */

static bool surely_changed(const struct judgement_family *family,
	const struct diff_options *options, const struct diff_judgement *judgements, size_t row)
{
	return family->is_tested[row] && judgements[row].adjusted_p < options->alpha;
}

/*
 * The row that most surely changed; nr_rows: none did. By t, since p may be too small for a number.
 * Where a program is two functions, that one takes longer and that the other takes less is the
 * same: of what is nearly as sure, an alarm is the safer guess.
 */
static size_t find_changed(const struct judgement_family *family,
	const struct diff_options *options, const struct diff_judgement *judgements)
{
	static const double nearly = 0.95;
	size_t best = family->nr_rows, chosen;
	for (size_t row = 0; row < family->nr_rows; row++)
		if (surely_changed(family, options, judgements, row) &&
			(best == family->nr_rows || judgements[row].t > judgements[best].t))
			best = row;
	chosen = best;
	for (size_t row = 0; row < family->nr_rows; row++)
		if (surely_changed(family, options, judgements, row) &&
			judgements[row].effect > 0 &&
			judgements[row].t >= nearly * judgements[best].t &&
			(judgements[chosen].effect < 0 || judgements[row].t > judgements[chosen].t))
			chosen = row;
	return chosen;
}

/* Less than a tenth of the samples is nothing to compare the others with. */
bool judgement_leaves_rest(const struct judgement_family *family, const double *rest, size_t row)
{
	double left[MATCH_SIDES] = {0}, all[MATCH_SIDES] = {0};
	for (size_t run = 0; run < family->nr_runs; run++) {
		left[judgement_side_of(family, run)] += rest[run] - amount_of(family, row, run);
		all[judgement_side_of(family, run)] += family->rest[run];
	}
	return left[0] * 10 >= all[0] && left[1] * 10 >= all[1];
}

size_t judgement_find_steady(const struct judgement_family *family,
	const struct diff_options *options, bool *has_changed, double *rest)
{
	enum {
		ROUNDS_MAX = 64,
		WORK_MAX = 2000000, /* rows that are judged */
	};
	size_t found = 0;
	CLEANUP_FREE bool *is_tested = mem_zalloc_array(family->nr_rows, sizeof(*is_tested));
	CLEANUP_FREE struct diff_judgement *judgements =
		mem_zalloc_array(family->nr_rows, sizeof(*judgements));
	memcpy(is_tested, family->is_tested, family->nr_rows * sizeof(*is_tested));
	memcpy(rest, family->rest, family->nr_runs * sizeof(*rest));
	struct judgement_family left = *family;
	left.is_tested = is_tested;
	left.rest = rest;
	for (; found < ROUNDS_MAX && found * family->nr_rows < WORK_MAX; found++) {
		judge_rows(&left, options, judgements);
		size_t row = find_changed(&left, options, judgements);
		if (row == family->nr_rows || !judgement_leaves_rest(family, rest, row))
			break;
		has_changed[row] = true;
		is_tested[row] = false;
		for (size_t run = 0; run < family->nr_runs; run++)
			rest[run] -= amount_of(family, row, run);
	}
	return found;
}
