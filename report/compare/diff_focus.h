/*
 * What leads through the call trees of two recordings (diff_tree.h) is a focus as through any tree,
 * of the mean of both. This tells what each of its paths took on either side.
 */
#ifndef EBPROF_DIFF_FOCUS_H
#define EBPROF_DIFF_FOCUS_H

#include "report/analyse/focus.h"
#include "report/compare/compare.h"

struct diff_twins {
	uint32_t nodes[MATCH_SIDES]; /* of the side's focus, plus 1; 0: it has none */
	bool is_found;
};

/* What the nodes of a focus took on each side. */
struct diff_focus {
	struct focus *both; /* borrowed: of `both` */
	const struct diff_tree *diff;
	const struct compare *compare;
	struct focus sides[MATCH_SIDES];
	VEC(struct diff_twins) twins; /* for each node of `both` */
};

/*
 * The focus leads from the diff tree's root or its leaves; `sides`: the weights of each; `compare`:
 * of the same, judged. All are borrowed.
 */
void diff_focus_init(struct diff_focus *focus, const struct diff_tree *diff, struct focus *both,
	const struct tree_weight *const sides[MATCH_SIDES], const struct compare *compare);
void diff_focus_deinit(struct diff_focus *focus);

/*
 * A row without a name. Of its samples, all are counted; those of its own are not. Its total has
 * changed where that of its function has; from the leaves on, where the self time has of the
 * function that the path begins at: it is a part of that.
 */
struct compare_row diff_focus_row(struct diff_focus *focus, uint32_t node);

#endif
