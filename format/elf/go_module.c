/*
 * The record is searched for, by its first two words: the address of the table
 * of functions and that of the names in it. It stands in a section of its own
 * since 1.26, in data without pointers before. In a position-independent
 * program that a C compiler linked the words are 0 in the file, and what the
 * loader will put there stands in relocations.
 */
#include "format/elf/go_module.h"

#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/elf/elf_relocations.h"

enum {
	CANDIDATES_MAX = 16,
	MODULE_BYTES = GO_MODULE_WORDS * GO_POINTER_BYTES,
};

static uint64_t first_word(const struct go_pclntab *table)
{
	return table->vaddr;
}

static uint64_t second_word(const struct go_pclntab *table)
{
	return table->vaddr + table->names;
}

/* ---- as it stands in the file ---- */

/* Where the two words follow each other in what is seen here. */
static bool find_in_view(
	const struct go_pclntab *table, const uint8_t *bytes, size_t len, size_t *into)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	uint64_t previous = 0;
	while (bytes_left(&cursor) >= GO_POINTER_BYTES) {
		uint64_t word = bytes_get_u64(&cursor);
		if (word == second_word(table) && previous == first_word(table)) {
			*into = bytes_offset(&cursor) - 2 * (size_t)GO_POINTER_BYTES;
			return true;
		}
		previous = word;
	}
	return false;
}

static void go_module_read_words(struct elf_blocks *blocks, uint64_t at, struct go_module *ret)
{
	size_t len;
	const uint8_t *bytes = elf_blocks_view(blocks, at, &len);
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	for (size_t i = 0; i < GO_MODULE_WORDS; i++)
		ret->words[i] = bytes_get_u64(&cursor);
}

static bool find_in_blocks(
	const struct go_pclntab *table, struct elf_blocks *blocks, struct go_module *ret)
{
	uint64_t at = 0;
	for (;;) {
		size_t len, into;
		const uint8_t *bytes = elf_blocks_view(blocks, at, &len);
		if (len < 2 * (size_t)GO_POINTER_BYTES)
			return false;
		if (find_in_view(table, bytes, len, &into)) {
			go_module_read_words(blocks, at + into, ret);
			return true;
		}
		at += (len - GO_POINTER_BYTES) / GO_POINTER_BYTES * GO_POINTER_BYTES;
	}
}

static struct err *find_in_section(const struct go_pclntab *table,
	const struct elf_section *section, struct go_module *ret, bool *found)
{
	struct elf_blocks *blocks;
	if (section->type != SHT_PROGBITS)
		return NULL;
	try(elf_blocks_create(table->file, section->offset, section->size, &blocks));
	*found = find_in_blocks(table, blocks, ret);
	elf_blocks_destroy(blocks);
	return NULL;
}

/* ---- in relocations ---- */

struct candidates {
	const struct go_pclntab *table;
	uint64_t places[CANDIDATES_MAX];
	struct go_module modules[CANDIDATES_MAX];
	size_t count;
};

static void on_first_word(void *context, uint64_t place, uint64_t addend)
{
	struct candidates *candidates = context;
	if (addend == first_word(candidates->table) && candidates->count < CANDIDATES_MAX)
		candidates->places[candidates->count++] = place;
}

static void on_word(void *context, uint64_t place, uint64_t addend)
{
	struct candidates *candidates = context;
	for (size_t i = 0; i < candidates->count; i++)
		if (place - candidates->places[i] < MODULE_BYTES)
			candidates->modules[i]
				.words[(place - candidates->places[i]) / GO_POINTER_BYTES] = addend;
}

static struct err *find_in_relocations(
	const struct go_pclntab *table, struct go_module *ret, bool *found)
{
	CLEANUP_FREE struct candidates *candidates = mem_zalloc(sizeof(*candidates));
	candidates->table = table;
	try(elf_relocations_walk(table->file, on_first_word, candidates));
	if (candidates->count)
		try(elf_relocations_walk(table->file, on_word, candidates));
	for (size_t i = 0; i < candidates->count && !*found; i++)
		if (candidates->modules[i].words[1] == second_word(table)) {
			*ret = candidates->modules[i];
			*found = true;
		}
	return NULL;
}

struct err *go_module_find(const struct go_pclntab *table, struct go_module *ret, bool *found)
{
	static const char *const names[] = {".go.module", ".noptrdata", ".data", ".data.rel.ro"};
	struct go_module module;
	*found = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !*found; i++) {
		const struct elf_section *section = elf_file_find_section(table->file, names[i]);
		if (section)
			try(find_in_section(table, section, &module, found));
	}
	if (!*found)
		try(find_in_relocations(table, &module, found));
	if (*found)
		*ret = module;
	return NULL;
}
