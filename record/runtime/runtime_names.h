/* Runtimes by the names that users give them. */
#ifndef EBPROF_RUNTIME_NAMES_H
#define EBPROF_RUNTIME_NAMES_H

#include <stdint.h>

#include "bpf/runtime/runtime_row.h" /* RUNTIMES */
#include "format/base/err.h"

/* Adds a bit for each name of a list like "python,ruby", or for "all". ERR_USAGE: no such name. */
struct err *runtime_names_parse(const char *text, uint32_t *kinds) ERR_MUST_CHECK;

#endif
