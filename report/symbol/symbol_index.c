/*
 * How the index is built and asked.
 *
 * Names stay where they are, in the mapped files' string tables; one is looked
 * at again only where aliases compete, or when it was found.
 *
 * 1. Sort by address (symbol_sort.h), and cut into banks of 4 GiB: one, unless
 *    somebody is playing. In a bank an address is a 32-bit offset.
 * 2. Choose. Symbols at one address compete; the winner stays, followed by any
 *    that reach further than all better ones.
 * 3. Flatten. Symbols may nest and overlap. A sweep over the starts with a
 *    stack of open symbols cuts them into pieces that do not: each piece is
 *    [its start, the next one's start) and belongs to one symbol or to none.
 * 4. Guide: symbol_pieces.h.
 */
#include "report/symbol/symbol_index.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "report/symbol/symbol_pieces.h"
#include "report/symbol/symbol_sort.h"

enum {
	MAX_SYMBOLS = 1 << 30,
	CANDIDATES_AHEAD = 16, /* prefetched while sweeping */
	LOOKUPS_AT_ONCE = 16,
};

/* A symbol that survived; its offsets count from its bank's base. */
struct symbol {
	uint32_t start, end, name;
};

struct symbol_index {
	VEC(struct elf_symbol) candidates;
	VEC(struct elf_code_range) ranges;
	VEC(struct elf_names) names; /* `first` ascends */
	size_t own_cap;              /* of the last one, where names are added one by one; else 0 */
	uint32_t names_end;

	VEC(struct symbol) symbols;
	VEC(struct piece_bank) banks; /* ascending; one, nearly always */
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

static uint8_t rank_of(uint8_t bind, uint8_t type)
{
	uint8_t rank = type == STT_NOTYPE ? 0 : 1;
	if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
		return rank | 4;
	return bind == STB_WEAK ? rank | 2 : rank;
}

static const char *name_of(const struct symbol_index *index, uint32_t number)
{
	return elf_names_get(index->names.data, index->names.len, number);
}

/* Copies a name behind those that were added last; false when the numbers end. */
static bool copy_name(struct symbol_index *index, const char *name, size_t len)
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
	if (len == 1 || index->candidates.len >= MAX_SYMBOLS || !copy_name(index, name, len))
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

/* ---- choosing among aliases ---- */

static size_t leading_underscores(const char *name)
{
	size_t count = 0;
	while (name[count] == '_')
		count++;
	return count;
}

static bool is_better(
	const struct symbol_index *index, const struct elf_symbol *a, const struct elf_symbol *b)
{
	uint8_t rank_a = rank_of(a->bind, a->type), rank_b = rank_of(b->bind, b->type);
	if (rank_a != rank_b)
		return rank_a > rank_b;
	if (a->size != b->size)
		return a->size > b->size;
	return leading_underscores(name_of(index, a->name)) <
	       leading_underscores(name_of(index, b->name));
}

/* The candidate that stands at a place of the order. */
static const struct elf_symbol *candidate_at(const struct symbol_index *index, uint64_t place)
{
	return &index->candidates.data[(uint32_t)place];
}

/* The best of `count` candidates that have `min_size` bytes or more, NULL when none has. */
static const struct elf_symbol *best_of(
	const struct symbol_index *index, const uint64_t *order, size_t count, uint64_t min_size)
{
	const struct elf_symbol *best = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct elf_symbol *candidate = candidate_at(index, order[i]);
		if (candidate->size >= min_size && (!best || is_better(index, candidate, best)))
			best = candidate;
	}
	return best;
}

/* ---- flattening ---- */

/* The state of the sweep over one bank. */
struct sweep {
	struct symbol_index *index;
	struct piece_bank *bank;
	uint64_t limit;    /* the first address behind the bank: where the next one begins */
	VEC(int32_t) open; /* symbols begun and not ended, the innermost last; ends may be out of
			      order */
};

/* Closes all symbols that end at or before `offset`, and gives the bytes behind each to what is
 * open around it. */
static void close_until(struct sweep *sweep, uint32_t offset)
{
	const struct symbol *symbols = sweep->index->symbols.data;
	while (sweep->open.len) {
		uint32_t end = symbols[sweep->open.data[sweep->open.len - 1]].end;
		if (end > offset)
			return;
		do {
			sweep->open.len--;
		} while (sweep->open.len &&
			 symbols[sweep->open.data[sweep->open.len - 1]].end <= end);
		symbol_pieces_put(sweep->bank, end,
			sweep->open.len ? sweep->open.data[sweep->open.len - 1]
					: SYMBOL_PIECES_NONE);
	}
}

static void open_symbol(struct sweep *sweep, uint32_t start, uint32_t end, uint32_t name)
{
	if (end <= start)
		return;
	struct symbol_index *index = sweep->index;
	int32_t id = (int32_t)index->symbols.len;
	index->symbols.data[index->symbols.len++] = (struct symbol){start, end, name};
	vec_push(&sweep->open, id);
	symbol_pieces_put(sweep->bank, start, id);
}

