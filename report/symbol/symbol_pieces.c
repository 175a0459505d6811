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

void symbol_pieces_deinit(struct piece_bank *bank)
{
	mem_free(bank->pieces);
	mem_free(bank->buckets);
	*bank = (struct piece_bank){0};
}
