/* Puts symbols in the order of their addresses: a radix sort, since a profile may need millions. */
#ifndef EBPROF_SYMBOL_SORT_H
#define EBPROF_SYMBOL_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_symbols.h"

/*
 * Fewer than 2^32 symbols by ascending address, those at one address as they stand: the lower
 * halves are their numbers, the upper ones those of their addresses. To be freed.
 */
uint64_t *symbol_sort(const struct elf_symbol *symbols, size_t count);

/*
 * Sorts ranges and unites those that overlap; returns how many are left.
 * Neighbours stay apart, since no symbol crosses a section's end.
 */
size_t symbol_sort_ranges(struct elf_code_range *ranges, size_t count);

#endif
