/*
 * What the symbol index costs: nanoseconds a symbol from an ELF file in the page
 * cache to an index that answers, and nanoseconds a look-up of addresses of
 * its functions, in random and in ascending order. Processor time, the best of
 * several rounds, the first of which pays for pages that the others find: it is told apart.
 *   symbol_index FILE
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/err.h"
#include "format/base/mem.h"
#include "report/name/symbol/symbol_index.h"

enum {
	ADDRESSES = 100000,
	ROUNDS = 30,
};

struct figures {
	double first_ns;          /* read and built for the first time */
	double read_ns, build_ns; /* of the best round */
	size_t entries, functions;
};

static double now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void check(struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "symbol_index: %s\n", err_message(err));
	exit(1);
}

static size_t count_entries(struct elf_file *file)
{
	const struct elf_section *sections;
	size_t count, entries = 0;
	check(elf_file_sections(file, &sections, &count));
	for (size_t i = 0; i < count; i++)
		if (sections[i].type == SHT_SYMTAB || sections[i].type == SHT_DYNSYM)
			entries += sections[i].size / sizeof(Elf64_Sym);
	return entries;
}

/* Addresses of functions, one for each at first, drawn at random. */
static void draw_addresses(const struct elf_symbols *symbols, uint64_t *addresses)
{
	for (size_t i = 0; i < ADDRESSES && symbols->symbols.len; i++) {
		size_t draw = ((size_t)rand() << 16 ^ (size_t)rand()) % symbols->symbols.len;
		const struct elf_symbol *symbol = &symbols->symbols.data[draw];
		addresses[i] = symbol->address + (symbol->size ? (size_t)rand() % symbol->size : 0);
	}
}

static void look_around(int fd, uint64_t *addresses, struct figures *figures)
{
	struct elf_file *file;
	struct elf_symbols symbols = {0};
	check(elf_file_open(fd, &file));
	check(elf_symbols_read(file, &symbols));
	figures->functions = symbols.symbols.len;
	figures->entries = count_entries(file);
	draw_addresses(&symbols, addresses);
	elf_symbols_deinit(&symbols);
	elf_file_destroy(file);
}

/* One round; the index is the caller's. */
static struct symbol_index *build(int fd, struct figures *figures)
{
	double start = now_ns();
	struct elf_file *file;
	struct elf_symbols symbols = {0};
	check(elf_file_open(fd, &file));
	check(elf_symbols_read(file, &symbols));
	double read = now_ns();
	struct symbol_index *index = symbol_index_create();
	symbol_index_add_elf(index, &symbols);
	symbol_index_build(index);
	double built = now_ns();
	if (!figures->first_ns)
		figures->first_ns = built - start;
	if (built - start < figures->read_ns + figures->build_ns) {
		figures->read_ns = read - start;
		figures->build_ns = built - read;
	}
	elf_file_destroy(file);
	return index;
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
		symbol_index_lookup_batch(index, addresses, ADDRESSES, hits);
		double took = now_ns() - start;
		best = took < best ? took : best;
	}
	return best / ADDRESSES;
}

int main(int argc, char **argv)
{
	CLEANUP_FD int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: symbol_index FILE\n");
		return 2;
	}
	struct figures figures = {.read_ns = 1e18, .build_ns = 1e18};
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(ADDRESSES, sizeof(*addresses));
	CLEANUP_FREE struct symbol_hit *hits = mem_zalloc_array(ADDRESSES, sizeof(*hits));
	struct symbol_index *index = NULL;
	mem_keep_freed(); /* as a report does */
	for (int round = 0; round < ROUNDS; round++) {
		symbol_index_destroy(index);
		index = build(fd, &figures);
	}
	look_around(fd, addresses, &figures);
	double random = lookup_ns(index, addresses, hits);
	qsort(addresses, ADDRESSES, sizeof(*addresses), compare_u64);
	double sorted = lookup_ns(index, addresses, hits);
	double sum = figures.read_ns + figures.build_ns;
	printf("symbol index: %.1f ns a symbol (%zu entries; %.1f the first time), %.1f a function "
	       "(%zu: read %.1f, build %.1f)\n",
		sum / (double)(figures.entries | 1), figures.entries,
		figures.first_ns / (double)(figures.entries | 1),
		sum / (double)(figures.functions | 1), figures.functions,
		figures.read_ns / (double)(figures.functions | 1),
		figures.build_ns / (double)(figures.functions | 1));
	printf("symbol index: %.1f ns a look-up at random, %.1f in ascending order\n", random,
		sorted);
	symbol_index_destroy(index);
	return 0;
}
