/*
 * One pass over the DIEs of a unit: which functions, inlined ones included,
 * hold which addresses.
 *
 * Nothing is decoded that is not needed for that. Types, declarations, abstract
 * functions and inlined calls without an address of interest are jumped over by
 * DW_AT_sibling, or skipped DIE by DIE where the compiler writes none (clang).
 * Names are for later: see dwarf_names.h.
 */
#ifndef EBPROF_DWARF_WALK_H
#define EBPROF_DWARF_WALK_H

#include "format/dwarf/dwarf_unit.h"

/* A function, or a call that was inlined into its parent. Number 0 is none. */
struct dwarf_node {
	uint64_t die; /* offset in .debug_info */
	uint32_t parent;
};

struct dwarf_walk {
	VEC(struct dwarf_node) nodes;
	bool is_damaged; /* some unit could not be read to its end */
};

/* nodes[i] becomes the innermost node that holds addresses[i], 0 for none. Ascending addresses. */
void dwarf_walk_unit(struct dwarf_walk *walk, const struct dwarf_unit *unit,
	const uint64_t *addresses, size_t count, uint32_t *nodes);
void dwarf_walk_deinit(struct dwarf_walk *walk);

#endif
