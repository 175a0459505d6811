/*
 * Inside of symbol_index.h: chooses among symbols at one address, and flattens those that nest and
 * overlap into pieces that do not.
 *
 * 1. Choose. Symbols at one address compete; the winner stays, followed by any
 *    that reach further than all better ones.
 * 2. Flatten. A sweep over the starts with a stack of open symbols cuts them
 *    into pieces: each is [its start, the next one's start) and belongs to one
 *    symbol or to none.
 */
#ifndef EBPROF_SYMBOL_SWEEP_H
#define EBPROF_SYMBOL_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "format/elf/elf_symbols.h"
#include "report/name/symbol/symbol_pieces.h"

/*
 * A symbol that survived; its offsets count from its bank's base. Never in two lines of the cache.
 * Aliases that only their names tell apart follow it, and no piece is theirs.
 */
struct symbol {
	_Alignas(16) uint32_t start;
	uint32_t end;
	_Atomic uint32_t name, others; /* `others` follow; 0 since the best name was chosen */
};

enum {
	/* Beside the number in `others`: the symbol has no size, and ends where the next begins. */
	SYMBOL_IS_EXTENDED = 1 << 30,
};

struct symbol_index {
	VEC(struct elf_symbol) candidates;
	VEC(struct elf_code_range) ranges;
	VEC(struct elf_names) names; /* `first` ascends */
	size_t own_cap;              /* of the last one, where names are added one by one; else 0 */
	uint32_t names_end;

	VEC(struct symbol) symbols;
	VEC(struct piece_bank) banks; /* ascending; one, nearly always */
};

/* The candidate that stands at a place of the order (symbol_sort.h). */
static inline const struct elf_symbol *symbol_sweep_candidate(
	const struct symbol_index *index, uint64_t place)
{
	return &index->candidates.data[(uint32_t)place];
}

static inline const char *symbol_sweep_name(const struct symbol_index *index, uint32_t number)
{
	return elf_names_get(index->names.data, index->names.len, number);
}

/* Which of two names is shown; the first, when they begin alike. */
uint32_t symbol_sweep_better_name(const struct symbol_index *index, uint32_t a, uint32_t b);

/* Makes a bank of candidates that fit one; `limit` is the address of the first that does not. */
void symbol_sweep_bank(
	struct symbol_index *index, const uint64_t *order, size_t count, uint64_t limit);

#endif
