/*
 * A view is a vtable: one file each, one row each in view.c's table. It draws the application's
 * model into a part of a grid and answers to actions; what it remembers is its own.
 */
#ifndef EBPROF_VIEW_H
#define EBPROF_VIEW_H

#include "report/tui/grid.h"
#include "report/tui/input_event.h"
#include "report/tui/keys.h"

struct app;
struct renewal;
struct row_search;

enum view_id {
	VIEW_TOP,
	VIEW_BUTTERFLY,
	VIEW_TREE,
	VIEW_FLAME,
	VIEW_HEAT,
	VIEW_PROCESSES,
	VIEW_SOURCE,
	VIEW_DIFF,
	VIEW_SYMBOLS,
	VIEW_COUNT,
};

/* What an action does in a view, in a word. */
struct view_word {
	enum action action;
	const char *word;
};

struct view {
	const char *name;
	const char *short_name; /* where tabs have no room for it; NULL: the name */
	/* The state, for the whole run. */
	void *(*create)(void);
	void (*destroy)(void *state);
	/* The model, the selection or the zoom is another one. NULL: nothing to do. */
	void (*update)(void *state, struct app *app);
	/* The model that update() brings next is of a newer state of the recording: what is
	 * remembered by ids gets those that it has there. NULL: nothing is. */
	void (*renew)(void *state, const struct renewal *renewal);
	/* Draws into `area`, where the mouse will be, too. There is a model. */
	void (*draw)(void *state, struct app *app, struct grid *grid, struct rect area);
	/* False: the action has no meaning here, and the application may have one for it. */
	bool (*act)(void *state, struct app *app, enum action action);
	/* A mouse event inside of the area. NULL: none is of interest. */
	bool (*mouse)(void *state, struct app *app, const struct input *input);
	/* For `P`: what is shown, whole and as text. NULL: the grid. */
	void (*print)(void *state, struct app *app, struct str *out);
	/*
	 * What is selected, for the line below; nothing: the function. NULL: always that. Behind
	 * the name parts follow, each after a tab, of which the last go where there is no room.
	 */
	void (*detail)(void *state, struct app *app, struct str *out);
	const char *print_suffix; /* of the file that takes it; NULL: "txt" */
	/* Of several forms that it has, the one that is seen: `print_suffix`, `words` and
	 * `search` are its. NULL: one. */
	const struct view *(*form)(const void *state);
	/* How many rows match what is searched for, and which of them is selected, 0: none. NULL:
	 * `search` knows, or the functions of the model are counted. */
	size_t (*count_matches)(const void *state, const struct app *app, size_t *number);
	const struct row_search *search; /* NULL: what is searched for are functions, */
	bool is_of_both;                 /* ... of both recordings that are compared */
	const enum action *hints;        /* for the last line; ends with ACTION_NONE */
	bool is_flat;                    /* functions are all that it needs of a model */
	/* What actions are called there that do something else elsewhere; ends with ACTION_NONE.
	 * NULL: none. Enter zooms. */
	const struct view_word *words;
};

extern const struct view *const views[VIEW_COUNT];

#endif
