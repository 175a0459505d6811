/*
 * Searching in views whose rows are no functions: files, threads, lines. What is searched for is
 * the application's, a row matches by what the view says it is called.
 */
#ifndef EBPROF_ROW_SEARCH_H
#define EBPROF_ROW_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/pattern.h"
#include "report/tui/keys.h"
#include "report/tui/list.h"

struct app;

/* A view's rows, one row each of such views. */
struct row_search {
	struct list *(*list)(void *state);
	bool (*is_match)(const void *state, const struct app *app, const struct pattern *pattern,
		size_t row);
	/* The list selects another row: the application is to know it. */
	void (*select)(void *state, struct app *app);
	/* What the hottest row has most of; NULL: the rows stand in that order. */
	uint64_t (*weight)(const void *state, const struct app *app, size_t row);
	/* Rows that match may be hidden: opens them. False: none does. NULL: none is hidden. */
	bool (*reveal)(void *state, struct app *app, const struct pattern *pattern);
};

/* Goes to the hottest, the next or the previous match. False: the action is another one. */
bool row_search_act(
	const struct row_search *rows, void *state, struct app *app, enum action action);
/* How many rows match, and which of them the selected one is, 0: none. */
size_t row_search_count(
	const struct row_search *rows, void *state, const struct app *app, size_t *number);

/* Of rows that are drawn, how those that match are seen. */
struct row_marks {
	struct pattern pattern;
	bool has_pattern, has_any; /* any: some row matches, so that the others are dim */
};

void row_marks_init(
	struct row_marks *marks, const struct row_search *rows, void *state, const struct app *app);
void row_marks_deinit(struct row_marks *marks);
/* Whether the row is to be seen as a match. */
bool row_marks_has(const struct row_marks *marks, const struct row_search *rows, const void *state,
	const struct app *app, size_t row);
/* The style of the row's name, which is `style` where nothing is searched for. */
unsigned row_marks_style(const struct row_marks *marks, const struct row_search *rows,
	const void *state, const struct app *app, size_t row, unsigned style);

#endif
