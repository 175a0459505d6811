/*
 * Line number programs, versions 2 to 5.
 *
 * A program is a machine that writes a table of (address, file, line) with a row
 * for every few bytes of code. The table is never built: the machine runs once
 * over the unit's sorted addresses, and each of them keeps the row that was last
 * when the machine's address passed it. Between two addresses of interest a row
 * costs a few additions and a comparison.
 *
 * Source: DWARF 5, 6.2; DWARF 4, 6.2.
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

struct dwarf_row {
	uint32_t file, line, column;
	bool is_known;
};

/*
 * Fills rows[i] for those of the ascending addresses[i] that a sequence of the
 * program holds; the others stay as they are. A broken program does what stands before the damage.
 */
void dwarf_line_run(const struct dwarf_line_header *header, const struct dwarf_file *file,
	const uint64_t *addresses, size_t count, struct dwarf_row *rows);

/*
 * The path of a file by its number, put together from the compilation's
 * directory, the file's and the file's own name, as far as they are relative.
 * False when there is no such file. `path` is a struct str to append to.
 */
struct str;
bool dwarf_line_put_path(const struct dwarf_line_header *header, struct dwarf_span comp_dir,
	uint64_t number, struct str *path);

#endif
