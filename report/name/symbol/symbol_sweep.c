#include "report/name/symbol/symbol_sweep.h"

#include <elf.h>
#include <stdbool.h>

#include "format/base/mem.h"
#include "report/name/symbol/symbol_index.h"

enum {
	CANDIDATES_AHEAD = 16, /* prefetched while sweeping */
	NAMES_MAX = 16,        /* of equal aliases, between which a look-up chooses */
};

/* ---- choosing among aliases ---- */

/* A label may stand anywhere in a function; what has a size says where it begins and ends. */
static uint8_t symbol_sweep_rank_of(const struct elf_symbol *symbol)
{
	uint8_t rank = (symbol->size ? 8 : 0) | (symbol->type == STT_NOTYPE ? 0 : 4);
	if (symbol->bind == STB_GLOBAL || symbol->bind == STB_GNU_UNIQUE)
		return rank | 2;
	return symbol->bind == STB_WEAK ? rank | 1 : rank;
}

/* Part of the order. */
struct run {
	const uint64_t *order;
	size_t count;
};

/* Neither is better than the other, as far as can be said without their names. */
static bool symbol_sweep_is_equal(const struct elf_symbol *a, const struct elf_symbol *b)
{
	return a->size == b->size && symbol_sweep_rank_of(a) == symbol_sweep_rank_of(b);
}

static bool is_better(const struct elf_symbol *a, const struct elf_symbol *b)
{
	uint8_t rank_a = symbol_sweep_rank_of(a), rank_b = symbol_sweep_rank_of(b);
	return rank_a != rank_b ? rank_a > rank_b : a->size > b->size;
}

/* The best that has `min_size` bytes or more, the first of equals; NULL when none has. */
static const struct elf_symbol *best_of(
	const struct symbol_index *index, const struct run *run, uint64_t min_size)
{
	const struct elf_symbol *best = NULL;
	for (size_t i = 0; i < run->count; i++) {
		const struct elf_symbol *candidate = symbol_sweep_candidate(index, run->order[i]);
		if (candidate->size >= min_size && (!best || is_better(candidate, best)))
			best = candidate;
	}
	return best;
}

static size_t symbol_sweep_leading_underscores(const char *name)
{
	size_t count = 0;
	while (name[count] == '_')
		count++;
	return count;
}

uint32_t symbol_sweep_better_name(const struct symbol_index *index, uint32_t a, uint32_t b)
{
	size_t of_a = symbol_sweep_leading_underscores(symbol_sweep_name(index, a));
	return of_a && symbol_sweep_leading_underscores(symbol_sweep_name(index, b)) < of_a ? b : a;
}

/* ---- flattening ---- */

