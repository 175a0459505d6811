/*
 * The addresses of a DIE: [low_pc, high_pc), or a list in .debug_ranges
 * (DWARF 2-4, section 2.17.3) or .debug_rnglists (DWARF 5, 2.17.3).
 *
 * Linkers that drop a function leave its DIE and put 0, 1, -1 or -2 where its
 * address stood. Ranges that start outside of the file's code are therefore left out.
 */
#ifndef EBPROF_DWARF_RANGES_H
#define EBPROF_DWARF_RANGES_H

#include "format/dwarf/dwarf_unit.h"

struct dwarf_ranges {
	const struct dwarf_unit *unit;
	struct bytes_cursor list;
	uint64_t base;
	bool is_dead;       /* what counts from the base was dropped */
	uint64_t low, high; /* the only range, where there is no list */
	bool has_list, has_one;
};

/* What a walk captured of a DIE. False when it has no addresses at all. */
bool dwarf_ranges_start(struct dwarf_ranges *ranges, const struct dwarf_unit *unit,
	const struct dwarf_captured *captured);

/* Those of the root DIE. */
bool dwarf_ranges_of_root(struct dwarf_ranges *ranges, const struct dwarf_unit *unit);

/* The next range with start < end; false at the end. */
bool dwarf_ranges_next(struct dwarf_ranges *ranges, uint64_t *start, uint64_t *end);

#endif
