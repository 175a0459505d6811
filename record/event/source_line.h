/* Lines of source files as places in a program's file, by its debug information. */
#ifndef EBPROF_SOURCE_LINE_H
#define EBPROF_SOURCE_LINE_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"

struct source_line {
	VEC(uint64_t) addresses; /* of its code; one at the least, no two equal */
};

/*
 * Finds the code of FILE:LINE, by debug information in the program's file itself or in the debug
 * file that has its build ID in /usr/lib/debug. `path` is what messages call the program. FILE is
 * the end of a path as the compiler noted it. ERR_USAGE: there is no such code, or of several
 * files; the message says what there is.
 */
struct err *source_line_find(struct elf_file *elf, const char *path, const char *file,
	uint32_t line, struct source_line *ret) ERR_MUST_CHECK;
void source_line_deinit(struct source_line *line);

#endif
