/* Finding an action by a few letters of what it does. */
#ifndef EBPROF_COMMAND_PALETTE_H
#define EBPROF_COMMAND_PALETTE_H

#include <stddef.h>

#include "report/tui/keys.h"

enum {
	COMMAND_PALETTE_MAX = 128,
};

/*
 * The actions whose key or help holds the letters that are typed, in their order, with any others
 * in between and in either case; the best match first: where they begin a word, then where they
 * stand side by side. All, as the keys' table has them, for "".
 */
size_t command_palette_find(const char *typed, enum action ret[COMMAND_PALETTE_MAX]);

#endif
