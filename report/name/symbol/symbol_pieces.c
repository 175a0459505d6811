#include "report/name/symbol/symbol_pieces.h"

#include "format/base/mem.h"

void symbol_pieces_put(struct piece_bank *bank, uint32_t start, uint32_t symbol)
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
	/* Each bucket's end, one place further up, then that of the bucket before where there is
	 * none: nothing is read back that was just written, and no branch mispredicted. */
	for (uint32_t i = 0; i < bank->count; i++)
		bank->buckets[(bank->pieces[i].start >> bank->shift) + 1] = i + 1;
	uint32_t end = 0;
	for (uint32_t i = 0; i <= bank->bucket_count; i++) {
		end = bank->buckets[i] ? bank->buckets[i] : end;
		bank->buckets[i] = end;
	}
}

void symbol_pieces_deinit(struct piece_bank *bank)
{
	mem_free(bank->pieces);
	mem_free(bank->buckets);
	*bank = (struct piece_bank){0};
}
