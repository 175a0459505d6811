/* From places in code of CRuby to lines. */
#ifndef EBPROF_RUBY_LINES_H
#define EBPROF_RUBY_LINES_H

#include <stdint.h>

#include "record/runtime/runtime.h"

/* The first line, where nothing better is known; 0: the table makes no sense. */
uint32_t ruby_line_of(const struct runtime_lines *lines, uint32_t place);

#endif
