/*
 * Containers, processes and threads as rows that open and close: for the views that show them.
 * Which are open is remembered through new models.
 */
#ifndef EBPROF_TASK_ROWS_H
#define EBPROF_TASK_ROWS_H

#include "report/tui/app_state.h"
#include "report/tui/renewal.h"

struct task_order {
	int (*compare)(const struct app *app, const struct task *a, const struct task *b);
	bool is_reversed;
};

struct task_row {
	uint32_t task;
	uint32_t depth;
	bool has_children, is_open;
};

struct task_rows {
	struct task_row *data;
	size_t len, cap;
	struct map turned;       /* task -> whether it was opened by hand */
	bool opens[TASK_THREAD]; /* by kind, unless turned */
	const char *container;   /* selected; NULL: none */
};

void task_rows_deinit(struct task_rows *rows);

/* `count` tasks that stand side by side, in the order, with what is open below them. */
void task_rows_add(struct task_rows *rows, const struct app *app, uint32_t first, uint32_t count,
	const struct task_order *order);

/* The rows must be added again. */
void task_rows_turn(struct task_rows *rows, const struct app *app, size_t row, bool opens);
/* What was opened, and the container that is selected, get their ids in a newer state. */
void task_rows_renew(struct task_rows *rows, const struct renewal *renewal);
/* All of a kind, from the next time on. */
void task_rows_turn_all(struct task_rows *rows, bool opens);

/* The row's task becomes the selection of all views. */
void task_rows_select(struct task_rows *rows, struct app *app, size_t row);
/* The row of what is selected, or of what it is folded into; `fallback` when there is none. */
size_t task_rows_selected(const struct task_rows *rows, const struct app *app, size_t fallback);
/* The row above that the row is in; itself where it stands outermost. */
size_t task_rows_parent(const struct task_rows *rows, size_t row);
/* Keeps what the row stands for. */
void task_rows_filter(const struct task_rows *rows, struct app *app, size_t row);
/* What all views of rows do alike with the name of one; false: the action is no such thing. */
bool task_rows_act(const struct task_rows *rows, struct app *app, size_t row, enum action action);

const struct task *task_rows_task(const struct task_rows *rows, const struct app *app, size_t row);
/* The comm of a thread, or of a process's main thread or else its hottest; or the container. */
const char *task_name(const struct app *app, const struct task *task);
/* The tid or pid; 0 of a container. */
uint32_t task_number(const struct app *app, const struct task *task);
/* Both: "comm:tid", "comm pid". */
void task_put_name(const struct app *app, const struct task *task, struct str *out);
/* What stands behind the name there: ":tid", " pid", or nothing. */
void task_put_id(const struct app *app, const struct task *task, struct str *out);
/* The program that a thread or process runs; "" when unknown. */
const char *task_program(const struct app *app, const struct task *task);

/* ---- searching ---- */

/* By its name, its number and its program. */
bool task_rows_is_match(const struct task_rows *rows, const struct app *app,
	const struct pattern *pattern, size_t row);
uint64_t task_rows_weight(const struct task_rows *rows, const struct app *app, size_t row);
/* Opens all where some task matches; the rows are to be made again then. */
bool task_rows_reveal(struct task_rows *rows, const struct app *app, const struct pattern *pattern);

#endif
