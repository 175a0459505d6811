/*
 * The little stack machine in which call frame information says where a value
 * of the caller is (DWARF 5, section 2.5). Programs come from files and values
 * from recordings: both are strangers', so steps and depth are bounded.
 */
#ifndef EBPROF_EXPRESSION_H
#define EBPROF_EXPRESSION_H

#include <stdint.h>

#include "format/base/bytes.h"
#include "report/load/unwind/thread_state.h"

/*
 * What an expression comes to, that cfi_expression() gave. It begins with `cfa` on its stack, which
 * is NULL while the CFA itself is computed. EVENT_END_COMPLETE and the value, or why there is none:
 * a register that is not known, memory that was not kept, an operation that has no place here.
 */
enum event_stack_end expression_evaluate(const struct thread_state *state, const uint64_t *cfa,
	struct bytes_cursor expression, uint64_t *value);

#endif
