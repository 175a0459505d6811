/*
 * The sections of debug information of one file, and its units.
 *
 * Bytes come from wherever the caller has them (dwarf_sections.h reads them from
 * ELF files, tests make them); everything else in this folder works on this struct.
 */
#ifndef EBPROF_DWARF_FILE_H
#define EBPROF_DWARF_FILE_H

#include "format/base/vec.h"
#include "format/dwarf/dwarf_abbrev.h"
#include "format/dwarf/dwarf_cursor.h"

/* Each with its name behind the dot. */
#define DWARF_SECTIONS(X) \
	X(DWARF_INFO, "debug_info") \
	X(DWARF_ABBREV, "debug_abbrev") \
	X(DWARF_LINE, "debug_line") \
	X(DWARF_LINE_STR, "debug_line_str") \
	X(DWARF_STR, "debug_str") \
	X(DWARF_STR_OFFSETS, "debug_str_offsets") \
	X(DWARF_ADDR, "debug_addr") \
	X(DWARF_RANGES, "debug_ranges") \
	X(DWARF_RNGLISTS, "debug_rnglists") \
	X(DWARF_ARANGES, "debug_aranges") \
	X(DWARF_CU_INDEX, "debug_cu_index")

enum dwarf_section_id {
#define X(id, name) id,
	DWARF_SECTIONS(X)
#undef X
	DWARF_SECTION_COUNT,
};

/* Where the program's code stands, [start, end). */
struct dwarf_code {
	uint64_t start, end;
};

/*
 * A unit as its header tells (DWARF 5, 7.5.1). Offsets are in .debug_info, but for that of the
 * abbreviations.
 */
struct dwarf_unit_header {
	uint64_t offset, end;
	uint64_t first_die;
	uint64_t abbrev_offset;
	uint64_t dwo_id; /* DWARF 5; 0: none here */
	uint8_t type;    /* enum dwarf_ut */
	struct dwarf_encoding encoding;
};

struct dwarf_file {
	struct dwarf_span sections[DWARF_SECTION_COUNT];
	/* Ascending. Ranges that start elsewhere belong to code that the linker dropped. */
	VEC(struct dwarf_code) code;         /* empty: everything counts */
	VEC(struct dwarf_unit_header) units; /* ascending */
	const struct dwarf_file *alt;        /* what dwz moved out; NULL: not there */
};

/* Whether the first unit of .debug_info is one of types (DWARF 5, 7.5.1.3). */
bool dwarf_file_begins_with_types(const struct dwarf_file *file);

/* Finds the units. Those behind one with a broken header are lost: true when there was one. */
bool dwarf_file_read_units(struct dwarf_file *file);
void dwarf_file_deinit(struct dwarf_file *file);

/* The index of the unit that holds this byte of .debug_info, SIZE_MAX when none does. */
size_t dwarf_file_unit_at(const struct dwarf_file *file, uint64_t offset);

/* Whether code can start here. */
bool dwarf_file_is_code(const struct dwarf_file *file, uint64_t address);

#endif
