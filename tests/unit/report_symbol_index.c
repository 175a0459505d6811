#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "report/name/symbol/symbol_index.h"
#include "tests/unit/unit.h"

static void add(struct symbol_index *index, uint64_t address, uint64_t size, const char *name)
{
	symbol_index_add(index, address, size, name, STB_GLOBAL, STT_FUNC);
}

static void check_at(const struct symbol_index *index, uint64_t address, const char *want)
{
	struct symbol_hit hit = {0};
	bool found = symbol_index_lookup(index, address, &hit);
	if (found != (want != NULL) || (want && strcmp(hit.name, want) != 0))
		unit_fail(__FILE__, __LINE__, "%#llx is %s, not %s", (unsigned long long)address,
			found ? hit.name : "nothing", want ? want : "nothing");
	if (found)
		CHECK(address >= hit.start && address - hit.start < hit.size);
}

TEST(index_empty)
{
	struct symbol_index *index = symbol_index_create();
	symbol_index_add(index, 1, 1, "", STB_GLOBAL, STT_FUNC);
	symbol_index_build(index);
	check_at(index, 0, NULL);
	check_at(index, UINT64_MAX, NULL);
	CHECK_INT(symbol_index_count(index), 0);
	symbol_index_destroy(index);
	symbol_index_destroy(NULL);
}

TEST(index_sized_symbols_have_gaps)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0x2000, 0x10, "b");
	add(index, 0x1000, 0x10, "a");
	add(index, 0x1010, 0x10, "a2");
	symbol_index_build(index);
	check_at(index, 0xfff, NULL);
	check_at(index, 0x1000, "a");
	check_at(index, 0x100f, "a");
	check_at(index, 0x1010, "a2");
	check_at(index, 0x1020, NULL);
	check_at(index, 0x1fff, NULL);
	check_at(index, 0x200f, "b");
	check_at(index, 0x2010, NULL);
	struct symbol_hit hit;
	CHECK(symbol_index_lookup(index, 0x2008, &hit));
	CHECK_INT(hit.start, 0x2000);
	CHECK_INT(hit.size, 0x10);
	symbol_index_destroy(index);
}

TEST(index_unsized_symbols_extend)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0x1000, 0, "to_next");
	add(index, 0x1100, 0, "to_range_end");
	add(index, 0x3000, 0x100, "outer");
	add(index, 0x3080, 0, "label");
	add(index, 0x5000, 0, "last");
	symbol_index_add_range(index, 0x1000, 0x1200);
	symbol_index_add_range(index, 0x1200, 0x4000);
	symbol_index_build(index);
	check_at(index, 0x10ff, "to_next");
	check_at(index, 0x11ff, "to_range_end");
	check_at(index, 0x1200, NULL);
	check_at(index, 0x307f, "outer");
	check_at(index, 0x3080, "outer");
	check_at(index, 0x30ff, "outer");
	check_at(index, 0x3100, NULL);
	check_at(index, 0x5000 + SYMBOL_INDEX_TAIL_BYTES - 1, "last");
	check_at(index, 0x5000 + SYMBOL_INDEX_TAIL_BYTES, NULL);
	symbol_index_destroy(index);
}

TEST(index_nested_and_overlapping)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0x1000, 0x100, "outer");
	add(index, 0x1010, 0x40, "middle");
	add(index, 0x1020, 0x10, "inner");
	add(index, 0x1050, 0x10, "second");
	add(index, 0x10f0, 0x20, "crossing");
	symbol_index_build(index);
	check_at(index, 0x100f, "outer");
	check_at(index, 0x1010, "middle");
	check_at(index, 0x102f, "inner");
	check_at(index, 0x1030, "middle");
	check_at(index, 0x1050, "second");
	check_at(index, 0x1060, "outer");
	check_at(index, 0x10f0, "crossing");
	check_at(index, 0x110f, "crossing");
	check_at(index, 0x1110, NULL);
	symbol_index_destroy(index);
}

