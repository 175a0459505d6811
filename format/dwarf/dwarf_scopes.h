/*
 * Names of C++ that no linker knows: what stands in an anonymous namespace, is static, or belongs
 * to a local class or a lambda has no linkage name from GCC, only "step" where the source says
 * app::(anonymous namespace)::Cursor::step. Its scopes are the DIEs around it, to which no
 * reference leads: they are found from the unit's root on, level by level.
 *
 * DW_AT_sibling makes that cheap. Where a compiler writes none (clang), all functions with a scope
 * have a linkage name, so nothing is looked for there.
 */
#ifndef EBPROF_DWARF_SCOPES_H
#define EBPROF_DWARF_SCOPES_H

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/dwarf/dwarf_unit.h"

/* What is known of the scopes of units; {0} is empty. */
struct dwarf_scopes {
	struct map units; /* struct dwarf_unit * -> struct dwarf_scope_unit * */
};

/*
 * Writes the scopes that a DIE stands in, each with "::" behind it; nothing where there are none
 * or the unit's language has no such names, and once the reader has gone over a million DIEs
 * more than its file has bytes. Remembers what it finds until dwarf_scopes_deinit(), which must
 * come before the reader forgets its units.
 */
void dwarf_scopes_put(struct dwarf_scopes *scopes, struct dwarf_reader *reader,
	struct dwarf_die die, struct str *out);

/* The innermost of them; without a unit: there is none, or it is not known. */
struct dwarf_die dwarf_scopes_innermost(
	struct dwarf_scopes *scopes, struct dwarf_reader *reader, struct dwarf_die die);

void dwarf_scopes_deinit(struct dwarf_scopes *scopes);

#endif
