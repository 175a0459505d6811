/*
 * From an address to the function that holds it.
 *
 * Symbols are added in any order, from ELF files or one by one (captured
 * kallsyms, BPF programs), then symbol_index_build() sorts them once, and from
 * then on the index may be asked by several threads.
 *
 * Rules, when symbols compete:
 * - a sized symbol covers [address, address + size) and nothing beyond;
 * - one without a size is seen only where no sized one is: gdb and elfutils agree that it is a
 *   label there, of any binding. It extends to the next symbol, but not beyond its code
 *   range; outside of any range and with nothing behind it, SYMBOL_INDEX_TAIL_BYTES;
 * - of nested symbols the innermost wins, which is the last one to begin;
 * - of aliases sized wins over unsized, FUNC over NOTYPE, global over weak over local, the larger
 *   size, then the fewest leading underscores, then the order of adding. Bytes behind the
 *   winner's end still belong to an alias that is longer.
 */
#ifndef EBPROF_SYMBOL_INDEX_H
#define EBPROF_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_symbols.h"

enum {
	SYMBOL_INDEX_TAIL_BYTES = 4096,
};

struct symbol_index;

/* What a look-up finds. */
struct symbol_hit {
	const char *name; /* mangled; borrowed from the index; empty only in a damaged file */
	uint64_t start;   /* the symbol's address, not that of the piece that was hit */
	uint64_t size;    /* bytes; what it was extended to when it had none */
	uint32_t id;      /* dense and equal for equal symbols: a key for memos of names */
	bool is_extended; /* it has no size, and may have ended before */
};

struct symbol_index *symbol_index_create(void);
void symbol_index_destroy(struct symbol_index *index);

/*
 * Adds one symbol; the name is copied. `bind` is STB_*, `type` STT_FUNC or
 * STT_NOTYPE. Empty names are ignored, and so is what would bring the names to 4 GiB.
 */
void symbol_index_add(struct symbol_index *index, uint64_t address, uint64_t size, const char *name,
	uint8_t bind, uint8_t type);

/* Adds all of `symbols` and its code ranges, and leaves it empty: names and mappings are taken
 * over. */
void symbol_index_add_elf(struct symbol_index *index, struct elf_symbols *symbols);

/* Tells that code stands in [start, end). */
void symbol_index_add_range(struct symbol_index *index, uint64_t start, uint64_t end);

/* Ends the adding; once. */
void symbol_index_build(struct symbol_index *index);

/* How many symbols are left after aliases were dropped: ids are smaller than this. */
size_t symbol_index_count(const struct symbol_index *index);

/* False when no symbol holds `address`; *hit is untouched then. */
bool symbol_index_lookup(
	const struct symbol_index *index, uint64_t address, struct symbol_hit *hit);

/*
 * Looks `count` addresses up; hits[i] belongs to addresses[i] and has the name
 * NULL when there is none. Any order works, ascending is fastest. Returns how many were found.
 */
size_t symbol_index_lookup_batch(const struct symbol_index *index, const uint64_t *addresses,
	size_t count, struct symbol_hit *hits);

#endif
