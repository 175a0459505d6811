/*
 * The sections of debug information of an ELF file in memory: mapped where they
 * are plain (see elf_map.h for what happens when another process cuts the file short),
 * unpacked where they are compressed.
 */
#ifndef EBPROF_DWARF_SECTIONS_H
#define EBPROF_DWARF_SECTIONS_H

#include "format/dwarf/dwarf_file.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_map.h"

struct dwarf_sections {
	struct elf_file *elf;      /* borrowed */
	struct elf_budget *budget; /* borrowed; NULL: no limit */
	struct dwarf_file file;
	struct elf_map maps[DWARF_SECTION_COUNT];
	struct elf_section packed[DWARF_SECTION_COUNT]; /* size 0: not, or not any more */
};

/*
 * Maps what is plain and remembers what is not. `is_dwo`: the sections called
 * .dwo, of split DWARF. What is unpacked counts to the budget, which may be NULL. False when there
 * is no .debug_info; *ret needs no deinit then.
 */
bool dwarf_sections_open(
	struct elf_file *elf, bool is_dwo, struct elf_budget *budget, struct dwarf_sections *ret);

/*
 * Unpacks one section if it is packed; for different sections on any threads at
 * once. What cannot be unpacked is empty.
 */
void dwarf_sections_unpack(struct dwarf_sections *sections, enum dwarf_section_id id);

void dwarf_sections_deinit(struct dwarf_sections *sections);

#endif