/* The range that holds `address`; they are sorted and disjoint by now. */
static const struct elf_code_range *find_range(const struct symbol_index *index, uint64_t address)
{
	size_t low = 0, high = index->ranges.len;
	while (low < high) { /* the first range behind `address` */
		size_t middle = low + (high - low) / 2;
		if (index->ranges.data[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < index->ranges.data[low - 1].end ? &index->ranges.data[low - 1]
								: NULL;
}

/* Where a symbol without a size ends: see the header. `next` is the following start, or the bank's
 * limit. */
static uint64_t extend(const struct sweep *sweep, uint64_t address, uint64_t next, bool is_last)
{
	uint64_t end = next;
	const struct elf_code_range *range = find_range(sweep->index, address);
	if (range && range->end < end)
		end = range->end;
	else if (!range && is_last && end - address > SYMBOL_INDEX_TAIL_BYTES)
		end = address + SYMBOL_INDEX_TAIL_BYTES;
	if (sweep->open.len) {
		int32_t around = sweep->open.data[sweep->open.len - 1];
		uint64_t outer = sweep->bank->base + sweep->index->symbols.data[around].end;
		end = outer < end ? outer : end;
	}
	return end;
}

static uint32_t offset_in(const struct sweep *sweep, uint64_t address)
{
	uint64_t capped = address < sweep->limit ? address : sweep->limit;
	return (uint32_t)(capped - sweep->bank->base);
}

static void open_sized(struct sweep *sweep, uint64_t address, uint64_t size, uint32_t name)
{
	uint64_t end = address + size < address ? UINT64_MAX : address + size;
	open_symbol(sweep, offset_in(sweep, address), offset_in(sweep, end), name);
}

/*
 * Opens the winner among the `count` symbols at one address and, around it,
 * longer ones. Each of those is the best of all that are longer than the one
 * before; a hostile table may have any number, so CHAIN_MAX are enough.
 */
static void open_aliases(struct sweep *sweep, const uint64_t *order, size_t count)
{
	enum {
		CHAIN_MAX = 4
	};
	const struct elf_symbol *chain[CHAIN_MAX];
	size_t len = 0;
	for (uint64_t min_size = 1; len < CHAIN_MAX && min_size;) {
		const struct elf_symbol *best = best_of(sweep->index, order, count, min_size);
		if (!best)
			break;
		chain[len++] = best;
		min_size = best->size + 1; /* 0 behind UINT64_MAX */
	}
	while (len--) /* the longest first, so that the winner is innermost */
		open_sized(sweep, chain[len]->address, chain[len]->size, chain[len]->name);
}

/* Opens what the `count` candidates at one address amount to. `next` is where the next ones are. */
static void place_symbols(
	struct sweep *sweep, const uint64_t *order, size_t count, uint64_t next, bool is_last)
{
	const struct elf_symbol *best = best_of(sweep->index, order, count, 0);
	if (best->size) {
		open_aliases(sweep, order, count);
		return;
	}
	/* The name of the best, and the size of an alias that has one. */
	const struct elf_symbol *sized = best_of(sweep->index, order, count, 1);
	if (sized)
		open_sized(sweep, best->address, sized->size, best->name);
	else
		open_symbol(sweep, offset_in(sweep, best->address),
			offset_in(sweep, extend(sweep, best->address, next, is_last)), best->name);
}

/* The usual symbol: alone at its address, in no other, and ended before the next one begins. */
static bool is_plain(const struct sweep *sweep, const struct elf_symbol *candidate, uint64_t next)
{
	return !sweep->open.len && candidate->address != next && candidate->size &&
	       candidate->size <= next - candidate->address;
}

/* What opening and closing it would come to, without the stack: this is where building spends its
 * time. */
static void place_plain(struct sweep *sweep, const struct elf_symbol *candidate, uint64_t next)
{
	struct symbol_index *index = sweep->index;
	struct piece_bank *bank = sweep->bank;
	uint32_t start = (uint32_t)(candidate->address - bank->base);
	uint32_t end = start + (uint32_t)candidate->size;
	uint32_t piece = bank->count;
	piece -= piece && bank->pieces[piece - 1].start == start;
	bank->pieces[piece] = (struct piece){start, (int32_t)index->symbols.len};
	bank->pieces[piece + 1] = (struct piece){end, SYMBOL_PIECES_NONE};
	bank->count = piece + 1 + (candidate->address + candidate->size != next);
	index->symbols.data[index->symbols.len++] = (struct symbol){start, end, candidate->name};
}

static void sweep_symbols(struct sweep *sweep, const uint64_t *order, size_t count)
{
	const struct symbol_index *index = sweep->index;
	for (size_t i = 0, run; i < count; i += run) {
		run = 1;
		if (i + CANDIDATES_AHEAD < count)
			__builtin_prefetch(candidate_at(index, order[i + CANDIDATES_AHEAD]));
		const struct elf_symbol *candidate = candidate_at(index, order[i]);
		uint64_t address = candidate->address;
		uint64_t next =
			i + 1 < count ? candidate_at(index, order[i + 1])->address : sweep->limit;
		if (sweep->open.len)
			close_until(sweep, offset_in(sweep, address));
		if (is_plain(sweep, candidate, next)) {
			place_plain(sweep, candidate, next);
			continue;
		}
		while (i + run < count && candidate_at(index, order[i + run])->address == address)
			run++;
		bool is_last = i + run == count;
		next = is_last ? sweep->limit : candidate_at(index, order[i + run])->address;
		place_symbols(sweep, &order[i], run, next, is_last);
	}
	close_until(sweep, UINT32_MAX);
}

/* ---- all of it ---- */

/* Sweeps candidates that fit one bank; `limit` is the address of the first that does not. */
static void build_bank(
	struct symbol_index *index, const uint64_t *order, size_t count, uint64_t limit)
{
	struct piece_bank bank = {.base = candidate_at(index, order[0])->address};
	/* A bank spans offsets of 32 bits, its end included. */
	if (limit - bank.base > UINT32_MAX)
		limit = bank.base + UINT32_MAX;
	/* A symbol begins one piece, and one more begins where it ends. */
	bank.pieces = mem_realloc_array(NULL, count * 2, sizeof(*bank.pieces));
	struct sweep sweep = {.index = index, .bank = &bank, .limit = limit};
	sweep_symbols(&sweep, order, count);
	vec_deinit(&sweep.open);
	if (!bank.count) { /* a lone symbol at the last address there is */
		symbol_pieces_deinit(&bank);
		return;
	}
	symbol_pieces_guide(&bank);
	vec_push(&index->banks, bank);
}

/* How many of the candidates from the first on lie within 4 GiB. */
static size_t bank_len(const struct symbol_index *index, const uint64_t *order, size_t count)
{
	uint64_t base = candidate_at(index, order[0])->address;
	if (candidate_at(index, order[count - 1])->address - base < UINT32_MAX)
		return count;
	size_t len = 1;
	while (candidate_at(index, order[len])->address - base < UINT32_MAX)
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
		build_bank(index, &order[first], len,
			is_last ? UINT64_MAX : candidate_at(index, order[first + len])->address);
	}
	vec_deinit(&index->candidates);
	vec_deinit(&index->ranges);
}

/* ---- asking ---- */

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

/* Where an address is: `bank` is NULL where it is in none. */
struct place {
	const struct piece_bank *bank;
	uint32_t offset;
	int32_t id;
};

static struct place place_of(const struct symbol_index *index, uint64_t address)
{
	const struct piece_bank *bank = find_bank(index, address);
	if (!bank || address - bank->base > UINT32_MAX)
		return (struct place){.id = SYMBOL_PIECES_NONE};
	return (struct place){bank, (uint32_t)(address - bank->base), SYMBOL_PIECES_NONE};
}

static struct symbol_hit hit_at(const struct symbol_index *index, const struct place *place)
{
	const struct symbol *symbol = &index->symbols.data[place->id];
	return (struct symbol_hit){
		.name = name_of(index, symbol->name),
		.start = place->bank->base + symbol->start,
		.size = symbol->end - symbol->start,
		.id = (uint32_t)place->id,
	};
}

bool symbol_index_lookup(const struct symbol_index *index, uint64_t address, struct symbol_hit *hit)
{
	struct place place = place_of(index, address);
	if (place.bank)
		place.id = symbol_pieces_find(place.bank, place.offset);
	if (place.id == SYMBOL_PIECES_NONE)
		return false;
	*hit = hit_at(index, &place);
	return true;
}

/* A few look-ups go hand in hand, so that what they wait for is on its way for all of them. */
static size_t look_up_some(const struct symbol_index *index, const uint64_t *addresses,
	size_t count, struct symbol_hit *hits)
{
	struct place places[LOOKUPS_AT_ONCE];
	size_t found = 0;
	for (size_t i = 0; i < count; i++) {
		places[i] = place_of(index, addresses[i]);
		if (places[i].bank)
			symbol_pieces_prefetch_bucket(places[i].bank, places[i].offset);
	}
	for (size_t i = 0; i < count; i++)
		if (places[i].bank)
			symbol_pieces_prefetch_pieces(places[i].bank, places[i].offset);
	for (size_t i = 0; i < count; i++) {
		if (places[i].bank)
			places[i].id = symbol_pieces_find(places[i].bank, places[i].offset);
		if (places[i].id != SYMBOL_PIECES_NONE)
			__builtin_prefetch(&index->symbols.data[places[i].id]);
	}
	for (size_t i = 0; i < count; i++) {
		bool is_found = places[i].id != SYMBOL_PIECES_NONE;
		hits[i] = is_found ? hit_at(index, &places[i]) : (struct symbol_hit){0};
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
