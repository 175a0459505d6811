/*
 * Where anything that is known of code may change: a set of addresses within some ranges, a bit
 * for each byte of code, so that adding one costs next to nothing however often it comes and they
 * come out ascending.
 *
 * Units put in the start and the end of what every function and every inlined call says it holds,
 * and each row of their line programs. For two addresses without a mark between them, nor at the
 * second one, a walk finds the same function and a line program the same row.
 */
#ifndef EBPROF_DWARF_MARKS_H
#define EBPROF_DWARF_MARKS_H

#include "format/dwarf/dwarf_unit.h"

struct dwarf_marks {
	/* private: */
	VEC(struct dwarf_marked_range) ranges; /* ascending, apart from each other */
	VEC(uint64_t) words;
	size_t last; /* the range that was hit last */
};

/* Forgets all, and counts within `count` ascending ranges from now on, of whose bytes there must
 * be less than 2^32. The start of each is marked. */
void dwarf_marks_reset(struct dwarf_marks *marks, const struct dwarf_code *ranges, size_t count);
void dwarf_marks_put(struct dwarf_marks *marks, uint64_t address);

/* False when the unit cannot be read to its end. `unit` is the reader's own. */
bool dwarf_marks_put_unit(struct dwarf_marks *marks, struct dwarf_unit *unit);

/* The first mark at or behind `*cursor`, which is moved behind it; start with 0. False at the end.
 */
bool dwarf_marks_next(const struct dwarf_marks *marks, uint64_t *cursor, uint64_t *ret);

void dwarf_marks_deinit(struct dwarf_marks *marks);

#endif
