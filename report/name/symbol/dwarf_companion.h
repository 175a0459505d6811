/*
 * The files that a debug file needs beside it: .dwo and .dwp of split DWARF,
 * and what dwz moved out. Opened, checked, read into memory or mapped, closed.
 */
#ifndef EBPROF_DWARF_COMPANION_H
#define EBPROF_DWARF_COMPANION_H

#include "format/dwarf/dwarf_sections.h"
#include "format/dwarf/dwarf_split.h"

struct regular_file_rules;

/* Where they are looked for. */
struct dwarf_places {
	const char *path;                       /* of the debug file */
	const char *root;                       /* absolute paths count from here; "" for / */
	const struct regular_file_rules *rules; /* of how they are opened, or NULL */
	const char *alt_path;                   /* of dwz's file, where it was found; else NULL */
	struct elf_budget *budget;              /* for what is unpacked of them */
};

struct dwarf_companion {
	struct dwarf_sections sections;
	bool is_open;
};

/*
 * dwz's file: at places->alt_path, or where the debug file says that it is. False when it is
 * needed and could not be had.
 */
bool dwarf_companion_open_alt(
	struct dwarf_companion *companion, struct elf_file *elf, const struct dwarf_places *places);

/* PATH.dwp */
void dwarf_companion_open_package(
	struct dwarf_companion *companion, const struct dwarf_places *places);

/* The .dwo that a skeleton names; whether it is that of this build is for the caller to see. */
void dwarf_companion_open_dwo(struct dwarf_companion *companion, const struct dwarf_unit *skeleton,
	const struct dwarf_places *places);

void dwarf_companion_close(struct dwarf_companion *companion);

#endif
