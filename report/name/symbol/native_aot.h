/*
 * What .NET's NativeAOT has compiled: names as people wrote them, by those of the linker. That has
 * letters, digits and "_" alone: "S_P_CoreLib_System_Array__Sort_13<Int32>" is the assembly, the
 * type, and the method, of which several are called so. An underscore may have been any other
 * character; it is taken for the dot that it mostly was.
 *
 * Sources: src/coreclr/tools/aot/ILCompiler.Compiler/Compiler/NativeAotNameMangler.cs of .NET 8 and
 * 9; seen in programs of 8.0.34 and 9.0.23.
 */
#ifndef EBPROF_NATIVE_AOT_H
#define EBPROF_NATIVE_AOT_H

#include <stdbool.h>

#include "format/base/str.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_symbols.h"
#include "report/name/symbol/symbol_index.h"

/* Appends the readable name; `program`: the assembly that the program is called by, or NULL. False:
 * it is no name of a method, nothing is appended. */
bool native_aot_put_name(const char *name, const char *program, struct str *out);

/* Adds the symbols of managed code by their readable names; to be added ahead of the file's own.
 * `path`: of the file, which is called as the program's assembly mostly. */
void native_aot_add(struct elf_file *elf, const struct elf_symbols *symbols, const char *path,
	struct symbol_index *index);

#endif
