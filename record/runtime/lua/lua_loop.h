/* Where an interpreter's loop is that is not exported, by who calls whom. */
#ifndef EBPROF_LUA_LOOP_H
#define EBPROF_LUA_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

/*
 * The largest function that is called from `from`, directly or by a few others, if it is as large
 * as a loop and saves all registers that calls preserve: [*start, *end), virtual addresses.
 * ERR_IO or ERR_FORMAT when the file's call frame information cannot be read.
 */
struct err *lua_loop_find(struct elf_file *elf, uint64_t from, uint64_t *start, uint64_t *end,
	bool *is_found) ERR_MUST_CHECK;

/*
 * The function that is called from `from`, but not at its beginning: one piece of assembly with
 * many entries, as large as a loop. Errors as above.
 */
struct err *lua_loop_find_assembly(struct elf_file *elf, uint64_t from, uint64_t *start,
	uint64_t *end, bool *is_found) ERR_MUST_CHECK;

#endif
