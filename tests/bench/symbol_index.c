/*
 * What the symbol index costs: nanoseconds a symbol to build, nanoseconds a
 * look-up, on synthetic symbols. Prints the best of several rounds.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/base/mem.h"
#include "report/symbol/symbol_index.h"

enum {
	SYMBOLS = 100000,
	ROUNDS = 20,
};

static double now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Functions of 16 to 271 bytes with small gaps, in random order, some with an alias. */
static void make_symbols(struct elf_symbols *out, uint64_t *end)
{
	uint64_t address = 0x401000;
	char *names = mem_zalloc(SYMBOLS * 16);
	vec_reserve(&out->symbols, SYMBOLS);
	for (uint32_t i = 0; i < SYMBOLS; i++) {
		snprintf(names + (size_t)i * 16, 16, "function_%u", i);
		uint64_t size = 16 + (uint64_t)rand() % 256;
		vec_push(&out->symbols, (struct elf_symbol){.address = address,
						.size = size,
						.name = i * 16,
						.section = 1,
						.type = STT_FUNC,
						.bind = STB_GLOBAL});
		if (rand() % 10)
			address += (size + 15) / 16 * 16;
	}
	out->names[out->names_count++].text = (struct elf_map){.bytes = (uint8_t *)names,
		.len = SYMBOLS * 16,
		.slot = -1,
		.copy = (uint8_t *)names};
	out->names_end = SYMBOLS * 16;
	*end = address;
	for (size_t i = SYMBOLS - 1; i > 0; i--) {
		size_t j = (size_t)rand() % (i + 1);
		struct elf_symbol swapped = out->symbols.data[i];
		out->symbols.data[i] = out->symbols.data[j];
		out->symbols.data[j] = swapped;
	}
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static double lookup_ns(
	const struct symbol_index *index, const uint64_t *addresses, struct symbol_hit *hits)
{
	double best = 1e18;
	for (int round = 0; round < ROUNDS; round++) {
		double start = now_ns();
		symbol_index_lookup_batch(index, addresses, SYMBOLS, hits);
		double took = now_ns() - start;
		best = took < best ? took : best;
	}
	return best / SYMBOLS;
}

int main(void)
{
	double build = 1e18, add = 1e18;
	struct symbol_index *index = NULL;
	uint64_t end = 0;
	for (int round = 0; round < ROUNDS; round++) {
		symbol_index_destroy(index);
		index = symbol_index_create();
		struct elf_symbols symbols = {0};
		make_symbols(&symbols, &end);
		double start = now_ns();
		symbol_index_add_elf(index, &symbols);
		double added = now_ns();
		symbol_index_build(index);
		double took = now_ns() - added;
		build = took < build ? took : build;
		add = added - start < add ? added - start : add;
	}
	uint64_t *addresses = mem_zalloc_array(SYMBOLS, sizeof(*addresses));
	struct symbol_hit *hits = mem_zalloc_array(SYMBOLS, sizeof(*hits));
	for (size_t i = 0; i < SYMBOLS; i++)
		addresses[i] =
			0x401000 + ((uint64_t)rand() << 16 ^ (uint64_t)rand()) % (end - 0x401000);
	double random = lookup_ns(index, addresses, hits);
	qsort(addresses, SYMBOLS, sizeof(*addresses), compare_u64);
	double sorted = lookup_ns(index, addresses, hits);
	printf("add %.1f ns/symbol, build %.1f ns/symbol, look-up %.1f ns sorted, %.1f ns random\n",
		add / SYMBOLS, build / SYMBOLS, sorted, random);
	mem_free(addresses);
	mem_free(hits);
	symbol_index_destroy(index);
	return 0;
}
