/*
 * Line number programs, versions 2 to 5: their headers and their tables of files.
 * What runs them is in dwarf_line_machine.h.
 *
 * Source: DWARF 5, 6.2.4; DWARF 4, 6.2.4.
 */
#ifndef EBPROF_DWARF_LINE_H
#define EBPROF_DWARF_LINE_H

#include "format/dwarf/dwarf_file.h"

struct dwarf_line_file {
	struct dwarf_span name;
	uint64_t directory;
};

struct dwarf_line_header {
	struct dwarf_encoding encoding;
	uint8_t min_instruction_bytes, max_operations;
	bool begins_statements; /* rows do, until an opcode says otherwise */
	int8_t line_base;
	uint8_t line_range, opcode_base;
	uint8_t operands[256];              /* by standard opcode: how many LEB128s follow it */
	VEC(struct dwarf_span) directories; /* before DWARF 5 without that of the compilation */
	VEC(struct dwarf_line_file) files;  /* before DWARF 5 number 1 is the first */
	struct bytes_cursor program;
};

/* NULL when there is none at this offset of .debug_line that can be read. */
struct dwarf_line_header *dwarf_line_header_create(
	const struct dwarf_file *file, uint64_t offset, uint8_t address_bytes);
void dwarf_line_header_destroy(struct dwarf_line_header *header);

/*
 * The path of a file by its number, put together from the compilation's
 * directory, the file's and the file's own name, as far as they are relative.
 * False when there is no such file. `path` is a struct str to append to.
 */
struct str;
bool dwarf_line_put_path(const struct dwarf_line_header *header, struct dwarf_span comp_dir,
	uint64_t number, struct str *path);

#endif
