/*
 * What changed between two sides, each of one run or several: rows of functions (files, lines,
 * stacks) with how much longer they take, how sure that is, and a verdict. How it is judged stands
 * in judgement.h. Writers (diff_writer.h) make texts of it.
 */
#ifndef EBPROF_DIFFERENCE_H
#define EBPROF_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "report/compare/diff_tree.h"
#include "report/model/profile.h"

#define DIFF_BYS(X) \
	X(DIFF_BY_FUNCTION, "function") \
	X(DIFF_BY_FILE, "file") \
	X(DIFF_BY_LINE, "line") \
	X(DIFF_BY_STACK, "stack")

enum diff_by {
#define X(name, word) name,
	DIFF_BYS(X)
#undef X
	DIFF_BY_COUNT,
};

#define DIFF_METRICS(X) \
	X(DIFF_SHARE, "share")      /* of the side's samples */ \
	X(DIFF_CPU_S, "cpu-s")      /* seconds of CPU a run; of other events what they count */ \
	X(DIFF_METRIC_AUTO, "auto") /* one of these, by the recordings: of options alone */

enum diff_metric {
#define X(name, word) name,
	DIFF_METRICS(X)
#undef X
	DIFF_METRIC_COUNT,
};

/* Of a row; of the whole there are ok (SAME), regression and inconclusive. */
#define DIFF_VERDICTS(X) \
	X(DIFF_INCONCLUSIVE, "inconclusive") \
	X(DIFF_SAME, "same") \
	X(DIFF_REGRESSION, "regression") \
	X(DIFF_IMPROVEMENT, "improvement")

enum diff_verdict {
#define X(name, word) name,
	DIFF_VERDICTS(X)
#undef X
	DIFF_VERDICT_COUNT,
};

const char *diff_by_word(enum diff_by by);
const char *diff_metric_word(enum diff_metric metric);
struct difference;
/* The word of its metric; amounts that are no CPU time are "amount". */
const char *diff_metric_name(const struct difference *diff);
const char *diff_verdict_word(enum diff_verdict verdict);

/* Samples of a function that are to be expected on each side, or it is not judged. */
enum {
	DIFF_FEW_HITS = 5,
};

struct diff_options {
	enum diff_by by;
	enum diff_metric metric;
	double alpha;      /* false alarms among what is reported, and intervals that miss */
	double min_effect; /* .05: changes below are not reported */
	double min_share;  /* .005: nor is what takes less on both sides */
	bool is_part;      /* the samples are not all of the program's: some were chosen */
	bool is_forced;    /* compare what should not be: another CPU model, architecture, event */
};

/* What holds unless the user gives other values. */
#define DIFF_ALPHA              0.01
#define DIFF_MIN_EFFECT_PERCENT 5
#define DIFF_MIN_SHARE_PERCENT  0.5
#define DIFF_OPTIONS_DEFAULT \
	{ \
		.metric = DIFF_METRIC_AUTO, .alpha = DIFF_ALPHA, \
		.min_effect = DIFF_MIN_EFFECT_PERCENT / 100., \
		.min_share = DIFF_MIN_SHARE_PERCENT / 100. \
	}

struct diff_run {            /* a recording, or one of those that were merged into it */
	const char *name;    /* borrowed from the profile; "" where nothing was merged */
	const char *program; /* likewise: the command's file; NULL: no command was recorded */
	uint64_t samples;
	double value; /* of all samples, in the event's unit (ns) */
	/* What is compared, see run_samples_differ(): of all, and without those of stacks that were
	 * truncated at their beginning. */
	double amount, known_amount;
	bool is_whole_command; /* it ended with its command: its CPU time says something */
};

struct diff_side {
	VEC(struct diff_run) runs;       /* those with samples */
	size_t nr_empty;                 /* runs without */
	uint64_t unseen;                 /* samples of the event that do not count */
	uint64_t samples, other_samples; /* ... of other events, which are left out */
	uint64_t known;                  /* samples of which is known where they were ... */
	double squares, chance_squares;  /* of all samples, as in struct run_sum */
	/* ... and the sum of their amounts, and of squares as in struct run_sum. */
	double known_amount, known_squares, known_chance_squares;
	uint64_t cut; /* samples of a baseline that lost part of their stacks, to keep it small */
	double value;
};

/* One side's part of a row. */
struct diff_amount {
	uint64_t samples;
	double share; /* of the side's known amount */
	double value; /* mean of a run, in the event's unit */
	/* Of all runs: the sum of the samples' amounts, and of squares as in struct run_sum. */
	double amount, squares, chance_squares;
};

