/*
 * How sure a change is.
 *
 * A run is a number of samples, of which some hit a function. How many is a matter of chance, and
 * of how the machine felt that day. Chance alone makes them binomial. How much more runs of one
 * side differ than that is their dispersion (Pearson's, degrees of freedom: runs less 2); tests
 * and intervals allow for it (quasi-binomial). A few runs say little about the dispersion of one
 * function, so it is drawn towards what is usual for functions of its size
 * (statistics_fit_prior()), but never below what was seen, nor, but of whole runs, below 1.
 * Functions differ in this, some come in bursts: two runs a side show so little of how much they
 * differ that a change must be far clearer than with five. From one run a side none can be seen: 1
 * is assumed.
 *
 * The effect is the odds ratio less 1: how much longer a function takes than before, if the rest
 * takes as long as before. Shares alone would say less: of 50 %, a slowdown by 10 % makes 52.4 %.
 *
 * When one function takes longer, the share of each other one shrinks; an improvement would make
 * regressions of them. So the rest must be what did not change: the row that most surely changed
 * is taken out of everybody's rest, and the others are judged again, until none is left that
 * surely changed (judgement_find_steady()).
 *
 * An interval says what the verdict says. That no change of some size is there (SAME) is claimed of
 * one row, by the interval of that row alone, of 1 - alpha. That something changed is told by p,
 * which is adjusted for the number of rows, so intervals of all other rows are, too: of 1 - alpha
 * times the part of the tests that found a change, or that one test is, whichever is more
 * (Benjamini and Yekutieli 2005, "False discovery rate-adjusted multiple confidence intervals":
 * of those of what is reported, a part of alpha misses the true change). Such an interval leaves
 * out 0 exactly where the adjusted p is below alpha.
 *
 * By CPU time, hits are counts of Poisson's over each run's exposure, with dispersion likewise.
 */
#ifndef EBPROF_JUDGEMENT_H
#define EBPROF_JUDGEMENT_H

#include "report/compare/difference.h"

/*
 * Samples may stand for different amounts a (run_samples_differ()). The sum of them varies by
 * chance as a number of equal ones does, which are the hits:
 *
 *   quantum = sum of a * a / sum of a,  hits = sum of a / quantum
 *
 * Each row has its own quantum, and so has the rest: waits of a second elsewhere do not make
 * thousands of equal ones uncertain. Where runs show by themselves how they differ, the squares are
 * those of samples that chance chose alone: what was measured each time is certain.
 */
struct judgement_family {
	size_t nr_rows, nr_runs, nr_base; /* base's runs stand first */
	const double *amounts;            /* nr_runs of each row */
	/*
	 * Of each run, the amount that is compared with: that of what is steady; by CPU time the
	 * exposure: amounts by what they count.
	 */
	const double *rest;
	const double *more; /* like amounts: what of a row is not in the rest; NULL: nothing */
	/* Of each row its own quantum, and that of all others; NULL: each sample is 1. */
	const double *quanta, *rest_quanta;
	const bool *is_tested;
	bool is_poisson;
	/*
	 * Rows are whole runs: how these differ is all that counts, whatever comes of chance, and
	 * may be less than chance alone would do. A timer's ticks come evenly, so that 40 runs of
	 * one program had 0.16 of Poisson's variance; only where in the program they strike is
	 * chance.
	 */
	bool is_of_whole_runs;
	size_t nr_others; /* families that are reported with it: all share one alpha */
};

/* Judges the rows that are to be tested, by their counts; shares must be there. */
void judgement_make(const struct judgement_family *family, const struct diff_options *options,
	struct diff_judgement *judgements);

/* Whether `rest`, of what is steady, is a tenth of all beside the row, which is in it. */
bool judgement_leaves_rest(const struct judgement_family *family, const double *rest, size_t row);
/* Whether what a row is compared with is a tenth of its side at least, or is no part of it. */
bool judgement_has_rest(const struct judgement_family *family, size_t row);
/* Whether it is a regression or an improvement. */
bool judgement_says_change(const struct diff_judgement *judgement);
/* Makes it inconclusive, whatever its numbers say by themselves. */
void judgement_withhold(struct diff_judgement *judgement);

/*
 * For rows that have nothing in common, of which `family` has all amounts as rest: which have
 * surely changed, and how much of the rest is left without those.
 */
size_t judgement_find_steady(const struct judgement_family *family,
	const struct diff_options *options, bool *has_changed, double *rest);

#endif