/* The state of the sweep over one bank. */
struct sweep {
	struct symbol_index *index;
	struct piece_bank *bank;
	uint64_t limit;     /* the first address behind the bank: where the next one begins */
	VEC(uint32_t) open; /* symbols begun and not ended, the innermost last; ends may be out of
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
		if (sweep->open.len)
			symbol_pieces_put(sweep->bank, end, sweep->open.data[sweep->open.len - 1]);
	}
}

static void symbol_sweep_put_symbol(
	struct symbol_index *index, uint32_t start, uint32_t end, uint32_t name)
{
	index->symbols.data[index->symbols.len++] = (struct symbol){start, end, name, 0};
}

/* The names of those that equal `best`: to be chosen from when it was found, unless they are many.
 */
static void symbol_sweep_put_names(struct symbol_index *index, const struct run *run,
	const struct elf_symbol *best, struct symbol *symbol)
{
	size_t equals = 0;
	for (size_t i = 0; i < run->count; i++)
		equals += symbol_sweep_is_equal(symbol_sweep_candidate(index, run->order[i]), best);
	for (size_t i = 0; equals > 1 && i < run->count; i++) {
		const struct elf_symbol *candidate = symbol_sweep_candidate(index, run->order[i]);
		if (candidate == best || !symbol_sweep_is_equal(candidate, best))
			continue;
		if (equals > NAMES_MAX)
			symbol->name =
				symbol_sweep_better_name(index, symbol->name, candidate->name);
		else
			symbol_sweep_put_symbol(index, 0, 0, candidate->name);
		symbol->others += equals <= NAMES_MAX;
	}
}

/* Begins `best` of the run, or what has its names. */
static void open_symbol(struct sweep *sweep, uint32_t start, uint32_t end, const struct run *run,
	const struct elf_symbol *best)
{
	if (end <= start)
		return;
	struct symbol_index *index = sweep->index;
	uint32_t id = (uint32_t)index->symbols.len;
	symbol_sweep_put_symbol(index, start, end, best->name);
	symbol_sweep_put_names(index, run, best, &index->symbols.data[id]);
	vec_push(&sweep->open, id);
	symbol_pieces_put(sweep->bank, start, id);
}

/* The range that holds `address`; they are sorted and disjoint by now. */
static const struct elf_code_range *symbol_sweep_find_range(
	const struct symbol_index *index, uint64_t address)
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
static uint64_t symbol_sweep_extend(
	const struct sweep *sweep, uint64_t address, uint64_t next, bool is_last)
{
	const struct elf_code_range *range = symbol_sweep_find_range(sweep->index, address);
	if (range)
		return range->end < next ? range->end : next;
	if (is_last && next - address > SYMBOL_INDEX_TAIL_BYTES)
		return address + SYMBOL_INDEX_TAIL_BYTES;
	return next;
}

static uint32_t offset_in(const struct sweep *sweep, uint64_t address)
{
	uint64_t capped = address < sweep->limit ? address : sweep->limit;
	return (uint32_t)(capped - sweep->bank->base);
}

static void open_sized(struct sweep *sweep, const struct run *run, const struct elf_symbol *symbol)
{
	uint64_t address = symbol->address, end = address + symbol->size;
	end = end < address ? UINT64_MAX : end;
	open_symbol(sweep, offset_in(sweep, address), offset_in(sweep, end), run, symbol);
}

/*
 * Opens the winner among the symbols at one address and, around it, longer
 * ones. Each of those is the best of all that are longer than the one before;
 * a hostile table may have any number, so CHAIN_MAX are enough.
 */
static void open_aliases(struct sweep *sweep, const struct run *run)
{
	enum {
		CHAIN_MAX = 4
	};
	const struct elf_symbol *chain[CHAIN_MAX];
	size_t len = 0;
	for (uint64_t min_size = 1; len < CHAIN_MAX && min_size;) {
		const struct elf_symbol *best = best_of(sweep->index, run, min_size);
		if (!best)
			break;
		chain[len++] = best;
		min_size = best->size + 1; /* 0 behind UINT64_MAX */
	}
	while (len--) /* the longest first, so that the winner is innermost */
		open_sized(sweep, run, chain[len]);
}

/* Opens what the candidates at one address amount to. `next` is where the next ones are. */
static void place_symbols(struct sweep *sweep, const struct run *run, uint64_t next, bool is_last)
{
	const struct elf_symbol *best = best_of(sweep->index, run, 0);
	if (best->size) {
		open_aliases(sweep, run);
		return;
	}
	if (sweep->open.len) /* a label in a function, which its size says to go on */
		return;
	size_t id = sweep->index->symbols.len;
	open_symbol(sweep, offset_in(sweep, best->address),
		offset_in(sweep, symbol_sweep_extend(sweep, best->address, next, is_last)), run,
		best);
	if (id < sweep->index->symbols.len)
		sweep->index->symbols.data[id].others |= SYMBOL_IS_EXTENDED;
}

/* The offset in the bank of what stands at a place of the order: the bank has 4 GiB, and the order
 * the lower halves of the addresses. */
static uint32_t offset_at(const struct piece_bank *bank, uint64_t place)
{
	return (uint32_t)(place >> 32) - (uint32_t)bank->base;
}

static void prefetch_candidate(const struct symbol_index *index, const struct run *left, size_t i)
{
	if (i + CANDIDATES_AHEAD < left->count)
		__builtin_prefetch(
			symbol_sweep_candidate(index, left->order[i + CANDIDATES_AHEAD]));
}

/* How many stand at the address of the first, where no two differ but by name and others follow;
 * else 0. */
static size_t count_equals(const struct symbol_index *index, const struct run *left, size_t first)
{
	const struct elf_symbol *candidate = symbol_sweep_candidate(index, left->order[first]);
	for (size_t i = first + 1; i < left->count && i - first <= NAMES_MAX; i++) {
		if (left->order[i] >> 32 != left->order[first] >> 32)
			return i - first;
		if (!symbol_sweep_is_equal(
			    symbol_sweep_candidate(index, left->order[i]), candidate))
			return 0;
		prefetch_candidate(index, left, i);
	}
	return 0;
}

/*
 * The usual symbols: at their address alone or with equals, in no other, and ended before the next
 * one begins. Places as many as there are one after another, but never the last, and returns how
 * many. It is what opening and closing them would come to, without the stack: building spends its
 * time here.
 */
static size_t place_plain(struct sweep *sweep, const struct run *left)
{
	struct symbol_index *index = sweep->index;
	struct piece_bank *bank = sweep->bank;
	struct symbol *symbol = &index->symbols.data[index->symbols.len];
	struct piece *piece = &bank->pieces[bank->count];
	size_t i = 0, equals = 1;
	uint32_t start = offset_at(bank, left->order[0]);
	for (; i + 1 < left->count; i += equals) {
		prefetch_candidate(index, left, i);
		const struct elf_symbol *candidate = symbol_sweep_candidate(index, left->order[i]);
		uint32_t next = offset_at(bank, left->order[i + 1]);
		equals = 1;
		if (next == start) {
			equals = count_equals(index, left, i);
			next = offset_at(bank, left->order[i + equals]);
		}
		if (candidate->size - 1 >= next - start) /* 0 is too large as well */
			break;
		uint32_t end = start + (uint32_t)candidate->size;
		*piece++ = (struct piece){start, (uint32_t)(index->symbols.len + i)};
		symbol[i] = (struct symbol){start, end, candidate->name, (uint32_t)equals - 1};
		for (size_t k = 1; k < equals; k++)
			symbol[i + k] = (struct symbol){
				.name = symbol_sweep_candidate(index, left->order[i + k])->name};
		start = next;
	}
	bank->count = (uint32_t)(piece - bank->pieces);
	index->symbols.len += i;
	return i;
}

static void sweep_symbols(struct sweep *sweep, const uint64_t *order, size_t count)
{
	const struct symbol_index *index = sweep->index;
	for (size_t i = 0; i < count;) {
		close_until(sweep, offset_at(sweep->bank, order[i]));
		if (!sweep->open.len)
			i += place_plain(sweep, &(struct run){&order[i], count - i});
		struct run run = {&order[i], 1};
		uint64_t address = symbol_sweep_candidate(index, order[i])->address;
		while (i + run.count < count && order[i + run.count] >> 32 == order[i] >> 32)
			run.count++;
		i += run.count;
		close_until(sweep, offset_in(sweep, address));
		place_symbols(sweep, &run,
			i < count ? symbol_sweep_candidate(index, order[i])->address : sweep->limit,
			i == count);
	}
	close_until(sweep, UINT32_MAX);
}

void symbol_sweep_bank(
	struct symbol_index *index, const uint64_t *order, size_t count, uint64_t limit)
{
	struct piece_bank bank = {.base = symbol_sweep_candidate(index, order[0])->address};
	/* A bank spans offsets of 32 bits, its end included. */
	if (limit - bank.base > UINT32_MAX)
		limit = bank.base + UINT32_MAX;
	/* A symbol begins one piece, and one more may begin where it ends. */
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
