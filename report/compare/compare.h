/*
 * Two recordings side by side, function by function (function_match.h says which ones are the
 * same). Recordings differ in length: what is compared are shares of all samples.
 */
#ifndef EBPROF_COMPARE_H
#define EBPROF_COMPARE_H

#include "report/compare/diff_tree.h"

struct compare_value {
	uint64_t self, total; /* in the event's unit (ns) */
	uint64_t self_samples, samples;
};

struct compare_row {
	uint32_t function;         /* of the diff tree */
	const char *object, *name; /* as the new side has them, where it does; clones have one */
	uint32_t frame;            /* one of the new side's profile; 0: there is none */
	bool is_known;             /* there was a symbol */
	bool is_cut; /* a baseline may have left out part of its total, or of it altogether */
	struct compare_value base, new;
};

/* All samples of each side. */
struct compare_wholes {
	struct slice_sum base, new;
};

/* Of a tree's weights. */
struct compare_wholes compare_wholes_of(
	const struct tree_weight *base, const struct tree_weight *new);

struct compare {
	VEC(struct compare_row) rows; /* by name, then by object: of what took any time */
	uint32_t *row_of;             /* for each function of the diff tree 1 + its row; 0: none */
	struct compare_wholes wholes;
};

/* Both sides' weights are of the diff tree, from which texts are borrowed. */
void compare_init(struct compare *compare, const struct diff_tree *diff,
	const struct tree_weight *base, const struct tree_weight *new);
void compare_deinit(struct compare *compare);
/* NULL: it took no time, as what truncated stacks begin with. */
const struct compare_row *compare_row_of(const struct compare *compare, uint32_t function);

enum compare_metric {
	COMPARE_SELF,
	COMPARE_TOTAL,
};

/* What of all samples, in percent. */
double compare_base_percent(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);
double compare_new_percent(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);
/* By how much the share grew. */
double compare_points(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);
/* False: what a baseline left out may be of it, so that it cannot be compared. */
bool compare_is_known(const struct compare_row *row, enum compare_metric metric);
/*
 * False: it cannot be compared, or so few samples differ so much by chance, once in twenty times.
 * Chances are those of independent samples; shares of repeated recordings were seen to vary little
 * more than that.
 */
bool compare_is_significant(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);

enum {
	COMPARE_STRENGTHS = 4, /* of colours, for more and for less */
};

/* From how many points on, without sign, each begins; the first at 0. */
extern const double compare_strengths[COMPARE_STRENGTHS];
unsigned compare_strength(double points);

/*
 * The base's object that is the new side's `object`, and a frame of its function that is that of
 * the new side's `frame`; 0: there is none.
 */
uint32_t compare_find_object(
	const struct profile *base, const struct profile *new, uint32_t object);
uint32_t compare_find_frame(const struct profile *base, const struct profile *new, uint32_t frame);

#endif
