/*
 * The stubs of the procedure linkage table: .plt, .plt.sec and .plt.got. Linkers give them no
 * symbols. A stub jumps to where a slot of the GOT points, and the relocation of that slot says
 * what the loader puts there. Neither the order of the stubs nor that of the relocations says it:
 * IRELATIVE relocations stand behind the others, their stubs anywhere.
 * What a stub looks like the row of its machine knows.
 */
#ifndef EBPROF_ELF_PLT_H
#define EBPROF_ELF_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"

struct elf_plt_stub {
	uint64_t address;
	uint32_t size;
	uint32_t section;  /* index of its section header */
	uint32_t symbol;   /* index in .dynsym; 0: a function of this file's own */
	uint64_t resolver; /* ... the virtual address of the one that chooses it (an ifunc) */
};

struct elf_plt_stubs {
	VEC(struct elf_plt_stub) list;
};

/*
 * Appends all stubs whose slots have a relocation, by section and address. A file of another
 * machine, or without contents in these sections (a separate debug file), has none. ERR_FORMAT
 * when a table lies outside of the file.
 */
struct err *elf_plt_read(struct elf_file *file, struct elf_plt_stubs *ret) ERR_MUST_CHECK;
void elf_plt_stubs_deinit(struct elf_plt_stubs *stubs);

#endif
