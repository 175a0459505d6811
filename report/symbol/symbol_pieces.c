#include "report/symbol/symbol_pieces.h"

#include "format/base/mem.h"

void symbol_pieces_put(struct piece_bank *bank, uint32_t start, int32_t symbol)
{
	if (bank->count && bank->pieces[bank->count - 1].start == start)
		bank->count--; /* replaced before it had any length */
	if (bank->count && bank->pieces[bank->count - 1].symbol == symbol)
		return;
	bank->pieces[bank->count++] = (struct piece){start, symbol};
}

void symbol_pieces_guide(struct piece_bank *bank)
{
	uint32_t last = bank->pieces[bank->count - 1].start;
	while (last >> bank->shift > bank->count)
		bank->shift++;
	bank->bucket_count = (last >> bank->shift) + 1;
	bank->buckets = mem_zalloc_array((size_t)bank->bucket_count + 1, sizeof(*bank->buckets));
	/* Count each bucket's pieces one place further up, then sum: no branch to mispredict. */
	for (uint32_t i = 0; i < bank->count; i++)
		bank->buckets[(bank->pieces[i].start >> bank->shift) + 1]++;
	uint32_t sum = 0; /* not read back from memory, which would cost more than adding */
	for (uint32_t i = 0; i <= bank->bucket_count; i++) {
		sum += bank->buckets[i];
		bank->buckets[i] = sum;
	}
}

void symbol_pieces_prefetch_bucket(const struct piece_bank *bank, uint32_t offset)
{
	uint32_t bucket = offset >> bank->shift;
	if (bucket < bank->bucket_count)
		__builtin_prefetch(&bank->buckets[bucket]);
}

void symbol_pieces_prefetch_pieces(const struct piece_bank *bank, uint32_t offset)
{
	uint32_t bucket = offset >> bank->shift;
	if (bucket < bank->bucket_count)
		__builtin_prefetch(&bank->pieces[bank->buckets[bucket]]);
}

/*
 * The last piece that starts at or before `offset`; there is one, since the first starts at 0. Each
 * step is a conditional move: at random, every other branch would be mispredicted.
 */
static const struct piece *find_piece(const struct piece_bank *bank, uint32_t offset)
{
	uint32_t bucket = offset >> bank->shift;
	if (bucket >= bank->bucket_count)
		return &bank->pieces[bank->count - 1];
	uint32_t first = bank->buckets[bucket];
	first -= first > 0; /* it may have begun in an earlier bucket */
	const struct piece *piece = &bank->pieces[first];
	for (uint32_t count = bank->buckets[bucket + 1] - first; count > 1;) {
		uint32_t half = count / 2;
		piece = piece[half].start <= offset ? piece + half : piece;
		count -= half;
	}
	return piece;
}

int32_t symbol_pieces_find(const struct piece_bank *bank, uint32_t offset)
{
	return find_piece(bank, offset)->symbol;
}

void symbol_pieces_deinit(struct piece_bank *bank)
{
	mem_free(bank->pieces);
	mem_free(bank->buckets);
	*bank = (struct piece_bank){0};
}
