/*
 * Inside of symbol_index.h: which symbol each byte of 4 GiB may belong to, as
 * pieces that neither overlap nor leave gaps. What follows the end of a symbol
 * and belongs to none is no piece of its own: the caller knows that end, and
 * most symbols have such bytes behind them.
 *
 * Pieces are searched by binary search within a bucket: a table maps the upper
 * bits of an offset to the first piece in that bucket, with about as many
 * buckets as pieces, so usually one or two pieces are left.
 */
#ifndef EBPROF_SYMBOL_PIECES_H
#define EBPROF_SYMBOL_PIECES_H

#include <stdint.h>

struct piece {
	uint32_t start;
	uint32_t symbol;
};

struct piece_bank {
	uint64_t base;
	struct piece *pieces; /* by ascending start; the first one starts at 0 */
	uint32_t count;
	uint32_t *buckets; /* the first piece that starts at or behind bucket << shift; one more at
			      the end */
	uint32_t bucket_count;
	unsigned shift;
};

/* Appends a piece, for which there is room; the last one ends there. */
void symbol_pieces_put(struct piece_bank *bank, uint32_t start, uint32_t symbol);

/* Makes the table of buckets; there is a piece. */
void symbol_pieces_guide(struct piece_bank *bank);

/*
 * Two steps ahead of a search: they fetch what it reads first, and what it reads then, which the
 * first must have brought.
 */
static inline void symbol_pieces_prefetch_bucket(const struct piece_bank *bank, uint32_t offset)
{
	uint32_t bucket = offset >> bank->shift;
	if (bucket < bank->bucket_count)
		__builtin_prefetch(&bank->buckets[bucket]);
}

static inline void symbol_pieces_prefetch_pieces(const struct piece_bank *bank, uint32_t offset)
{
	uint32_t bucket = offset >> bank->shift;
	if (bucket < bank->bucket_count)
		__builtin_prefetch(&bank->pieces[bank->buckets[bucket]]);
}

/*
 * The symbol that holds the byte at `offset`, unless it has ended before: that of the last piece
 * that starts at or before it; there is one, since the first starts at 0. Each step is a
 * conditional move: at random, every other branch would be mispredicted.
 */
static inline uint32_t symbol_pieces_find(const struct piece_bank *bank, uint32_t offset)
{
	uint32_t bucket = offset >> bank->shift;
	if (bucket >= bank->bucket_count)
		return bank->pieces[bank->count - 1].symbol;
	uint32_t first = bank->buckets[bucket];
	first -= first > 0; /* it may have begun in an earlier bucket */
	const struct piece *piece = &bank->pieces[first];
	for (uint32_t count = bank->buckets[bucket + 1] - first; count > 1;) {
		uint32_t half = count / 2;
		piece = piece[half].start <= offset ? piece + half : piece;
		count -= half;
	}
	return piece->symbol;
}

void symbol_pieces_deinit(struct piece_bank *bank);

#endif
