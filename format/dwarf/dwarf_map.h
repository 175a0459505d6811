/*
 * Which unit an address belongs to.
 *
 * Four sources, each asked only for what the ones before left over:
 * .debug_aranges, which is a ready-made answer but never complete; the ranges of
 * the root DIEs of units that have no set there; those of all units; and the line
 * programs of units whose root has no ranges. Where several units claim an
 * address the first of them in the file has it.
 */
#ifndef EBPROF_DWARF_MAP_H
#define EBPROF_DWARF_MAP_H

#include "format/dwarf/dwarf_unit.h"

enum {
	DWARF_NO_UNIT = UINT32_MAX,
	DWARF_BOUNDARIES_MAX = 1 << 21,
};

/* units[i] becomes the index of the unit that holds addresses[i], or DWARF_NO_UNIT. Ascending
 * addresses. */
void dwarf_map_addresses(
	struct dwarf_reader *reader, const uint64_t *addresses, size_t count, uint32_t *units);

/* Addresses, ascending. */
struct dwarf_boundaries {
	VEC(uint64_t) list;
};

/*
 * All addresses where another unit may begin, or none: dwarf_map_addresses() says the same of any
 * two addresses that have none between them, nor at the second one. Adds to *ret, which is empty.
 * False when there are none, or too many.
 */
bool dwarf_map_boundaries(struct dwarf_reader *reader, struct dwarf_boundaries *ret);

#endif
