/*
 * Lines from .debug_line and the sections of its names alone, as a debuginfod server gives them: a
 * twentieth of a debug file. Without .debug_info it is not known which functions were
 * inlined (a line is then that of the innermost one), nor, before DWARF 5, in which folder a file
 * was compiled.
 */
#ifndef EBPROF_LINE_SECTIONS_H
#define EBPROF_LINE_SECTIONS_H

#include "format/dwarf/dwarf_file.h"
#include "format/file/chain.h"

struct line_sections;

enum {
	LINE_SECTIONS_COUNT = 3,
};

/*
 * Paths of .debug_line, .debug_line_str and .debug_str; the latter two may be NULL. Compressed ones
 * are unpacked. NULL when there is nothing to be read.
 */
struct line_sections *line_sections_open(const char *const paths[LINE_SECTIONS_COUNT]);

/* Code stands in [start, end), in ascending order; what is elsewhere the linker dropped. */
void line_sections_add_code(struct line_sections *lines, uint64_t start, uint64_t end);

/* As dwarf_resolver_run(): chains of one frame without a function. */
void line_sections_run(
	struct line_sections *lines, const uint64_t *addresses, size_t count, struct chain *chains);

void line_sections_destroy(struct line_sections *lines);

#endif
