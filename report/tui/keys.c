#include "report/tui/keys.h"

#include "report/tui/input_event.h"

const struct key_row key_rows[] = {
	{{'k', INPUT_UP}, ACTION_UP, "k Up", NULL, "up", "Moving"},
	{{'j', INPUT_DOWN}, ACTION_DOWN, "j Down", NULL, "down", NULL},
	{{'h', INPUT_LEFT}, ACTION_LEFT, "h Left", NULL, "left; close a branch", NULL},
	{{'l', INPUT_RIGHT}, ACTION_RIGHT, "l Right", NULL, "right; open a branch", NULL},
	{{INPUT_CTRL('b'), INPUT_PAGE_UP}, ACTION_PAGE_UP, "^B PgUp", NULL, "a page up", NULL},
	{{INPUT_CTRL('f'), INPUT_PAGE_DOWN, ' '}, ACTION_PAGE_DOWN, "^F PgDn", NULL,
		"a page down; so does Space where nothing is recorded", NULL},
	{{INPUT_CTRL('u')}, ACTION_HALF_UP, "^U", NULL, "half a page up", NULL},
	{{INPUT_CTRL('d')}, ACTION_HALF_DOWN, "^D", NULL, "half a page down", NULL},
	{{'g', INPUT_HOME}, ACTION_FIRST, "g Home", NULL, "to the first", NULL},
	{{'G', INPUT_END}, ACTION_LAST, "G End", NULL, "to the last", NULL},

	{{'1'}, ACTION_VIEW_1, "1", NULL, "Top: the hottest functions", "Views"},
	{{'2'}, ACTION_VIEW_1 + 1, "2", "callers", "Butterfly: callers and callees of a function",
		NULL},
	{{'3'}, ACTION_VIEW_1 + 2, "3", NULL, "Tree: who calls what", NULL},
	{{'4'}, ACTION_VIEW_1 + 3, "4", NULL, "Flame: the tree as a flame graph", NULL},
	{{'5'}, ACTION_VIEW_1 + 4, "5", NULL, "Timeline: threads over time", NULL},
	{{'6'}, ACTION_VIEW_1 + 5, "6", NULL, "Processes, threads, containers", NULL},
	{{'7', 'a'}, ACTION_VIEW_1 + 6, "7 a", "source", "Source and assembly of the function",
		NULL},
	{{'8'}, ACTION_VIEW_1 + 7, "8", "tree, flame",
		"Diff: against a recording; again: its tree, its flames", NULL},
	{{'9'}, ACTION_VIEW_9, "9", NULL, "Symbols: where names came from, what is missing", NULL},
	{{INPUT_TAB}, ACTION_NEXT_VIEW, "Tab", "views", "the next view", NULL},
	{{INPUT_BACK_TAB}, ACTION_PREVIOUS_VIEW, "S-Tab", NULL, "the view before", NULL},

	{{INPUT_ENTER, '\r'}, ACTION_ENTER, "Enter", "zoom", "zoom in", "Zooms and filters"},
	{{INPUT_ESCAPE, INPUT_BACKSPACE}, ACTION_UNDO, "Esc Bksp", "back",
		"undo zoom, filter or search; else back to the view before", NULL},
	{{INPUT_CTRL('r')}, ACTION_REDO, "^R", "redo", "redo it", NULL},
	{{'R'}, ACTION_RESET, "R", "reset", "undo them all, and end the search", NULL},
	{{']'}, ACTION_NEXT_FUNCTION, "]", "next function",
		"the next of the hottest functions (Butterfly)", NULL},
	{{'['}, ACTION_PREVIOUS_FUNCTION, "[", NULL, "the one before", NULL},
	{{'\\'}, ACTION_KEEP, "\\", "filter",
		"only stacks matching what is typed (function, file, thread)", NULL},
	{{'!'}, ACTION_EXCLUDE, "!", "exclude", "exclude stacks matching what is typed", NULL},
	{{'t'}, ACTION_ONLY_THREAD, "t", "thread", "this thread only", NULL},
	{{0}, ACTION_ONLY_COMM, "(M)", NULL, "threads of this name only", NULL},
	{{0}, ACTION_ONLY_PROCESS, "(M)", NULL, "this process only", NULL},
	{{0}, ACTION_ONLY_CONTAINER, "(M)", NULL, "this container or cgroup only", NULL},
	{{'f'}, ACTION_ONLY_FUNCTION, "f", "function", "only stacks with this function", NULL},
	{{'x'}, ACTION_WITHOUT_FUNCTION, "x", "without it", "exclude stacks with this function",
		NULL},
	{{'d'}, ACTION_ONLY_OBJECT, "d", "file", "this file only", NULL},
	{{'K'}, ACTION_ONLY_KERNEL, "K", "kernel", "the kernel only", NULL},
	{{'v'}, ACTION_RANGE, "v", "range", "begin or end a range of time (Timeline)", NULL},

	{{'/'}, ACTION_SEARCH, "/", "search", "search: an expression, case matters with capitals",
		"Searching"},
	{{'n'}, ACTION_NEXT_MATCH, "n", "next", "the next match", NULL},
	{{'N'}, ACTION_PREVIOUS_MATCH, "N", "previous", "the match before", NULL},
	{{'&'}, ACTION_NARROW, "&", "narrow", "only stacks with what is searched for", NULL},
	{{'*'}, ACTION_SEARCH_SYMBOL, "*", "search it", "search for this function", NULL},

	{{'+'}, ACTION_EXPAND, "+", "open", "open a branch; zoom in on time", "Branches"},
	{{'-'}, ACTION_COLLAPSE, "-", "close", "close it; zoom out", NULL},
	{{'e'}, ACTION_TOGGLE, "e", "open", "open or close it; source, assembly or both", NULL},
	{{'E'}, ACTION_EXPAND_ALL, "E", "hot path", "open the hot path below", NULL},
	{{'A'}, ACTION_OPEN_ALL, "A", "open all", "open all", NULL},
	{{'C'}, ACTION_COLLAPSE_ALL, "C", "close all", "close all", NULL},
	{{'F'}, ACTION_FOLD, "F", "fold",
		"a chain of calls in one row: unfold it, or fold it again", NULL},
	{{'I'}, ACTION_INVERT, "I", "invert", "invert: from the leaves to their callers", NULL},

	{{'<'}, ACTION_SORT_LEFT, "<", "order", "order by the column on the left", "What is shown"},
	{{'>'}, ACTION_SORT_RIGHT, ">", "order", "order by the column on the right", NULL},
	{{'s'}, ACTION_SORT_REVERSE, "s", "reverse", "reverse the order", NULL},
	{{'m'}, ACTION_EVENT, "m", "event", "the next event that was recorded, and its unit", NULL},
	{{'b'}, ACTION_GROUP, "b", "group by", "group by process, thread, container, file, event",
		NULL},
	{{'%'}, ACTION_UNIT, "%", "unit", "percent, values or samples", NULL},
	{{'i'}, ACTION_INFO, "i", "info", "about the recording", NULL},
	{{'o'}, ACTION_OPTIONS, "o", "options",
		"inlined functions, templates, paths; syntax of assembly", NULL},
	{{'S'}, ACTION_NO_NATIVE, "S", "no native",
		"hide native frames below those of scripts, or show them", NULL},
	{{'H'}, ACTION_NO_KERNEL, "H", "no kernel",
		"hide the kernel's frames, which count for their callers", NULL},
	{{'W'}, ACTION_WAITS, "W", "waits",
		"the longest waits of what is shown; Enter shows only those", NULL},
	{{'Z'}, ACTION_WAKERS, "Z", "wakers", "who ended the waits of what is selected", NULL},
	{{'w'}, ACTION_WHOLE_NAME, "w", "name", "the whole name of what is selected", NULL},
	{{'y'}, ACTION_COPY, "y", "copy", "copy the name: it is sent to the terminal (OSC 52)",
		NULL},
	{{'P'}, ACTION_PRINT, "P", "write", "write this view to a file", NULL},
	{{'D'}, ACTION_BASELINE, "D", "compare", "load an earlier recording to compare with", NULL},
	{{'X'}, ACTION_SWAP, "X", "swap", "swap what is \"before\" and what is \"new\" (Diff)",
		NULL},
	{{'r'}, ACTION_RETRY, "r", "look again", "look again for this file's symbols (Symbols)",
		NULL},

	{{0}, ACTION_PAUSE, "Space", "pause", "pause, and go on",
		"While it is recorded (ebprof top)"},
	{{'O'}, ACTION_SAVE, "O", "save", "write what was recorded, and is seen, to a file", NULL},

	{{'M'}, ACTION_MENU, "M", "menu", "menu (also the right button)", "And"},
	{{':'}, ACTION_COMMANDS, ":", "commands", "find a command by what it does", NULL},
	{{'?', INPUT_F1}, ACTION_HELP, "? F1", "help", "this help", NULL},
	{{INPUT_CTRL('l')}, ACTION_REDRAW, "^L", NULL, "draw the screen again", NULL},
	{{INPUT_CTRL('c')}, ACTION_CANCEL, "^C", NULL, "stop what is being computed; else: quit",
		NULL},
	{{'q'}, ACTION_QUIT, "q", "quit", "quit", NULL},
	{{0}, ACTION_NONE, NULL, NULL, NULL, NULL},
};

enum action key_action(uint32_t key)
{
	for (const struct key_row *row = key_rows; row->help; row++)
		for (size_t i = 0; i < sizeof(row->keys) / sizeof(*row->keys) && row->keys[i]; i++)
			if (row->keys[i] == key)
				return row->action;
	return ACTION_NONE;
}

const struct key_row *key_row_of(enum action action)
{
	for (const struct key_row *row = key_rows; row->help; row++)
		if (row->action == action)
			return row;
	return NULL;
}

const char *key_hint(enum action action)
{
	const struct key_row *row = key_row_of(action);
	return !row ? "" : row->hint ? row->hint : row->help;
}

void key_put_help(struct str *out)
{
	for (const struct key_row *row = key_rows; row->help; row++) {
		if (row->group)
			str_printf(out, "%s%s\n", out->len ? "\n" : "", row->group);
		str_printf(out, "  %-10s %s\n", row->shown, row->help);
	}
}

void key_put_rows(struct str *out)
{
	for (const struct key_row *row = key_rows; row->help; row++)
		str_printf(out, "%s\t%s\n", row->shown, row->help);
}
