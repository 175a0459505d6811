/*
 * MiniDebugInfo: .gnu_debugdata holds an ELF file, packed by xz, with those function symbols of
 * a stripped file that its .dynsym lacks.
 *
 * Source: GDB manual, "Debugging information in a special section".
 */
#ifndef EBPROF_MINIDEBUG_H
#define EBPROF_MINIDEBUG_H

#include <stdbool.h>

#include "format/elf/elf_symbols.h"

/* False when there is none, or nothing that could be unpacked. {0}-initialised *ret is replaced. */
bool minidebug_read(struct elf_file *elf, struct elf_symbols *ret);

#endif
