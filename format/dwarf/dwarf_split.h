/*
 * Debug information that stands in other files: split DWARF in .dwo files and
 * packages of them (.dwp), and what dwz moved into a file that several share.
 *
 * Source: DWARF 5, 7.3.2 (split units), 7.3.5 (packages); for GNU's split
 * DWARF 4 gcc.gnu.org/wiki/DebugFission and DebugFissionDWP.
 */
#ifndef EBPROF_DWARF_SPLIT_H
#define EBPROF_DWARF_SPLIT_H

#include "format/dwarf/dwarf_unit.h"
#include "format/elf/elf_file.h"

/*
 * The contributions of one unit to a package, as a file of its own that borrows
 * from it; its units are yours. False when the package has no such unit.
 */
bool dwarf_split_take(const struct dwarf_file *package, uint64_t dwo_id, struct dwarf_file *ret);

/*
 * The unit of a .dwo (or of dwarf_split_take()'s result) that belongs to a
 * skeleton, completed with what only the skeleton says. NULL when it is not there or another
 * build's. `reader` is for this file alone.
 */
struct dwarf_unit *dwarf_split_unit(struct dwarf_reader *reader, const struct dwarf_unit *skeleton);

/*
 * What .gnu_debugaltlink or .debug_sup says about dwz's file: its name, which is
 * NUL-terminated and yours, and its build ID. False when there is none.
 */
bool dwarf_split_alt_link(
	struct elf_file *elf, char **name, uint8_t build_id[ELF_BUILD_ID_MAX], size_t *len);

#endif
