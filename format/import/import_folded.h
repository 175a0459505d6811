/*
 * Folded stacks, as Brendan Gregg's stackcollapse scripts write them and `convert --folded` does:
 *
 *   outermost;...;innermost COUNT
 *
 * Names are all that there is: no addresses, no times, no threads. The suffixes _[k], _[i] and _[j]
 * of a name say that it is the kernel's, inlined into the one before it, or compiled at run time.
 */
#ifndef EBPROF_IMPORT_FOLDED_H
#define EBPROF_IMPORT_FOLDED_H

#include <stdbool.h>
#include <stddef.h>

#include "format/import/import_file.h"
#include "format/import/import_output.h"

/* The first lines are folded stacks, all that are whole. */
bool import_folded_is(const uint8_t *head, size_t len);
struct err *import_folded_read(const struct import_file *file, struct import_output *output,
	struct import_result *result) ERR_MUST_CHECK;

#endif
