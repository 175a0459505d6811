/*
 * The machine of line number programs, versions 2 to 5.
 *
 * A program writes a table of (address, file, line) with a row for every few
 * bytes of code. The table is never built: the machine runs once over the unit's
 * sorted addresses, and each of them keeps the row that was last when the machine's
 * address passed it. Between two addresses of interest a row costs a few additions and
 * a comparison, in a loop of its own for the opcodes that compilers use.
 *
 * Source: DWARF 5, 6.2; DWARF 4, 6.2.
 */
#ifndef EBPROF_DWARF_LINE_MACHINE_H
#define EBPROF_DWARF_LINE_MACHINE_H

#include "format/dwarf/dwarf_line.h"

struct dwarf_row {
	uint32_t file, line, column;
	bool is_known;
	bool is_statement; /* where a breakpoint fits; of dwarf_line_visit() only */
};

/*
 * Fills rows[i] for those of the ascending addresses[i] that a sequence of the
 * program holds; the others stay as they are. A broken program does what stands before the damage.
 */
void dwarf_line_run(const struct dwarf_line_header *header, const struct dwarf_file *file,
	const uint64_t *addresses, size_t count, struct dwarf_row *rows);

/*
 * Visits every row and, with NULL for it, the end of every sequence, as they come: what
 * dwarf_line_run() says of an address can only change there.
 */
typedef void dwarf_line_visit_fn(void *context, uint64_t address, const struct dwarf_row *row);
void dwarf_line_visit(
	const struct dwarf_line_header *header, dwarf_line_visit_fn *visit, void *context);

#endif
