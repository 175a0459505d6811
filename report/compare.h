/*
 * Two recordings side by side, function by function (function_match.h says which ones are the
 * same). Recordings differ in length: what is compared are shares of all samples.
 */
#ifndef EBPROF_COMPARE_H
#define EBPROF_COMPARE_H

#include "format/base/str.h"
#include "report/tree.h"

/* A symbolized profile, the tree of its functions, and the samples that are looked at. */
struct compare_side {
	const struct profile *profile;
	const struct tree *tree;
	const struct tree_weight *weights;
	struct slice_sum whole;
};

struct compare_value {
	uint64_t self, total; /* in the event's unit (ns) */
	uint64_t self_samples, samples;
};

enum compare_index {
	COMPARE_BASE,
	COMPARE_NEW,
	COMPARE_SIDES,
};

struct compare_row {
	uint32_t name_id;          /* of the comparison's names: function and object */
	const char *object, *name; /* as the new side has them, where it does; clones have one */
	uint32_t frame;            /* one of the new side's; 0: there is none */
	uint32_t base_frame;       /* ... of the base's */
	bool is_known;             /* there was a symbol */
	struct compare_value base, new;
};

struct compare {
	struct strtab names;
	VEC(struct compare_row) rows; /* by name, then by object */
	/* What truncated stacks begin with: it took no time itself and is no row, but in their
	 * paths. */
	VEC(struct compare_row) markers;
	/* For each side's function 1 + its row, beyond the rows that of its marker; 0: no time. */
	uint32_t *rows_of[COMPARE_SIDES];
	struct slice_sum base, new; /* all samples of each side */
};

/* Nothing is borrowed: the sides may go. */
void compare_init(
	struct compare *compare, const struct compare_side *base, const struct compare_side *new);
void compare_deinit(struct compare *compare);
/* Of what rows_of tells: a row or a marker. */
const struct compare_row *compare_row_of(const struct compare *compare, uint32_t number);

enum compare_metric {
	COMPARE_SELF,
	COMPARE_TOTAL,
};

/* What of all samples, in percent. */
double compare_base_percent(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric);
double compare_new_percent(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric);
/*
 * False: so few samples differ so much by chance, once in twenty times. Chances are those of
 * independent samples; shares of repeated recordings were seen to vary little more than that.
 */
bool compare_is_significant(
	const struct compare *compare, const struct compare_row *row, enum compare_metric metric);

/* The same of any two counts, of so many samples on each side. */
bool compare_is_beyond_chance(uint64_t base, uint64_t base_all, uint64_t new, uint64_t new_all);

/*
 * The base's object that is the new side's `object`, and a frame of its function that is that of
 * the new side's `frame`; 0: there is none.
 */
uint32_t compare_find_object(
	const struct profile *base, const struct profile *new, uint32_t object);
uint32_t compare_find_frame(const struct profile *base, const struct profile *new, uint32_t frame);

#endif
