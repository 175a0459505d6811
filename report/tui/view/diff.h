/* The parts of the view that compares: its state, values as text, drawing. */
#ifndef EBPROF_DIFF_H
#define EBPROF_DIFF_H

#include "report/tui/app.h"
#include "report/tui/view/list_header.h"

enum diff_column {
	DIFF_BASE,
	DIFF_NEW,
	DIFF_DELTA, /* of self */
	DIFF_TOTAL, /* the delta of total */
	DIFF_BAR,
	DIFF_OBJECT,
	DIFF_FUNCTION,
	DIFF_COLUMNS,
};

struct diff {
	struct list list;
	struct list_header header;
	struct list_column columns[DIFF_COLUMNS]; /* titles and widths are not always the same */
	bool is_relative;                         /* deltas in percent are of the base's share */
	VEC(uint32_t) rows;                       /* of the comparison, ordered */
	struct str selected; /* "object\0name" of the row: what has gone has no frame */
	double greatest;     /* delta, without its sign */
	bool has_doubts;     /* a delta may be chance */
};

/* NULL: there is none, it could not be read, or the model is one from before it was wished for. */
const struct compare *diff_compare(const struct app *app);
/* Of the ordered list; there is a comparison. */
const struct compare_row *diff_row(const struct diff *diff, const struct app *app, size_t at);

/* In the unit that is shown; relative ones too are ordered by how much they are of everything. */
double diff_delta(const struct app *app, const struct compare_row *row, enum compare_metric metric);
/* Self on one side: of all of that side's samples, where it is percent that is shown. */
void diff_put_value(const struct app *app, const struct compare_value *value,
	const struct slice_sum *whole, struct str *out);
/* With a sign; behind "~" where it may be chance. */
void diff_put_delta(const struct diff *diff, const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out);
/* Of the column of self deltas. */
const char *diff_title(const struct diff *diff, const struct app *app);

void diff_draw(struct diff *diff, const struct app *app, struct grid *grid, struct rect area);

#endif
