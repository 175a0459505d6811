/*
 * Branches on the screen: one column of lines of which one is selected, over the branches below a
 * root or, with callers standing above it, to both sides of one. What keys and the mouse do to
 * branches is done here, for all views that show some.
 */
#ifndef EBPROF_BRANCH_LIST_H
#define EBPROF_BRANCH_LIST_H

#include "report/name/distinct_names.h"
#include "report/tui/list.h"
#include "report/tui/view/branches.h"

struct app;

enum branch_part {
	BRANCH_BELOW,
	BRANCH_ABOVE, /* grows upwards: children stand above their parents */
	BRANCH_PARTS,
};

struct branch_row {
	enum branch_part part;
	uint32_t node; /* of the part's focus */
};

/* Where things were drawn. */
struct branch_columns {
	int number_x[3]; /* self, total, bar; or what else the numbers are */
	int name_x, end;
	int step;  /* columns a level */
	int shift; /* columns that are out of sight on the left */
};

struct branch_list;

/* The columns before the names. */
struct branch_numbers {
	/* Notes where they stand; returns where names begin. */
	int (*place)(struct branch_list *list, struct rect area);
	void (*draw_header)(const struct branch_list *list, struct grid *grid, int y);
	void (*draw)(struct branch_list *list, const struct app *app, struct grid *grid, int y,
		struct branch_row row);
	unsigned (*name_style)(
		struct branch_list *list, const struct app *app, struct branch_row row);
	/* "(word) " behind the name; NULL: "(inlined) " where it is so. */
	const char *(*remark)(struct branch_list *list, struct branch_row row);
	void (*print_header)(struct str *out);
	void (*print)(struct branch_list *list, const struct app *app, struct branch_row row,
		struct str *out);
};

struct branch_list {
	const struct branch_numbers *numbers; /* NULL: self, total and a bar */
	void *context;                        /* the numbers' */
	struct list list;
	struct branches parts[BRANCH_PARTS]; /* those without a model take no part */
	VEC(struct branch_row) rows;
	struct branch_columns columns;
	struct str remark;           /* of the row that was asked about last */
	struct distinct_names names; /* of the rows that are seen */
	/* Of a function that the branches lead away from: its numbers, with recursion. */
	struct function_weight centre;
	bool is_to_be_centred; /* the selected row, by the next drawing, which knows the height */
	bool is_touched;       /* a branch was opened or closed by hand */
};

void branch_list_deinit(struct branch_list *list);

/* Before the parts get another model, and after. */
struct branch_row branch_list_remember(struct branch_list *list);
void branch_list_recall(struct branch_list *list, struct branch_row remembered);
/* Before the parts get a model of a newer state of the recording: see branches_renew(). */
void branch_list_renew(struct branch_list *list, const struct renewal *renewal);
/* Makes the rows again; the selected one stays where it is on the screen. */
void branch_list_fill(struct branch_list *list);

/*
 * Of the nodes that share the selected row the one that it is about: the last, where the tree goes
 * on; of callers the nearest. BRANCH_NONE, NULL: there are no rows.
 */
uint32_t branch_list_node(const struct branch_list *list);
const struct focus_node *branch_list_selected(const struct branch_list *list);
struct branch_row branch_list_row(const struct branch_list *list);
/* Selects a node, opening what hides it. */
void branch_list_select(struct branch_list *list, struct branch_row row);

/* Where the selected row is of inlined functions: unfolds it. False: it is none. */
bool branch_list_enter_inlined(struct branch_list *list, struct app *app);
/* True when the action was one of moving, opening, closing, searching. */
bool branch_list_act(struct branch_list *list, struct app *app, enum action action);

enum branch_click {
	BRANCH_CLICK_NONE,
	BRANCH_CLICK_ROW,
	BRANCH_CLICK_MARKER, /* opened or closed */
};
enum branch_click branch_list_mouse(
	struct branch_list *list, struct app *app, const struct input *input);

/* With a header that names the last column `title`. */
void branch_list_draw(struct branch_list *list, const struct app *app, struct grid *grid,
	struct rect area, const char *title);
/* All rows as text. */
void branch_list_print(
	const struct branch_list *list, const struct app *app, const char *title, struct str *out);

#endif
