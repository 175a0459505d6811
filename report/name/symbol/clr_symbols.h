/*
 * The functions of .NET's images that were compiled ahead of time, as symbols; of a program that is
 * a single file those of all images in it.
 */
#ifndef EBPROF_CLR_SYMBOLS_H
#define EBPROF_CLR_SYMBOLS_H

#include <stdbool.h>

#include "format/elf/elf_file.h"
#include "report/name/symbol/symbol_index.h"

/* Whether the file is itself an image that has such code. */
bool clr_symbols_are_in(struct elf_file *elf);
/* Adds them all; none where the file makes no sense. */
void clr_symbols_add(struct elf_file *elf, struct symbol_index *index);

#endif