TEST(index_aliases)
{
	struct symbol_index *index = symbol_index_create();
	symbol_index_add(index, 0x1000, 8, "local", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x1000, 8, "weak", STB_WEAK, STT_FUNC);
	symbol_index_add(index, 0x1000, 8, "global", STB_GLOBAL, STT_FUNC);
	symbol_index_add(index, 0x2000, 8, "label", STB_GLOBAL, STT_NOTYPE);
	symbol_index_add(index, 0x2000, 8, "function", STB_GLOBAL, STT_FUNC);
	add(index, 0x3000, 8, "__malloc");
	add(index, 0x3000, 8, "malloc");
	add(index, 0x3000, 8, "_malloc");
	add(index, 0x4000, 8, "short");
	add(index, 0x4000, 16, "long");
	symbol_index_add(index, 0x5000, 8, "winner", STB_GLOBAL, STT_FUNC);
	symbol_index_add(index, 0x5000, 16, "longer_local", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x6000, 0, "unsized_global", STB_GLOBAL, STT_FUNC);
	symbol_index_add(index, 0x6000, 16, "sized_local", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x7000, 0, "marker", STB_GLOBAL, STT_NOTYPE);
	symbol_index_add(index, 0x7000, 0, "unsized_local", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x7010, 0, "next", STB_LOCAL, STT_FUNC);
	symbol_index_build(index);
	check_at(index, 0x1000, "global");
	check_at(index, 0x2000, "function");
	check_at(index, 0x3000, "malloc");
	check_at(index, 0x4007, "long");
	check_at(index, 0x5007, "winner");
	check_at(index, 0x5008, "longer_local");
	check_at(index, 0x600f, "sized_local");
	check_at(index, 0x6010, NULL);
	check_at(index, 0x7000, "unsized_local");
	check_at(index, 0x7010, "next");
	symbol_index_destroy(index);
}

/* As asm has them: labels at a function's start, in it, at its end, and between two functions. */
TEST(index_labels_do_not_hide_functions)
{
	struct symbol_index *index = symbol_index_create();
	symbol_index_add(index, 0x1000, 0x40, "static_function", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x1000, 0, "at_start", STB_GLOBAL, STT_NOTYPE);
	symbol_index_add(index, 0x1010, 0, "inside", STB_GLOBAL, STT_FUNC);
	symbol_index_add(index, 0x1010, 0, "inside_too", STB_LOCAL, STT_NOTYPE);
	symbol_index_add(index, 0x1040, 0, "at_end", STB_GLOBAL, STT_NOTYPE);
	symbol_index_add(index, 0x1050, 0x10, "next_function", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x1060, 0x40, "around", STB_GLOBAL, STT_FUNC);
	symbol_index_add(index, 0x1070, 0x10, "within", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x1078, 0, "inside_both", STB_GLOBAL, STT_FUNC);
	symbol_index_add(index, 0x1088, 0, "inside_around", STB_GLOBAL, STT_FUNC);
	symbol_index_build(index);
	check_at(index, 0x1000, "static_function");
	check_at(index, 0x1010, "static_function");
	check_at(index, 0x103f, "static_function");
	check_at(index, 0x1040, "at_end");
	check_at(index, 0x104f, "at_end");
	check_at(index, 0x1050, "next_function");
	check_at(index, 0x106f, "around");
	check_at(index, 0x107f, "within");
	check_at(index, 0x1088, "around");
	check_at(index, 0x109f, "around");
	check_at(index, 0x10a0, NULL);
	symbol_index_destroy(index);
}

/* However many differ in nothing but their names, and wherever the best stands among them. */
TEST(index_aliases_by_name)
{
	for (unsigned count = 2; count < 40; count++) {
		struct symbol_index *index = symbol_index_create();
		for (unsigned i = 0; i < count; i++)
			add(index, 0x1000, 8,
				i == count / 2 ? "_best"
				: i % 2        ? "__two"
					       : "___three");
		add(index, 0x1000, 16, "longer");
		add(index, 0x1000, 16, "also_longer");
		for (unsigned i = 0; i < count; i++)
			add(index, 0x2000, 8, i == count / 2 ? "plain" : "_plain");
		add(index, 0x2008, 0, "__unsized");
		add(index, 0x2008, 0, "_unsized");
		add(index, 0x3000, 8, "last");
		symbol_index_build(index);
		for (int again = 0; again < 2; again++) {
			check_at(index, 0x1007, "longer");
			check_at(index, 0x100f, "longer");
			check_at(index, 0x2007, "plain");
			check_at(index, 0x2008, "_unsized");
			check_at(index, 0x3007, "last");
		}
		symbol_index_destroy(index);
	}
}

