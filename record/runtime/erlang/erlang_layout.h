/* Where BEAM keeps what its frames and names are found by, in a process that runs it. */
#ifndef EBPROF_ERLANG_LAYOUT_H
#define EBPROF_ERLANG_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"

/*
 * Completes a row, a struct erlang_row, by the memory of a process; see struct runtime. False: it
 * cannot be read, or there is no such thing there, or not yet.
 */
bool erlang_layout_complete(uint32_t pid, uint64_t delta, struct runtime_row *row);

#endif
