/*
 * Function symbols of an ELF file: .symtab and .dynsym together, and the PLT's
 * stubs as `name@plt`. Unsorted, with duplicates: report/symbol/symbol_index.h
 * puts them in order.
 *
 * Source: System V gABI, "Symbol Table"; the x86-64 psABI, "Procedure Linkage Table".
 */
#ifndef EBPROF_ELF_SYMBOLS_H
#define EBPROF_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "format/elf/elf_file.h"

struct elf_symbol {
	uint64_t address; /* a virtual address; in a relocatable file, an offset in `section` */
	uint64_t size;    /* bytes, 0 when the producer did not say */
	uint32_t name;    /* offset in elf_symbols.names of a NUL-terminated, non-empty name */
	uint32_t section; /* index of its section header */
	uint8_t type;     /* STT_FUNC, STT_GNU_IFUNC or STT_NOTYPE */
	uint8_t bind;     /* STB_LOCAL, STB_GLOBAL, STB_WEAK... */
};

/* Where code stands: [start, end). A symbol without a size does not extend beyond its range. */
struct elf_code_range {
	uint64_t start, end;
};

struct elf_symbols {
	VEC(struct elf_symbol) symbols;
	VEC(struct elf_code_range) code; /* executable sections, in the file's order */
	char *names;
	size_t names_len; /* bytes, the NULs included; less than 4 GiB */
};

/*
 * Reads what the file has; no table at all, or one that is compressed or has
 * no contents, is an empty result. {0}-initialised *ret is replaced.
 * ERR_FORMAT when a table contradicts itself or lies outside of the file.
 */
struct err *elf_symbols_read(struct elf_file *file, struct elf_symbols *ret) ERR_MUST_CHECK;

void elf_symbols_deinit(struct elf_symbols *symbols);

#endif
