/*
 * Where the functions of a file begin and end that have no symbols:
 *
 * 1. By its call frame information: each FDE of .eh_frame covers one function, or a part of one
 * that the compiler put elsewhere (foo.cold), and compilers write them for all code, stripped or
 * not. A part stays a function of its own: nothing in an FDE says which one it belongs to.
 * 2. Code between these and the symbols there are, as of assembly without call frame information,
 *    is read: machine.h's find_functions().
 */
#ifndef EBPROF_FUNCTION_BOUNDS_H
#define EBPROF_FUNCTION_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"

struct function_bounds;

/* [start, end), virtual addresses. */
struct function_extent {
	uint64_t start, end;
	bool is_guessed; /* by the code */
};

/* Of a file with code, borrowed; damage in it costs the functions behind it. Never NULL. */
struct function_bounds *function_bounds_create(struct elf_file *elf);
void function_bounds_destroy(struct function_bounds *bounds);

/*
 * The function that holds `address`, the innermost where they overlap; false: none is known. May
 * read code, which is kept.
 */
bool function_bounds_find(
	struct function_bounds *bounds, uint64_t address, struct function_extent *ret);

#endif
