/* Inside of rust_v0.h: constants among generic arguments. */
#ifndef EBPROF_RUST_V0_CONST_H
#define EBPROF_RUST_V0_CONST_H

#include "report/name/demangle/rust_v0_reader.h"

/* const; what is no literal stands in braces, unless it is in an expression already. */
void rust_v0_const(struct rust_v0 *v0, bool in_expression);

#endif
