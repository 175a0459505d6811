/* The function in which dirty schedulers run what takes long, in files that do not show it. */
#ifndef EBPROF_ERLANG_DIRTY_H
#define EBPROF_ERLANG_DIRTY_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

/* *start 0: it is not found; else the function is [*start, *end), virtual addresses. ERR_IO or
 * ERR_FORMAT when the file cannot be read. */
struct err *erlang_dirty_find(struct elf_file *elf, uint64_t *start, uint64_t *end) ERR_MUST_CHECK;

#endif
