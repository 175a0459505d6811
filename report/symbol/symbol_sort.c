/*
 * Addresses of one file, or of one kernel, lie within 4 GiB. So an address
 * becomes a 32-bit offset from the lowest one and is packed with the symbol's
 * number into 64 bits; those go through a stable radix sort, and the symbols
 * are moved once, at the end. Wider sets are sorted by comparison.
 */
#include "report/symbol/symbol_sort.h"

#include <stdlib.h>

#include "format/base/mem.h"

enum {
	RADIX_BITS = 12, /* two passes for 16 MiB of code, three for any */
	RADIX_SIZE = 1 << RADIX_BITS,
};

/* One stable pass by the digit at `shift`. */
static void radix_pass(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	uint32_t places[RADIX_SIZE] = {0};
	for (size_t i = 0; i < count; i++)
		places[(from[i] >> shift) & (RADIX_SIZE - 1)]++;
	uint32_t sum = 0;
	for (size_t i = 0; i < RADIX_SIZE; i++) {
		uint32_t digit_count = places[i];
		places[i] = sum;
		sum += digit_count;
	}
	for (size_t i = 0; i < count; i++)
		to[places[(from[i] >> shift) & (RADIX_SIZE - 1)]++] = from[i];
}

/*
 * Sorts by the upper 32 bits, none of which is larger than `span`. Returns
 * whichever of the two arrays holds the result.
 */
static uint64_t *radix_sort(uint64_t *keys, uint64_t *spare, size_t count, uint64_t span)
{
	for (unsigned shift = 0; span >> shift; shift += RADIX_BITS) {
		radix_pass(keys, spare, count, 32 + shift);
		uint64_t *sorted = spare;
		spare = keys;
		keys = sorted;
	}
	return keys;
}

/* For qsort_r() over indices, so that equal addresses keep the order of adding. */
static int compare_candidates(const void *a, const void *b, void *candidates)
{
	uint64_t ia = *(const uint64_t *)a, ib = *(const uint64_t *)b;
	const struct symbol_candidate *x = (const struct symbol_candidate *)candidates + ia;
	const struct symbol_candidate *y = (const struct symbol_candidate *)candidates + ib;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return ia < ib ? -1 : 1;
}

/*
 * Puts the symbols in the order of the numbers in the lower halves of `order`,
 * which is used up. In place, cycle by cycle: fresh memory for a copy would
 * cost more in page faults than all the moving.
 */
static void reorder(struct symbol_candidate *symbols, size_t count, uint64_t *order)
{
	for (size_t first = 0; first < count; first++) {
		struct symbol_candidate displaced = symbols[first];
		size_t hole = first;
		for (;;) {
			size_t from = (uint32_t)order[hole];
			order[hole] = hole; /* done */
			if (from == first)
				break;
			symbols[hole] = symbols[from];
			hole = from;
		}
		symbols[hole] = displaced;
	}
}

void symbol_sort(struct symbol_candidate *symbols, size_t count)
{
	if (!count)
		return;
	CLEANUP_FREE uint64_t *keys = mem_realloc_array(NULL, count, sizeof(*keys));
	CLEANUP_FREE uint64_t *spare = mem_realloc_array(NULL, count, sizeof(*spare));
	uint64_t low = symbols[0].address, high = low;
	for (size_t i = 1; i < count; i++) {
		low = symbols[i].address < low ? symbols[i].address : low;
		high = symbols[i].address > high ? symbols[i].address : high;
	}
	if (high - low > UINT32_MAX) {
		for (size_t i = 0; i < count; i++)
			keys[i] = i;
		qsort_r(keys, count, sizeof(*keys), compare_candidates, symbols);
		reorder(symbols, count, keys);
		return;
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (symbols[i].address - low) << 32 | i;
	reorder(symbols, count, radix_sort(keys, spare, count, high - low));
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