TEST(index_aliases_behind_a_better_one)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0x1000, 8, "winner");
	symbol_index_add(index, 0x1000, 16, "__longer", STB_LOCAL, STT_FUNC);
	symbol_index_add(index, 0x1000, 16, "_longer", STB_LOCAL, STT_FUNC);
	symbol_index_build(index);
	check_at(index, 0x1007, "winner");
	check_at(index, 0x100f, "_longer");
	symbol_index_destroy(index);
}

/* Lower halves that are equal in two banks. */
TEST(index_banks_do_not_mix)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0x1000, 8, "_low");
	add(index, 0x200001000, 8, "high");
	add(index, 0x200002000, 0, "behind");
	symbol_index_build(index);
	check_at(index, 0x1000, "_low");
	check_at(index, 0x200001000, "high");
	check_at(index, 0x100001000, NULL);
	check_at(index, 0x200002000, "behind");
	symbol_index_destroy(index);
}

TEST(index_wide_and_wrapping_addresses)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0, 4, "zero");
	add(index, 0xffffffff81000000, 0x100, "kernel");
	add(index, 0xffffffffc0000000, UINT64_MAX, "module");
	add(index, 0x100000000, UINT64_MAX, "huge");
	add(index, UINT64_MAX, UINT64_MAX, "end");
	symbol_index_build(index);
	check_at(index, 3, "zero");
	check_at(index, 4, NULL);
	check_at(index, 0xffffffff810000ff, "kernel");
	check_at(index, 0xffffffff81000100, NULL);
	check_at(index, 0xffffffffd0000000, "module");
	check_at(index, 0x100000010, "huge");
	symbol_index_destroy(index);
}

/* What the index promises, by brute force. Sizes are never 0 and starts unique, so no rule but
 * nesting applies. */
static const char *slow_lookup(
	const struct elf_symbol *symbols, size_t count, uint64_t address, char names[][8])
{
	const struct elf_symbol *found = NULL;
	for (size_t i = 0; i < count; i++)
		if (symbols[i].address <= address && address - symbols[i].address < symbols[i].size)
			if (!found || symbols[i].address > found->address)
				found = &symbols[i];
	return found ? names[found - symbols] : NULL;
}

TEST(index_agrees_with_brute_force)
{
	enum {
		COUNT = 60,
		SPAN = 2000
	};
	srand(1);
	for (int round = 0; round < 200; round++) {
		struct elf_symbol symbols[COUNT];
		char names[COUNT][8];
		struct symbol_index *index = symbol_index_create();
		for (unsigned i = 0; i < COUNT; i++) {
			symbols[i] = (struct elf_symbol){
				.address = 1000 + i * (SPAN / COUNT) + (unsigned)rand() % 30,
				.size = 1 + (unsigned)rand() % (rand() % 4 ? 40 : 600)};
			snprintf(names[i], sizeof(names[i]), "s%u", i);
		}
		for (unsigned i = 0; i < COUNT; i++) {
			unsigned k = (i * 37 + (unsigned)round) % COUNT;
			add(index, symbols[k].address, symbols[k].size, names[k]);
		}
		symbol_index_build(index);
		for (uint64_t address = 990; address < 1000 + SPAN + 700; address++)
			check_at(index, address, slow_lookup(symbols, COUNT, address, names));
		symbol_index_destroy(index);
	}
}

TEST(index_batch)
{
	struct symbol_index *index = symbol_index_create();
	add(index, 0x1000, 8, "a");
	add(index, 0x2000, 8, "b");
	symbol_index_build(index);
	static const uint64_t addresses[] = {0x2001, 0x1fff, 0x1000, 0x1007};
	struct symbol_hit hits[4];
	CHECK_INT(symbol_index_lookup_batch(index, addresses, 4, hits), 3);
	CHECK_STR(hits[0].name, "b");
	CHECK(hits[1].name == NULL);
	CHECK(hits[2].id == hits[3].id && hits[2].id != hits[0].id);
	CHECK(hits[0].id < symbol_index_count(index));
	symbol_index_destroy(index);
}
