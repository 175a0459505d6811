/* From places in code of CPython to lines. */
#ifndef EBPROF_PYTHON_LINES_H
#define EBPROF_PYTHON_LINES_H

#include <stdbool.h>

#include "record/runtime/runtime_lines.h"

/* Fits runtime_next_line_fn. */
bool python_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry);

#endif
