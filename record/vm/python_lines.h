/* From places in code of CPython to lines. */
#ifndef EBPROF_PYTHON_LINES_H
#define EBPROF_PYTHON_LINES_H

#include <stdint.h>

#include "record/vm/runtime.h"

/* 0: the place has none, or the table makes no sense. */
uint32_t python_line_of(const struct vm_lines *lines, uint32_t place);

#endif
