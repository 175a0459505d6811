/* The files and lines of functions that BEAM has compiled. */
#ifndef EBPROF_ERLANG_LINES_H
#define EBPROF_ERLANG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "record/runtime/runtime_lines.h"

/*
 * Reads those of a function of a process, by what the BPF side sends: a struct erlang_function.
 * `ret` gets a struct runtime_inlined, whose places are offsets in the function's code, from its
 * code info on; each is of the function itself, which is there once for each file that it has lines
 * of. In a reader's worker. False: it cannot be read, or another module stands there by now.
 */
bool erlang_lines_read(
	void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret);
/* There is no line where the function could not be read. */
bool erlang_lines_next(const struct runtime_lines *lines, struct runtime_line_entry *entry);

#endif
