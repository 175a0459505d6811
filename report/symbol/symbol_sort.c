/*
 * Addresses of one file, or of one kernel, lie within 4 GiB. So an address
 * becomes a 32-bit offset from the lowest one and is packed with the symbol's
 * number into 64 bits; those go through a stable radix sort. The symbols stay
 * where they are. Wider sets are sorted by comparison.
 */
#include "report/symbol/symbol_sort.h"

#include <stdlib.h>

#include "format/base/mem.h"

enum {
	RADIX_BITS = 11, /* three passes for any offset, two for 4 MiB of code */
	RADIX_SIZE = 1 << RADIX_BITS,
	RADIX_PASSES = 3,
};

/* How often each digit of each pass occurs, then where the first key that has it goes. */
struct places {
	uint32_t of[RADIX_PASSES][RADIX_SIZE];
};

static void sum_up(uint32_t *places)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < RADIX_SIZE; i++) {
		uint32_t count = places[i];
		places[i] = sum;
		sum += count;
	}
}

/*
 * Sorts by the upper 32 bits, none of which is larger than `span`. Returns
 * whichever of the two arrays holds the result.
 */
static uint64_t *radix_sort(
	uint64_t *keys, uint64_t *spare, size_t count, uint64_t span, struct places *places)
{
	for (unsigned pass = 0; pass < RADIX_PASSES && span >> pass * RADIX_BITS; pass++) {
		uint32_t *place = places->of[pass];
		unsigned shift = 32 + pass * RADIX_BITS;
		sum_up(place);
		for (size_t i = 0; i < count; i++)
			spare[place[(keys[i] >> shift) & (RADIX_SIZE - 1)]++] = keys[i];
		uint64_t *sorted = spare;
		spare = keys;
		keys = sorted;
	}
	return keys;
}

/* For qsort_r() over numbers, so that equal addresses keep the order of adding. */
static int compare_symbols(const void *a, const void *b, void *symbols)
{
	uint64_t ia = *(const uint64_t *)a, ib = *(const uint64_t *)b;
	const struct elf_symbol *x = (const struct elf_symbol *)symbols + ia;
	const struct elf_symbol *y = (const struct elf_symbol *)symbols + ib;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return ia < ib ? -1 : 1;
}

static uint64_t *sort_wide(const struct elf_symbol *symbols, size_t count)
{
	uint64_t *order = mem_realloc_array(NULL, count, sizeof(*order));
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_symbols, (void *)symbols);
	return order;
}

uint64_t *symbol_sort(const struct elf_symbol *symbols, size_t count)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < count; i++) {
		low = symbols[i].address < low ? symbols[i].address : low;
		high = symbols[i].address > high ? symbols[i].address : high;
	}
	if (high - low > UINT32_MAX)
		return sort_wide(symbols, count);
	struct places places = {0};
	uint64_t *keys = mem_realloc_array(NULL, count, sizeof(*keys));
	uint64_t *spare = mem_realloc_array(NULL, count, sizeof(*spare));
	for (size_t i = 0; i < count; i++) {
		uint64_t offset = symbols[i].address - low;
		keys[i] = offset << 32 | i;
		places.of[0][offset & (RADIX_SIZE - 1)]++;
		places.of[1][offset >> RADIX_BITS & (RADIX_SIZE - 1)]++;
		places.of[2][offset >> 2 * RADIX_BITS]++;
	}
	uint64_t *sorted = radix_sort(keys, spare, count, high - low, &places);
	mem_free(sorted == keys ? spare : keys);
	return sorted;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct elf_code_range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

size_t symbol_sort_ranges(struct elf_code_range *ranges, size_t count)
{
	if (!count)
		return 0;
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	size_t last = 0;
	for (size_t i = 1; i < count; i++) {
		if (ranges[i].start >= ranges[last].end)
			ranges[++last] = ranges[i];
		else if (ranges[i].end > ranges[last].end)
			ranges[last].end = ranges[i].end;
	}
	return last + 1;
}
