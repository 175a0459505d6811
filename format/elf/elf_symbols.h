/*
 * Function symbols of an ELF file: .symtab and .dynsym together, and the PLT's
 * stubs as `name@plt`. Unsorted, with duplicates: report/name/symbol/symbol_index.h
 * puts them in order.
 *
 * Source: System V gABI, "Symbol Table". Of the stubs: see elf_plt.h.
 */
#ifndef EBPROF_ELF_SYMBOLS_H
#define EBPROF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_map.h"

struct elf_symbol {
	uint64_t address; /* a virtual address; in a relocatable file, an offset in `section` */
	uint64_t size;    /* bytes, 0 when the producer did not say */
	uint32_t name;    /* the number of its name; empty only in a damaged file */
	uint16_t section; /* index of its section header; SHN_XINDEX: a larger one */
	uint8_t type;     /* STT_FUNC, STT_GNU_IFUNC or STT_NOTYPE */
	uint8_t bind;     /* STB_LOCAL, STB_GLOBAL, STB_WEAK... */
};

/* Names that stay where they are, mostly in the mapped file: a name's number is `first` and its
 * offset. */
struct elf_names {
	struct elf_map text; /* less than 4 GiB */
	uint32_t first;
};

enum {
	ELF_NAMES_TABLES = 3, /* .strtab, .dynstr, the PLT's stubs */
};

/* Where code stands: [start, end). A symbol without a size does not extend beyond its range. */
struct elf_code_range {
	uint64_t start, end;
};

struct elf_symbols {
	VEC(struct elf_symbol) symbols;
	VEC(struct elf_code_range) code;          /* executable sections, in the file's order */
	struct elf_names names[ELF_NAMES_TABLES]; /* `first` ascends */
	size_t names_count;
	uint32_t names_end; /* the first number behind all names */
	bool is_cut; /* a table has many zeros instead of symbols, from there it was not read */
};

/*
 * Reads what the file has, and maps it where it is a file: see elf_map.h. No table at all, or one
 * that is compressed or has no contents, is an empty result. {0}-initialised *ret is replaced.
 * ERR_FORMAT when a table contradicts itself or lies outside of the file.
 */
struct err *elf_symbols_read(struct elf_file *file, struct elf_symbols *ret) ERR_MUST_CHECK;

/*
 * Whether a symbol of this name, `len` bytes, that does not say what it is, is no function:
 * assemblers' local labels (.L), the mapping symbols of code and data in ARM and RISC-V text ($x,
 * $d), the notes of GCC's plugin annobin, the empty name. Sources: ELF for the Arm 64-bit
 * Architecture, "Mapping symbols"; RISC-V ELF psABI, "Mapping Symbol"; annobin 12.
 */
bool elf_symbols_is_label(const char *name, size_t len);

/* A symbol's name; borrowed from `names`, which are `count` with ascending `first`. */
const char *elf_names_get(const struct elf_names *names, size_t count, uint32_t number);
const char *elf_symbols_name(const struct elf_symbols *symbols, const struct elf_symbol *symbol);

void elf_symbols_deinit(struct elf_symbols *symbols);

#endif
