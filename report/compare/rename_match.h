/*
 * Functions that got another name: one that only the base has and one that only the new side has,
 * of one object, which take as much of the program by self and by total time, and no other one
 * does; or, of two objects, have one name, which no other one has: it moved there.
 */
#ifndef EBPROF_RENAME_MATCH_H
#define EBPROF_RENAME_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "report/compare/function_match.h"

struct rename_candidate {
	uint32_t function;  /* the caller's number of it */
	uint32_t object;    /* the same number on both sides: of one object */
	const char *name;   /* borrowed; NULL: it cannot have moved */
	double self, total; /* shares of its side */
	/* Set by the match: */
	size_t nr_alike; /* on the other side */
	uint32_t alike;  /* the last of those, by its place in the list */
};

/* What only one side has, has a name, and takes so much that this is no accident. */
struct rename_candidates {
	struct rename_candidate *data;
	size_t len, cap;
};

/*
 * For each of `nr_functions` 0, or, where it is one of the base's that got another name, 1 + the
 * new side's. Returns how many of those there are.
 */
size_t rename_match(
	struct rename_candidates sides[MATCH_SIDES], uint32_t *new_of, size_t nr_functions);

#endif
