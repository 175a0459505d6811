/* The keys and what they do: one table, from which help, hints and the manual page are made. */
#ifndef EBPROF_KEYS_H
#define EBPROF_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"

enum action {
	ACTION_NONE,
	/* moving */
	ACTION_UP,
	ACTION_DOWN,
	ACTION_LEFT,
	ACTION_RIGHT,
	ACTION_PAGE_UP,
	ACTION_PAGE_DOWN,
	ACTION_HALF_UP,
	ACTION_HALF_DOWN,
	ACTION_FIRST,
	ACTION_LAST,
	/* views */
	ACTION_VIEW_1,
	ACTION_VIEW_9 = ACTION_VIEW_1 + 8,
	ACTION_NEXT_VIEW,
	ACTION_PREVIOUS_VIEW,
	/* zooms and filters */
	ACTION_ENTER,
	ACTION_UNDO,
	ACTION_REDO,
	ACTION_RESET,
	ACTION_NEXT_FUNCTION,
	ACTION_PREVIOUS_FUNCTION,
	ACTION_KEEP,
	ACTION_EXCLUDE,
	ACTION_ONLY_THREAD,
	ACTION_ONLY_COMM,
	ACTION_ONLY_PROCESS,
	ACTION_ONLY_CONTAINER,
	ACTION_ONLY_FUNCTION,
	ACTION_WITHOUT_FUNCTION,
	ACTION_ONLY_OBJECT,
	ACTION_ONLY_KERNEL,
	ACTION_RANGE,
	/* searching */
	ACTION_SEARCH,
	ACTION_NEXT_MATCH,
	ACTION_PREVIOUS_MATCH,
	ACTION_HOTTEST_MATCH, /* Enter behind what is searched for */
	ACTION_SEARCH_SYMBOL,
	ACTION_NARROW,
	/* branches */
	ACTION_TOGGLE,
	ACTION_EXPAND,
	ACTION_COLLAPSE,
	ACTION_EXPAND_ALL,
	ACTION_OPEN_ALL,
	ACTION_COLLAPSE_ALL,
	ACTION_FOLD,
	ACTION_INVERT,
	/* what is shown */
	ACTION_SORT_LEFT,
	ACTION_SORT_RIGHT,
	ACTION_SORT_REVERSE,
	ACTION_EVENT,
	ACTION_GROUP,
	ACTION_UNIT,
	ACTION_INFO,
	ACTION_OPTIONS,
	ACTION_NO_NATIVE,
	ACTION_NO_KERNEL,
	ACTION_WAITS,
	ACTION_WAKERS,
	ACTION_WHOLE_NAME,
	ACTION_COPY,
	ACTION_PRINT,
	ACTION_BASELINE,
	ACTION_SWAP,
	ACTION_RETRY,
	ACTION_MENU,
	ACTION_HELP,
	ACTION_COMMANDS,
	ACTION_REDRAW,
	/* of a recording that goes on */
	ACTION_PAUSE,
	ACTION_SAVE,
	ACTION_CANCEL,
	ACTION_QUIT,
	/* chosen from the menu of ACTION_OPTIONS */
	ACTION_OPTION_INLINED,
	ACTION_OPTION_NO_NATIVE,
	ACTION_OPTION_NO_KERNEL,
	ACTION_OPTION_WHOLE,
	ACTION_OPTION_NO_PARAMETERS,
	ACTION_OPTION_NO_TEMPLATES,
	ACTION_OPTION_PATHS,
	/* chosen from the menu of ACTION_WAITS */
	ACTION_WAIT_CHOSEN,
	/* chosen from the menu of ACTION_GROUP */
	ACTION_GROUP_NONE,
	ACTION_GROUP_PROCESS,
	ACTION_GROUP_THREAD,
	ACTION_GROUP_CONTAINER,
	ACTION_GROUP_FILE,
	ACTION_GROUP_EVENT,
};

struct key_row {
	uint32_t keys[4]; /* as in input_event.h; 0: no more */
	enum action action;
	const char *shown; /* how the keys are written */
	const char *hint;  /* a word or two for the last line; NULL: the help */
	const char *help;
	const char *group; /* a heading above the row; NULL: that of the row above */
};

/* Ends with a row without help. */
extern const struct key_row key_rows[];

enum action key_action(uint32_t key);
/* The row of an action, NULL when it has no key. */
const struct key_row *key_row_of(enum action action);

/* For the last line: the row's hint, or its help where it has none; "" for an action without a row.
 */
const char *key_hint(enum action action);
/* All of them, below their headings. */
void key_put_help(struct str *out);
/* For scripts: "keys<TAB>help", a line each. */
void key_put_rows(struct str *out);

#endif
