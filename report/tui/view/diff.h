/*
 * The parts of the view that compares. It has three forms, each drawn and led by a vtable of its
 * own: a list of functions, the call trees of both recordings as one, and the same as a flame
 * graph.
 */
#ifndef EBPROF_DIFF_H
#define EBPROF_DIFF_H

#include "report/compare/diff_focus.h"
#include "report/tui/app_state.h"
#include "report/tui/row_search.h"
#include "report/tui/view/branch_list.h"
#include "report/tui/view/flame_view.h"
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

enum diff_form {
	DIFF_LIST,
	DIFF_TREE,
	DIFF_FLAME,
	DIFF_FORMS,
};

struct diff {
	enum diff_form form;
	bool is_relative; /* deltas in percent are of the base's share */
	bool has_doubts;  /* some delta may be chance */

	/* The list: */
	struct list list;
	struct list_header header;
	struct list_column columns[DIFF_COLUMNS]; /* titles and widths are not always the same */
	VEC(uint32_t) rows;                       /* of the comparison, ordered */
	struct str selected; /* "object\0name" of the row: what has gone has no frame */
	double greatest;     /* delta, without its sign */
	/* At the last update: */
	unsigned shown, compared; /* of the application; the comparison's serial */
	enum match_side own_side; /* of the comparison */
	uint32_t event;

	/* The trees, which both go through comparison.both: */
	bool is_inverted;
	const struct app *app;     /* of which the branches are */
	enum app_unit ranked_unit; /* by whose numbers these are ordered */
	struct branch_list branches;
	struct diff_focus branch_sides;
	struct flame_view flame;
	struct diff_focus flame_sides;
};

extern const struct view diff_list, diff_branches, diff_flame;

/* NULL: there is none, it could not be read, or the model is one from before it was wished for. */
const struct compare *diff_compare(const struct app *app);
/* Of the ordered list; there is a comparison. */
const struct compare_row *diff_row(const struct diff *diff, const struct app *app, size_t at);

/* In the unit that is shown; relative ones too are ordered by how much they are of everything. */
double diff_delta(const struct app *app, const struct compare_row *row, enum compare_metric metric);
/* On one side: of all of that side's samples, where it is percent that is shown. */
void diff_put_value(const struct app *app, const struct compare_row *row, enum match_side side,
	enum compare_metric metric, struct str *out);
/* With a sign; behind "~" where it may be chance. */
void diff_put_delta(const struct diff *diff, const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out);
/* Delta, base and new, each as a part of the line below. */
void diff_put_numbers(const struct diff *diff, const struct app *app, const struct compare_row *row,
	enum compare_metric metric, struct str *out);
/* Of a delta's column and cells. */
const char *diff_title(const struct diff *diff, const struct app *app);
unsigned diff_delta_style(
	const struct app *app, const struct compare_row *row, enum compare_metric metric);
/* "+" of what is new, "-" of what has gone, else "". */
const char *diff_sign(const struct compare_row *row);
/* Percent of the base's share, points, and then the other units. */
void diff_next_unit(struct diff *diff, struct app *app);

/* A file that has no name of its own was given one. */
const char *diff_base_name(const struct app *app, const char *path);
void diff_list_draw(void *state, struct app *app, struct grid *grid, struct rect area);
/* What is compared with what, and what is to be known of that; returns how many lines it took. */
int diff_draw_summary(
	const struct diff *diff, const struct app *app, struct grid *grid, struct rect area);
/* Why there is no comparison, and what to do about it. */
void diff_draw_without(const struct app *app, struct grid *grid, struct rect area);

/* ---- of both trees ---- */

/* The model of both; there is a comparison. */
struct model *diff_both(const struct app *app);
/* The node that is zoomed to. */
uint32_t diff_zoomed(const struct diff *diff, const struct app *app, struct focus *focus);
void diff_zoom(struct app *app, const struct focus *focus, uint32_t node);
/* Of a focus of both the place where the selected function took most; 0: nowhere. */
uint32_t diff_selected_place(const struct app *app);
/* The function of both that is selected; 0: none. */
uint32_t diff_selected_function(const struct app *app);
void diff_select_node(struct app *app, const struct focus_node *node);
/* How many functions of both are searched for, and which of them, by total, this one is; 0: none.
 */
size_t diff_count_matches(const struct app *app, uint32_t function, size_t *number);
/* A node's names and numbers, for the line below. */
void diff_put_node(const struct diff *diff, const struct app *app, const struct focus_node *node,
	const struct compare_row *row, struct str *out);

#endif
