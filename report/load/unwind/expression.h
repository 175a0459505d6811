/*
 * The little stack machine in which call frame information says where a value
 * of the caller is (DWARF 5, section 2.5). Programs come from files and values
 * from recordings: both are strangers', so steps and depth are bounded.
 */
#ifndef EBPROF_EXPRESSION_H
#define EBPROF_EXPRESSION_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "format/file/layout.h"
#include "report/load/unwind/thread_state.h"

/*
 * Evaluates what dwarf_frame_cfa() and dwarf_frame_register() give. `cfa` is NULL while the CFA
 * itself is computed. LAYOUT_COMPLETE and the value, or why there is none: a register that is not
 * known, memory that was not kept, an operation that has no place here.
 */
enum layout_truncation expression_evaluate(const struct thread_state *state, const uint64_t *cfa,
	const Dwarf_Op *ops, size_t count, uint64_t *value);

#endif
