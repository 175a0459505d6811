/*
 * The relative relocations of a position-independent file: pointers that the
 * loader fills in, and which may be 0 in the file until then.
 *
 * Source: System V ABI, AMD64 and AArch64 supplements, "Relocation".
 */
#ifndef EBPROF_ELF_RELOCATIONS_H
#define EBPROF_ELF_RELOCATIONS_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

/* At the virtual address `place` the loader puts `addend`, plus where it loaded the file. */
typedef void elf_on_relative(void *context, uint64_t place, uint64_t addend);

/* Of all SHT_RELA sections in their order, as far as they have 128 MiB. */
struct err *elf_relocations_walk(
	struct elf_file *file, elf_on_relative *on_relative, void *context) ERR_MUST_CHECK;

#endif
