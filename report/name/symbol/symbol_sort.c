/*
 * The addresses of one file, or of one kernel, mostly have one upper half. So the lower half is
 * packed with the symbol's number into 64 bits, and those go through a stable radix sort; a digit
 * that is the same in all of them costs nothing. The symbols stay where they are. Other sets are
 * sorted by comparison.
 */
#include "report/name/symbol/symbol_sort.h"

#include <stdlib.h>

#include "format/base/mem.h"

enum {
	RADIX_BITS = 13, /* two passes for 64 MiB of code, three for any */
	RADIX_SIZE = 1 << RADIX_BITS,
	RADIX_PASSES = 3,
};

/* How often each digit of each pass occurs, then where the first key that has it goes. */
struct places {
	uint32_t of[RADIX_PASSES][RADIX_SIZE];
};

static uint32_t symbol_sort_digit_of(uint64_t key, unsigned pass)
{
	return (uint32_t)(key >> 32) >> pass * RADIX_BITS & (RADIX_SIZE - 1);
}

static void symbol_sort_sum_up(uint32_t *places)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < RADIX_SIZE; i++) {
		uint32_t count = places[i];
		places[i] = sum;
		sum += count;
	}
}

/* Sorts by the upper 32 bits. Returns whichever of the two arrays holds the result. */
static uint64_t *radix_sort(uint64_t *keys, uint64_t *spare, size_t count, struct places *places)
{
	for (unsigned pass = 0; pass < RADIX_PASSES; pass++) {
		uint32_t *place = places->of[pass];
		if (place[symbol_sort_digit_of(keys[0], pass)] == count)
			continue;
		symbol_sort_sum_up(place);
		for (size_t i = 0; i < count; i++)
			spare[place[symbol_sort_digit_of(keys[i], pass)]++] = keys[i];
		uint64_t *sorted = spare;
		spare = keys;
		keys = sorted;
	}
	return keys;
}

static uint64_t symbol_sort_key_of(const struct elf_symbol *symbols, size_t i)
{
	return symbols[i].address << 32 | i;
}

/* For qsort_r() over numbers, so that equal addresses keep the order of adding. */
static int symbol_sort_compare_symbols(const void *a, const void *b, void *symbols)
{
	uint64_t ia = *(const uint64_t *)a, ib = *(const uint64_t *)b;
	const struct elf_symbol *x = (const struct elf_symbol *)symbols + ia;
	const struct elf_symbol *y = (const struct elf_symbol *)symbols + ib;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return ia < ib ? -1 : 1;
}

static void sort_wide(const struct elf_symbol *symbols, uint64_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		keys[i] = i;
	qsort_r(keys, count, sizeof(*keys), symbol_sort_compare_symbols, (void *)symbols);
	for (size_t i = 0; i < count; i++)
		keys[i] = symbol_sort_key_of(symbols, keys[i]);
}

uint64_t *symbol_sort(const struct elf_symbol *symbols, size_t count)
{
	CLEANUP_FREE struct places *places = mem_zalloc(sizeof(*places));
	uint64_t *keys = mem_realloc_array(NULL, count, sizeof(*keys));
	uint64_t *spare = mem_realloc_array(NULL, count, sizeof(*spare));
	uint64_t differing = 0;
	for (size_t i = 0; i < count; i++) {
		differing |= symbols[i].address ^ symbols[0].address;
		keys[i] = symbol_sort_key_of(symbols, i);
		for (unsigned pass = 0; pass < RADIX_PASSES; pass++)
			places->of[pass][symbol_sort_digit_of(keys[i], pass)]++;
	}
	uint64_t *sorted = keys;
	if (differing > UINT32_MAX)
		sort_wide(symbols, keys, count);
	else
		sorted = radix_sort(keys, spare, count, places);
	mem_free(sorted == keys ? spare : keys);
	return sorted;
}

static int symbol_sort_compare_ranges(const void *a, const void *b)
{
	const struct elf_code_range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

size_t symbol_sort_ranges(struct elf_code_range *ranges, size_t count)
{
	if (!count)
		return 0;
	qsort(ranges, count, sizeof(*ranges), symbol_sort_compare_ranges);
	size_t last = 0;
	for (size_t i = 1; i < count; i++) {
		if (ranges[i].start >= ranges[last].end)
			ranges[++last] = ranges[i];
		else if (ranges[i].end > ranges[last].end)
			ranges[last].end = ranges[i].end;
	}
	return last + 1;
}