/* A row by one measure. Effects are ratios less 1: .05 takes 5 % longer. */
struct diff_judgement {
	struct diff_amount sides[MATCH_SIDES];
	bool is_tested;             /* else there were too few samples, and what follows is 0 */
	double wholes[MATCH_SIDES]; /* the amount (CPU time: exposure) that its own is part of */
	double effect;              /* INFINITY: base had none */
	double low, high;           /* its interval: that by which the verdict was made */
	double half_width;          /* of the interval of 1 - alpha of this row alone */
	double t;             /* what p is of: how many deviations it is off, without its sign */
	double p, adjusted_p; /* by Benjamini and Hochberg */
	double dispersion;    /* of runs, that of chance being 1 */
	double detectable;    /* the smallest effect that would be reported, 95 times of 100 */
	enum diff_verdict verdict;
};

struct diff_row {
	uint32_t entity;           /* which of the entities it is (entities.h) */
	const char *name, *object; /* borrowed */
	/* Whose name that is, borrowed; NULL: it is no function's, or was made for the row. */
	const struct profile_function *function;
	const char *file;     /* NULL: unknown */
	uint32_t line;        /* 0: unknown */
	bool is_edited;       /* by line: all lines of a function, since some of them moved */
	const char *old_name; /* base's, where it seems to have been renamed; NULL: it is not */
	bool is_known;        /* there was a symbol */
	bool is_own;          /* of the command, or code that its user can change (own_code.h) */
	bool is_kernel;       /* the kernel's, and no reason to wait */
	bool repeats;         /* by total it says no more than another row: diff_find_repeats() */
	/* The first regression is that something waits longer: by this function most of all. */
	bool waits_longer;
	uint64_t stacks[MATCH_SIDES]; /* as in struct run_sums */
	VEC(const char *) path;       /* by stack: functions from the outermost on */
	struct diff_judgement self, total;
};

/*
 * Rows of one object of which one side has none, where both sides have such, by their self time and
 * as of one: code that was split, merged or written anew takes longer if its parts together do.
 */
struct diff_replacement {
	const char *object;          /* borrowed */
	size_t nr_rows[MATCH_SIDES]; /* which only that side has */
	size_t nr_withheld;          /* made inconclusive by this */
	bool makes_regression;       /* it is one, and no row of it is */
	struct diff_judgement judgement;
};

struct difference {
	struct diff_options options; /* with the metric that was chosen */
	struct diff_side sides[MATCH_SIDES];
	const char *event, *unit; /* borrowed from the new side */
	bool is_cpu_time;         /* event_value_is_cpu_time() */
	bool is_measured;         /* each event, as waits are: what a timer samples is not */
	char *parts;      /* of an event that is a sum, the names of those; NULL: it is none */
	bool is_weighted; /* run_samples_differ() */
	VEC(struct diff_row) rows;     /* by how much of the program each has changed, most first */
	size_t nr_entities;            /* all of both sides: functions, ... */
	struct diff_judgement program; /* all of it, by CPU time */
	const char *program_reason;    /* why that has no verdict; NULL: it has one */
	bool knows_dispersion;         /* there were more runs than one a side */
	size_t nr_unsteady; /* rows that were found first and left out of the others' rest */
	VEC(struct diff_replacement) replacements;
	double judged_share;  /* of both sides' samples: in what takes min_share and more ... */
	double visible_share; /* ... whose interval is as narrow as min_effect */
	double native_share;  /* of the new side's samples: in native code that scripts called */
	bool runs_commands;   /* on both sides: how much CPU time a run took says something */
	/* By shares something takes less, and the whole more time: what did not change may be that,
	 * and the rest what takes longer. Then nothing is "the same". */
	bool is_ambiguous;
	enum diff_verdict verdict;
	struct entities *entities; /* owns the texts */
};

/* One side of a comparison by the call trees of both. Everything is borrowed. */
struct diff_source {
	const struct profile *profile; /* symbolized */
	const struct tree *tree;       /* that which the diff tree was made of */
	const bool *is_seen;           /* for each sample whether it counts; NULL: all do */
	uint32_t event;                /* 0 on both sides: what main_event_of_both() says */
};

/*
 * Both profiles are symbolized and filtered; they must stay. Refuses sides without samples, and
 * what cannot be compared (comparability.h).
 */
struct err *difference_create(const struct profile *base, const struct profile *new,
	const struct diff_options *options, struct difference **ret) ERR_MUST_CHECK;
/*
 * The same of the functions of a diff tree, by function: the entity of a row is the function's
 * number there. The diff tree has joined renamed functions already. All arguments must stay.
 */
struct err *difference_create_of_tree(const struct diff_tree *both,
	const struct diff_source sides[MATCH_SIDES], const struct diff_options *options,
	struct difference **ret) ERR_MUST_CHECK;
void difference_destroy(struct difference *diff);

#endif
