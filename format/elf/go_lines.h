/*
 * The files that the tables of a Go function number.
 *
 * Source: runtime/symtab.go (funcfile, cutab, filetab) of Go 1.15, 1.16 and
 * 1.18 to 1.27.
 */
#ifndef EBPROF_GO_LINES_H
#define EBPROF_GO_LINES_H

#include "format/elf/go_pclntab.h"

/*
 * What a value of function->file_table means: a number that is the file's own in the whole table,
 * for go_lines_path(). UINT32_MAX when there is no such file.
 */
uint32_t go_lines_file(struct go_pclntab *table, const struct go_function *function, int32_t value);

/* "/usr/lib/go/src/runtime/proc.go". Valid until the next call. "" when there is none. */
const char *go_lines_path(struct go_pclntab *table, uint32_t file);

#endif
