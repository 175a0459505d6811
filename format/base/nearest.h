/* The known word that is nearest to a mistyped one, maybe with "=VALUE": for "did you mean". */
#ifndef EBPROF_NEAREST_H
#define EBPROF_NEAREST_H

#include <stddef.h>

struct nearest {
	const char *wanted;
	const char *word; /* the nearest of those that were offered; NULL: none is like it */
	size_t distance;
};

struct nearest nearest_to(const char *wanted);
/*
 * Offers a word. It is like the wanted one where at most a third of its letters were mistyped: one
 * more, one less, another, or two swapped. Of equals the first stays.
 */
void nearest_offer(struct nearest *nearest, const char *word);

#endif
