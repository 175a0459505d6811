#include "report/tui/command_palette.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum palette_rank { /* the best is the lowest */
	RANK_KEY,   /* it is the very key */
	RANK_WORD,
	RANK_INSIDE,
	RANK_LETTERS,
	RANK_NONE,
};

/* What others call it. */
static const struct synonym_row {
	enum action action;
	const char *words;
} synonyms[] = {
	{ACTION_EXPAND, "expand"},
	{ACTION_OPEN_ALL, "expand all branches"},
	{ACTION_COLLAPSE, "collapse"},
	{ACTION_COLLAPSE_ALL, "collapse all branches"},
	{ACTION_INVERT, "bottom-up, caller tree, turn over"},
	{ACTION_EVENT, "events: cpu, off-cpu, wall, heap"},
	{ACTION_NO_KERNEL, "without the kernel"},
	{ACTION_ONLY_OBJECT, "library, binary, module"},
	{ACTION_KEEP, "filter, include, keep, focus"},
	{ACTION_EXCLUDE, "filter out, hide, without, ignore"},
	{ACTION_SORT_RIGHT, "sort, total, cumulative"},
	{ACTION_SORT_REVERSE, "sort, descending, ascending"},
	{ACTION_BASELINE, "diff, baseline, before"},
	{ACTION_SWAP, "exchange, turn round, other way round, before after"},
	{ACTION_PRINT, "save, export, print, dump, svg, picture"},
	{ACTION_UNIT, "milliseconds, seconds, percentage"},
	{ACTION_VIEW_1 + 1, "peek, sandwich"},
	{ACTION_VIEW_1 + 6, "annotate, disassembly, list, lines"},
	{ACTION_VIEW_1 + 3, "icicle"},
	{ACTION_VIEW_1 + 4, "heat map, time line"},
	{ACTION_OPTIONS, "settings, preferences"},
	{ACTION_INFO, "header, host, lost samples"},
	{ACTION_WAITS, "latency, off-cpu, blocked"},
	{ACTION_UNDO, "clear, remove a filter, zoom out"},
	{ACTION_QUIT, "exit, leave, q!, wq"},
	{ACTION_NONE, NULL},
};

static const char *synonyms_of(enum action action)
{
	const struct synonym_row *row = synonyms;
	while (row->words && row->action != action)
		row++;
	return row->words;
}

static bool stands_at(const char *text, const char *typed)
{
	for (; *typed; text++, typed++)
		if (tolower((unsigned char)*text) != tolower((unsigned char)*typed))
			return false;
	return true;
}

static enum palette_rank rank_side_by_side(const char *text, const char *typed)
{
	enum palette_rank best = RANK_NONE;
	for (const char *at = text; *at; at++) {
		if (!stands_at(at, typed))
			continue;
		if (at == text || !isalnum((unsigned char)at[-1]))
			return RANK_WORD;
		best = RANK_INSIDE;
	}
	return best;
}

static bool has_letters(const char *text, const char *typed)
{
	for (; *typed && *text; text++)
		typed += tolower((unsigned char)*text) == tolower((unsigned char)*typed) ||
			 *typed == ' ';
	return !*typed;
}

static enum palette_rank rank_of(const struct key_row *row, const char *typed)
{
	size_t len = strlen(typed);
	if (len && strncmp(row->shown, typed, len) == 0 && strchr(" ", row->shown[len]))
		return RANK_KEY;
	enum palette_rank rank = rank_side_by_side(row->help, typed);
	if (rank == RANK_NONE && row->hint)
		rank = rank_side_by_side(row->hint, typed);
	const char *words = synonyms_of(row->action);
	if (rank == RANK_NONE && words)
		rank = rank_side_by_side(words, typed);
	return rank == RANK_NONE && has_letters(row->help, typed) ? RANK_LETTERS : rank;
}

size_t command_palette_find(const char *typed, enum action ret[COMMAND_PALETTE_MAX])
{
	size_t count = 0;
	for (int rank = RANK_KEY; rank < RANK_NONE; rank++)
		for (const struct key_row *row = key_rows; row->help; row++) {
			bool is_seen = *typed ? (int)rank_of(row, typed) == rank : rank == RANK_KEY;
			if (is_seen && row->action != ACTION_COMMANDS &&
				count < COMMAND_PALETTE_MAX)
				ret[count++] = row->action;
		}
	return count;
}
