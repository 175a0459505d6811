/* From places in code of CPython to lines. */
#ifndef EBPROF_PYTHON_LINES_H
#define EBPROF_PYTHON_LINES_H

#include <stdbool.h>

#include "record/runtime/runtime_lines.h"

/* Fits vm_next_line_fn. */
bool python_next_line(const struct vm_lines *lines, struct vm_line_entry *entry);

#endif
