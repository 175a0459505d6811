/*
 * How the index is built and asked.
 *
 * Names stay where they are, in the mapped files' string tables; none is
 * looked at before it was found: all over a table of megabytes, that would take
 * as long as the rest. So where aliases compete by their names, the look-up
 * chooses.
 *
 * 1. Sort by address (symbol_sort.h), and cut into banks of 4 GiB: one, except
 *    in forged files. In a bank an address is a 32-bit offset.
 * 2. Choose among aliases and flatten what nests: symbol_sweep.h.
 * 3. Guide: symbol_pieces.h.
 */
#include "report/name/symbol/symbol_index.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "report/name/symbol/symbol_sort.h"
#include "report/name/symbol/symbol_sweep.h"

enum {
	MAX_SYMBOLS = 1 << 30,
	LOOKUPS_AT_ONCE = 16,
};

struct symbol_index *symbol_index_create(void)
{
	return mem_zalloc(sizeof(struct symbol_index));
}

void symbol_index_destroy(struct symbol_index *index)
{
	if (!index)
		return;
	vec_each(&index->banks, bank)
		symbol_pieces_deinit(bank);
	vec_deinit(&index->banks);
	vec_deinit(&index->symbols);
	vec_deinit(&index->candidates);
	vec_deinit(&index->ranges);
	vec_each(&index->names, names)
		elf_map_release(&names->text);
	vec_deinit(&index->names);
	mem_free(index);
}

/* ---- adding ---- */

/* Copies a name behind those that were added last; false when the numbers end. */
static bool symbol_index_copy_name(struct symbol_index *index, const char *name, size_t len)
{
	if (len > UINT32_MAX - index->names_end)
		return false;
	if (!index->own_cap)
		vec_push(&index->names,
			(struct elf_names){.first = index->names_end, .text = {.slot = -1}});
	struct elf_map *text = &index->names.data[index->names.len - 1].text;
	if (text->len + len > index->own_cap) {
		index->own_cap = (text->len + len) * 2;
		text->copy = mem_realloc_array(text->copy, index->own_cap, 1);
		text->bytes = text->copy;
	}
	memcpy(text->copy + text->len, name, len);
	text->len += len;
	return true;
}

void symbol_index_add(struct symbol_index *index, uint64_t address, uint64_t size, const char *name,
	uint8_t bind, uint8_t type)
{
	size_t len = strlen(name) + 1;
	if (len == 1 || index->candidates.len >= MAX_SYMBOLS ||
		!symbol_index_copy_name(index, name, len))
		return;
	vec_push(&index->candidates, (struct elf_symbol){
					     .address = address,
					     .size = size,
					     .name = index->names_end,
					     .type = type,
					     .bind = bind,
				     });
	index->names_end += (uint32_t)len;
}

/* Their numbers begin behind those that there are. */
static void append_symbols(struct symbol_index *index, struct elf_symbols *symbols)
{
	if (!index->candidates.len) { /* the usual case: nothing is copied */
		vec_deinit(&index->candidates);
		index->candidates.data = steal_ptr(symbols->symbols.data);
		index->candidates.len = symbols->symbols.len;
		index->candidates.cap = symbols->symbols.cap;
		symbols->symbols.len = symbols->symbols.cap = 0;
	} else {
		vec_append(&index->candidates, symbols->symbols.data, symbols->symbols.len);
	}
	if (index->candidates.len > MAX_SYMBOLS)
		index->candidates.len = MAX_SYMBOLS;
}

void symbol_index_add_elf(struct symbol_index *index, struct elf_symbols *symbols)
{
	uint32_t base = index->names_end;
	if (symbols->names_end <= UINT32_MAX - base) {
		size_t first = index->candidates.len;
		append_symbols(index, symbols);
		for (size_t i = first; base && i < index->candidates.len; i++)
			index->candidates.data[i].name += base;
		for (size_t i = 0; i < symbols->names_count; i++) {
			symbols->names[i].first += base;
			vec_push(&index->names, symbols->names[i]);
		}
		index->own_cap = symbols->names_count ? 0 : index->own_cap;
		index->names_end += symbols->names_end;
		symbols->names_count = 0; /* they are ours */
	}
	vec_append(&index->ranges, symbols->code.data, symbols->code.len);
	elf_symbols_deinit(symbols);
}

void symbol_index_add_range(struct symbol_index *index, uint64_t start, uint64_t end)
{
	if (start < end)
		vec_push(&index->ranges, (struct elf_code_range){start, end});
}

/* ---- all of it ---- */

/* How many of the candidates from the first on lie within 4 GiB. */
static size_t bank_len(const struct symbol_index *index, const uint64_t *order, size_t count)
{
	uint64_t base = symbol_sweep_candidate(index, order[0])->address;
	if (symbol_sweep_candidate(index, order[count - 1])->address - base < UINT32_MAX)
		return count;
	size_t len = 1;
	while (symbol_sweep_candidate(index, order[len])->address - base < UINT32_MAX)
		len++;
	return len;
}

