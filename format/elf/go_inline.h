/*
 * Which functions were inlined into a Go function, and where. At each
 * instruction a table gives the number of the innermost inlined call; a list
 * says of each call whom it called, and gives an instruction of the caller from
 * which the caller's line, and the call that it is part of itself, are read in
 * turn.
 *
 * Sources: runtime/symtab.go of Go 1.15 to 1.20, runtime/symtabinl.go of Go
 * 1.21 to 1.27 (inlinedCall, inlineUnwinder, funcdata); for 1.12 to 1.20 also
 * what public copies of them say.
 */
#ifndef EBPROF_GO_INLINE_H
#define EBPROF_GO_INLINE_H

#include "format/elf/go_pclntab.h"

struct go_inline;

/*
 * *ret is NULL where nothing tells of inlined calls: before Go 1.13, in a program without any, and
 * when the linker's record of where they are is not found. Borrows the table.
 */
struct err *go_inline_open(struct go_pclntab *table, struct go_inline **ret) ERR_MUST_CHECK;
void go_inline_destroy(struct go_inline *all);

/* The calls that were inlined into one function. */
struct go_inline_tree {
	uint32_t numbers; /* of calls by instruction, for go_values_start() */
	uint64_t calls;   /* where they are, a virtual address */
};

/* False when there are none. */
bool go_inline_tree(
	struct go_inline *all, const struct go_function *function, struct go_inline_tree *ret);

struct go_inlined {
	uint32_t name;       /* of the function called, for go_pclntab_name() */
	uint32_t start_line; /* of its source; 0: not known, as before 1.20 */
	uint32_t call;       /* bytes into the function: an instruction of the caller */
};

/* False when there is no such call. */
bool go_inline_call(struct go_inline *all, const struct go_inline_tree *tree, int32_t number,
	struct go_inlined *ret);

#endif
