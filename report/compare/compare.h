/*
 * Two recordings side by side, function by function, for what shows their call trees
 * (function_match.h says which functions are the same). Recordings differ in length: what is shown
 * are shares of all samples. Which of them changed is what `ebprof diff` says (difference.h): a
 * function whose share fell because another one takes longer has not changed.
 */
#ifndef EBPROF_COMPARE_H
#define EBPROF_COMPARE_H

#include "format/base/str.h"
#include "report/compare/difference.h"

struct compare_value {
	uint64_t self, total; /* in the event's unit (ns) */
	uint64_t self_samples, samples;
};

enum compare_metric {
	COMPARE_SELF,
	COMPARE_TOTAL,
	COMPARE_METRICS,
};

/* What is known of a change, as diff_judgement has it. */
struct compare_change {
	enum diff_verdict verdict; /* inconclusive where there were too few samples to judge */
	double wholes[MATCH_SIDES];
	double effect; /* NAN: of a part of a function it is not known */
};

struct compare_row {
	uint32_t function;         /* of the diff tree */
	const char *object, *name; /* as the new side has them, where it does; clones have one */
	uint32_t frame;            /* one of the new side's profile, or of the base's after
				      compare_lead_by_base(); 0: there is none */
	bool is_known;             /* there was a symbol */
	bool is_cut; /* a baseline may have left out part of its total, or of it altogether */
	struct compare_value base, new;
	struct compare_change changes[COMPARE_METRICS];
};

/* All samples of each side. */
struct compare_wholes {
	struct slice_sum base, new;
};

struct compare {
	VEC(struct compare_row) rows; /* by name, then by object: of what took any time */
	uint32_t *row_of;             /* for each function of the diff tree 1 + its row; 0: none */
	struct compare_wholes wholes;
	struct difference
		*judged;    /* owned; NULL: compare_judge() has not, or found nothing to judge */
	struct str refusal; /* why, in words for the user */
};

/* Both sides' weights are of the diff tree, from which texts are borrowed. */
void compare_init(struct compare *compare, const struct diff_tree *diff,
	const struct tree_weight *base, const struct tree_weight *new);
/* From now on the rows' frames are the base's. */
void compare_lead_by_base(struct compare *compare, const struct diff_tree *diff);
void compare_deinit(struct compare *compare);
/*
 * Judges the rows as `ebprof diff --by function` does with these options; NULL: with none. False:
 * it would refuse to compare these sides (comparability.h), and all rows stay inconclusive.
 */
bool compare_judge(struct compare *compare, const struct diff_tree *diff,
	const struct diff_source sides[MATCH_SIDES], const struct diff_options *options);
/* NULL: it took no time, as what truncated stacks begin with. */
const struct compare_row *compare_row_of(const struct compare *compare, uint32_t function);

/* The row's share of all samples, in percent. */
double compare_base_percent(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);
double compare_new_percent(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);
/* By how much the share grew. */
double compare_points(const struct compare_wholes *wholes, const struct compare_row *row,
	enum compare_metric metric);
/* False: what a baseline left out may be of it, so that it cannot be compared. */
bool compare_is_known(const struct compare_row *row, enum compare_metric metric);
/* 1: it is a regression; -1: an improvement; 0: it is not known to be either. */
int compare_direction(const struct compare_row *row, enum compare_metric metric);
/* Whether a difference may be a change or chance: one that is neither is due to others' changes. */
bool compare_cannot_tell(const struct compare_row *row, enum compare_metric metric);
/*
 * The change of a part of a function's samples, of which base and new have as many: the function's,
 * where the part changed in that direction, too.
 */
struct compare_change compare_change_of_part(
	const struct compare_change *change, uint64_t base, uint64_t new);

enum {
	COMPARE_STRENGTHS = 4, /* of colours, for more and for less */
};

/* From how many points on each begins; the first at 0 and below. */
extern const double compare_strengths[COMPARE_STRENGTHS];
/* By how many points it changed in the direction of the colour. */
unsigned compare_strength(double points);

/*
 * The base's object that is the new side's `object`, and a frame of its function that is that of
 * the new side's `frame`; 0: there is none.
 */
uint32_t compare_find_object(
	const struct profile *base, const struct profile *new, uint32_t object);
uint32_t compare_find_frame(const struct profile *base, const struct profile *new, uint32_t frame);

#endif
