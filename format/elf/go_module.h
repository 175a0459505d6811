/*
 * The linker's record of a Go program (runtime/symtab.go, moduledata): where
 * its code, its tables and its data are. Nothing points at it in a stripped
 * file, but it begins with a pointer to the table of functions.
 */
#ifndef EBPROF_GO_MODULE_H
#define EBPROF_GO_MODULE_H

#include <stdbool.h>

#include "format/elf/go_table.h"

enum {
	GO_MODULE_WORDS = 48,
	GO_MODULE_TEXT = 22, /* the number of the word that holds the address of the code */
};

/* Its beginning, as it is when the program was loaded where its file says. */
struct go_module {
	uint64_t words[GO_MODULE_WORDS];
};

/* Of a table since Go 1.18. False when there is none. */
struct err *go_module_find(
	const struct go_pclntab *table, struct go_module *ret, bool *found) ERR_MUST_CHECK;

#endif