void symbol_index_build(struct symbol_index *index)
{
	size_t count = index->candidates.len;
	if (!count)
		return;
	CLEANUP_FREE uint64_t *order = symbol_sort(index->candidates.data, count);
	index->ranges.len = symbol_sort_ranges(index->ranges.data, index->ranges.len);
	vec_reserve(&index->symbols, count); /* at most: aliases drop out */
	for (size_t first = 0, len; first < count; first += len) {
		len = bank_len(index, &order[first], count - first);
		bool is_last = first + len == count;
		symbol_sweep_bank(index, &order[first], len,
			is_last ? UINT64_MAX
				: symbol_sweep_candidate(index, order[first + len])->address);
	}
	vec_deinit(&index->candidates);
	vec_deinit(&index->ranges);
}

/* ---- lookups ---- */

size_t symbol_index_count(const struct symbol_index *index)
{
	return index->symbols.len;
}

static const struct piece_bank *find_bank(const struct symbol_index *index, uint64_t address)
{
	const struct piece_bank *found = NULL;
	for (size_t i = 0; i < index->banks.len && index->banks.data[i].base <= address; i++)
		found = &index->banks.data[i];
	return found;
}

/* Where an address is: `bank` is NULL where it is in none. `id`: the symbol that holds it, unless
 * it ends before. */
struct place {
	const struct piece_bank *bank;
	uint32_t offset, id;
};

static struct place symbol_index_place_of(const struct symbol_index *index, uint64_t address)
{
	const struct piece_bank *bank = find_bank(index, address);
	if (!bank || address - bank->base > UINT32_MAX)
		return (struct place){0};
	return (struct place){.bank = bank, .offset = (uint32_t)(address - bank->base)};
}

static bool is_in_symbol(const struct symbol_index *index, const struct place *place)
{
	return place->bank && place->offset < index->symbols.data[place->id].end;
}

/* Another thread that chooses at the same time chooses the same. */
static __attribute__((noinline)) void symbol_index_choose_name(
	const struct symbol_index *index, struct symbol *symbol, uint32_t others)
{
	uint32_t is_extended = others & SYMBOL_IS_EXTENDED;
	others -= is_extended;
	uint32_t name = atomic_load_explicit(&symbol->name, memory_order_relaxed);
	for (uint32_t i = 1; i <= others; i++)
		name = symbol_sweep_better_name(index, name, symbol[i].name);
	atomic_store_explicit(&symbol->name, name, memory_order_relaxed);
	atomic_store_explicit(&symbol->others, is_extended, memory_order_release);
}

/* Written in place: a copy, read in other pieces than written, would stall the processor. */
static inline void fill_hit(
	const struct symbol_index *index, const struct place *place, struct symbol_hit *ret)
{
	struct symbol *symbol = &index->symbols.data[place->id];
	uint32_t others = atomic_load_explicit(&symbol->others, memory_order_acquire);
	ret->is_extended = others & SYMBOL_IS_EXTENDED;
	if (others & ~(uint32_t)SYMBOL_IS_EXTENDED)
		symbol_index_choose_name(index, symbol, others);
	ret->name =
		symbol_sweep_name(index, atomic_load_explicit(&symbol->name, memory_order_relaxed));
	ret->start = place->bank->base + symbol->start;
	ret->size = symbol->end - symbol->start;
	ret->id = place->id;
}

bool symbol_index_lookup(const struct symbol_index *index, uint64_t address, struct symbol_hit *hit)
{
	struct place place = symbol_index_place_of(index, address);
	if (place.bank)
		place.id = symbol_pieces_find(place.bank, place.offset);
	if (!is_in_symbol(index, &place))
		return false;
	fill_hit(index, &place, hit);
	return true;
}

/* A few look-ups go hand in hand, so that what they wait for is on its way for all of them. */
static size_t look_up_some(const struct symbol_index *index, const uint64_t *addresses,
	size_t count, struct symbol_hit *hits)
{
	struct place places[LOOKUPS_AT_ONCE];
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		places[i] = symbol_index_place_of(index, addresses[i]);
		if (places[i].bank)
			symbol_pieces_prefetch_bucket(places[i].bank, places[i].offset);
	}
	for (size_t i = 0; i < count; i++)
		if (places[i].bank)
			symbol_pieces_prefetch_pieces(places[i].bank, places[i].offset);
	for (size_t i = 0; i < count; i++) {
		if (!places[i].bank)
			continue;
		places[i].id = symbol_pieces_find(places[i].bank, places[i].offset);
		__builtin_prefetch(&index->symbols.data[places[i].id]);
	}
	for (size_t i = 0; i < count; i++) {
		bool is_found = is_in_symbol(index, &places[i]);
		if (is_found)
			fill_hit(index, &places[i], &hits[i]);
		else
			hits[i] = (struct symbol_hit){0};
		found += is_found;
	}
	return found;
}

size_t symbol_index_lookup_batch(const struct symbol_index *index, const uint64_t *addresses,
	size_t count, struct symbol_hit *hits)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i += LOOKUPS_AT_ONCE) {
		size_t some = count - i < LOOKUPS_AT_ONCE ? count - i : LOOKUPS_AT_ONCE;
		found += look_up_some(index, &addresses[i], some, &hits[i]);
	}
	return found;
}
