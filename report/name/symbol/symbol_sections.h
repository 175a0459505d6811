/*
 * Function symbols from .symtab and .strtab as a debuginfod server gives them: the bytes alone,
 * without the section headers of the file they come from.
 */
#ifndef EBPROF_SYMBOL_SECTIONS_H
#define EBPROF_SYMBOL_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name/symbol/symbol_index.h"

/*
 * Adds what both files hold together to the index; false when nothing could be read. Symbols count
 * where they are functions by type: without headers it is not known what else stands in code.
 */
bool symbol_sections_read(
	const char *symtab_path, const char *strtab_path, struct symbol_index *index);

/* All of a regular file of at most `max` bytes, with a NUL behind; yours. NULL for anything else.
 */
uint8_t *symbol_sections_read_whole(const char *path, size_t max, size_t *len);

/* Whether a file holds a note with this build ID: how a server is checked that gives sections. */
bool symbol_sections_has_build_id(const char *note_path, const uint8_t *build_id, size_t len);

#endif
