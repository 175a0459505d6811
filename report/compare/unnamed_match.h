/*
 * Functions that have bounds but no symbol, of two builds: their addresses say nothing, so they are
 * matched as renamed functions are (rename_match.h), by what they take of the program.
 */
#ifndef EBPROF_UNNAMED_MATCH_H
#define EBPROF_UNNAMED_MATCH_H

#include "report/compare/function_match.h"

enum {
	UNNAMED_ONE_BUILD = UINT32_MAX,
};

struct unnamed_side {
	const struct profile *profile;
	/* Equal numbers on both sides are one object; UNNAMED_ONE_BUILD: addresses match there. */
	const uint32_t *objects;
};

/*
 * other[side] becomes, for each function of that side, 1 + the one of the other side, 0: there is
 * none. NULL where there is none at all; else yours, to be freed with mem_free().
 */
void unnamed_match(const struct unnamed_side sides[MATCH_SIDES], uint32_t *other[MATCH_SIDES]);

#endif
