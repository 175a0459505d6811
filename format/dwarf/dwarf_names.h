/*
 * What DIEs of functions say: their names, where they are declared, and of
 * inlined ones where they are called.
 */
#ifndef EBPROF_DWARF_NAMES_H
#define EBPROF_DWARF_NAMES_H

#include "format/dwarf/dwarf_line.h"
#include "format/dwarf/dwarf_unit.h"

struct dwarf_function {
	struct dwarf_span
		name; /* as the linker knows it when that is given, else as in the source */
	bool is_linkage_name;
	const struct dwarf_unit *unit; /* whose files decl_file counts */
	uint64_t decl_file, decl_line; /* 0: unknown */
};

struct dwarf_call {
	uint64_t file, line, column; /* of the unit that the call stands in; 0: unknown */
	bool has_file;
	struct dwarf_die function; /* what was inlined: equal for all calls of one function */
};

/*
 * Follows abstract_origin and specification, in other units and in the
 * companion of dwz too. What is not known stays empty.
 */
void dwarf_read_function(
	struct dwarf_reader *reader, struct dwarf_die die, struct dwarf_function *ret);

void dwarf_read_call(struct dwarf_reader *reader, struct dwarf_die die, struct dwarf_call *ret);

/* The unit's line program, NULL when it has none. Kept by the unit. */
const struct dwarf_line_header *dwarf_unit_lines(struct dwarf_unit *unit);

#endif
