/*
 * A flame graph, laid out: a box for each frame of a focus, as wide as its share, in columns of a
 * terminal or in parts of a pixel.
 *
 * What is rounded are edges, not widths: where a box begins and ends follows from the time of all
 * that stands to its left. So the widths of a row add up exactly, a box never leaves its caller's,
 * and what is at least one unit wide never vanishes. Siblings that are narrower stand together at
 * the end, as one box. Only what is wide enough to be seen is ever expanded.
 */
#ifndef EBPROF_FLAME_H
#define EBPROF_FLAME_H

#include "report/analyse/focus.h"

enum flame_order {
	FLAME_BY_NAME, /* the same function is found at the same place, however long it took */
	FLAME_BY_TOTAL,
};

struct flame_options {
	uint32_t width; /* of the root */
	uint32_t least; /* narrower siblings share a box; at least 1 */
	enum flame_order order;
};

struct flame_box {
	uint32_t node;   /* of the focus; of several the largest, the others are those behind it */
	uint32_t count;  /* of siblings in this box */
	uint32_t parent; /* index of a box; the root's is its own */
	uint32_t x, width;
	uint64_t from; /* where it begins, within the root's total */
	uint64_t total, samples;
};

struct flame {
	struct focus *focus; /* borrowed; gets expanded */
	struct flame_options options;
	VEC(struct flame_box) boxes; /* row after row, each from left to right */
	VEC(size_t) rows;            /* where each begins; the root alone is row 0 */
	bool is_complete;            /* there are no more rows */
};

/* Of a node of the focus and what is below it. Nothing but the root is laid out yet. */
void flame_init(struct flame *flame, struct focus *focus, uint32_t root,
	const struct flame_options *options);
/* Until there are so many rows, or no more. */
void flame_grow(struct flame *flame, size_t rows);
void flame_deinit(struct flame *flame);

/* The boxes of a row that was laid out; none of one that was not. */
const struct flame_box *flame_row(const struct flame *flame, size_t row, size_t *count);
/* The box that a node of this row stands in; NULL when it is too narrow for any. */
const struct flame_box *flame_box_of(const struct flame *flame, size_t row, uint32_t node);

#endif
