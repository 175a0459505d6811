/*
 * Relocatable files (ET_REL: kernel modules, object files): their sections have
 * no addresses yet, and their debug information no values. Here they get
 * addresses, one behind the other, and the debug sections, or .eh_frame, what follows from them.
 *
 * Source: System V gABI, "Relocation"; the psABIs of x86-64 (4.4) and AArch64 (5.7).
 */
#ifndef EBPROF_ELF_RELOCATE_H
#define EBPROF_ELF_RELOCATE_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"

struct elf_layout {
	VEC(uint64_t) addresses; /* of each section that is loaded, by its index; 0: it is not */
};

/* ERR_UNSUPPORTED for what is not relocatable. The same file always gets the same layout. */
struct err *elf_layout_make(struct elf_file *file, struct elf_layout *ret) ERR_MUST_CHECK;
void elf_layout_deinit(struct elf_layout *layout);

/*
 * Fills the relocations of section `index` into its contents. Kinds that debug information does
 * not need are left alone. ERR_FORMAT when a table lies outside of the file.
 */
struct err *elf_relocate(struct elf_file *file, const struct elf_layout *layout, size_t index,
	uint8_t *bytes, uint64_t len) ERR_MUST_CHECK;

#endif
