/*
 * Where the code of a line of a source file is: for breakpoints there.
 *
 * A compiler puts a line into several places, such as into each function that has it inlined, or
 * before a loop and at its end. Rows of line programs that begin a statement tell where they are;
 * of several in a row that are of the same line it is the first one, from which code runs into the
 * others.
 */
#ifndef EBPROF_DWARF_LINE_PLACES_H
#define EBPROF_DWARF_LINE_PLACES_H

#include "format/dwarf/dwarf_file.h"

struct dwarf_line_places {
	VEC(uint64_t) addresses; /* ascending, no two equal */
	/* Of the files that have this code; several: the wanted name is the end of all of them. */
	VEC(char *) paths;
	bool has_file;          /* there is a file of that name, */
	uint32_t before, after; /* ... and the nearest lines of it that have code; 0: none */
	char *nearest;          /* the most similar name of a file; NULL: none is like it */
};

/*
 * Finds the code of a line, counted from 1, of all files whose path ends with `name`, in whole
 * parts. All sections of the file must be there, and its units read.
 */
void dwarf_line_places_find(const struct dwarf_file *file, const char *name, uint32_t line,
	struct dwarf_line_places *ret);
void dwarf_line_places_deinit(struct dwarf_line_places *places);

#endif
