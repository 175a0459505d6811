#include "report/name/symbol/symbol_resolver.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/address_index_writer.h"
#include "report/name/symbol/function_bounds.h"
#include "report/name/symbol/go_resolver.h"

enum {
	/* Bytes of .debug_info in the file. */
	MUCH_PACKED = 1 << 20,
	MUCH = 64 << 20,
	/* By ceph-osd's: 1.7 s and 0.24 s, packed 2.7 s and 1.25 s. */
	PACKED_COST_IN_WALKS = 2,
	COST_IN_WALKS = 7,
};

/* What is opened of the sources; the chains that it finds lead into it. */
struct resolver {
	const struct resolver_sources *sources;
	struct go_resolver *go;
	struct clr_lines *clr;
	struct dwarf_resolver *dwarf; /* opened when it is needed: that may mean much unpacking */
	struct address_index *index;
	struct function_bounds *bounds; /* read when a place has no name */
};

struct resolver_sources resolver_sources_of(const struct symbol_file *file)
{
	return (struct resolver_sources){
		.debug = file->debug,
		.go = file->go,
		.code = file->code,
		.clr = {.elf = file->clr_pdb_path ? file->code : NULL,
			.path = file->path,
			.root = file->root,
			.rules = file->rules},
		.debug_options = {.path = file->debug_path,
			.root = file->root,
			.rules = file->rules,
			.alt_path = file->alt_path,
			.lines = file->lines},
	};
}

enum chain_map_detail resolver_detail(const struct resolver_sources *sources)
{
	if (sources->debug || sources->go)
		return CHAIN_MAP_INLINED;
	return sources->debug_options.lines || sources->clr.elf ? CHAIN_MAP_LINES
								: CHAIN_MAP_SYMBOLS;
}

/* ---- DWARF, or its index ---- */

static bool open_dwarf(struct resolver *resolver)
{
	const struct resolver_sources *sources = resolver->sources;
	if (!resolver->dwarf && (sources->debug || sources->debug_options.lines))
		resolver->dwarf = dwarf_resolver_create(sources->debug, &sources->debug_options);
	return resolver->dwarf;
}

/* Whether the index would have cost less than the walks so far and the one to come. */
static bool is_worth_an_index(struct elf_file *elf, unsigned nr_walks)
{
	const struct elf_section *info = elf_file_find_section(elf, ".debug_info");
	if (info && !(info->flags & SHF_COMPRESSED))
		return info->size >= MUCH && nr_walks + 1 >= COST_IN_WALKS;
	if (!info)
		info = elf_file_find_section(elf, ".zdebug_info");
	return info && info->size >= MUCH_PACKED && nr_walks + 1 >= PACKED_COST_IN_WALKS;
}

static void make_index(struct resolver *resolver)
{
	struct elf_file *debug = resolver->sources->debug;
	const struct resolver_index *index = &resolver->sources->index;
	if (index->cache && debug && is_worth_an_index(debug, index->nr_walks) &&
		open_dwarf(resolver) && !dwarf_resolver_lacks_parts(resolver->dwarf) &&
		address_index_write(index->cache, index->name, resolver->dwarf))
		resolver->index = address_index_open(index->cache, index->name);
}

/* One that turns out to be damaged is none. */
static bool look_into_index(
	struct resolver *resolver, const uint64_t *addresses, size_t count, struct chain *chains)
{
	if (!resolver->index)
		return false;
	if (address_index_run(resolver->index, addresses, count, chains))
		return true;
	address_index_close(resolver->index);
	resolver->index = NULL;
	return false;
}

static void look_into_dwarf(
	struct resolver *resolver, const uint64_t *addresses, size_t count, struct chain *chains)
{
	if (look_into_index(resolver, addresses, count, chains))
		return;
	make_index(resolver);
	if (look_into_index(resolver, addresses, count, chains))
		return;
	memset(chains, 0, count * sizeof(*chains));
	if (open_dwarf(resolver))
		dwarf_resolver_run(resolver->dwarf, addresses, count, chains);
}

/* ---- Go's tables, and DWARF for the rest ---- */

/* What Go's tables know no line of is not Go's: C has at most a name there. */
static bool is_go(const struct chain *chain)
{
	return chain->count && chain->frames[0].file;
}

/* Looks into DWARF for what Go's tables left open, and keeps these where it knows nothing. */
static void fill_up(
	struct resolver *resolver, const uint64_t *addresses, size_t count, struct chain *chains)
{
	VEC(uint64_t) left = {0};
	VEC(size_t) places = {0};
	for (size_t i = 0; i < count; i++)
		if (!is_go(&chains[i])) {
			vec_push(&left, addresses[i]);
			vec_push(&places, i);
		}
	CLEANUP_FREE struct chain *found = mem_zalloc_array(left.len + 1, sizeof(*found));
	if (left.len)
		look_into_dwarf(resolver, left.data, left.len, found);
	for (size_t i = 0; i < left.len; i++)
		if (found[i].count)
			chains[places.data[i]] = found[i];
	vec_deinit(&left);
	vec_deinit(&places);
}

/* False: they have nothing but symbols to tell. */
static bool symbol_resolver_open_sources(struct resolver *resolver)
{
	const struct resolver_sources *sources = resolver->sources;
	resolver->go = sources->go ? go_resolver_create(sources->go) : NULL;
	resolver->clr = sources->clr.elf ? clr_lines_open(&sources->clr) : NULL;
	if (sources->debug)
		resolver->index = address_index_open(sources->index.cache, sources->index.name);
	return resolver->go || resolver->clr || resolver->index || open_dwarf(resolver);
}

static void symbol_resolver_close_sources(struct resolver *resolver)
{
	go_resolver_destroy(resolver->go);
	clr_lines_close(resolver->clr);
	dwarf_resolver_destroy(resolver->dwarf);
	address_index_close(resolver->index);
	function_bounds_destroy(resolver->bounds);
}

/* The chains of addresses that ascend, each once. */
static void symbol_resolver_find_chains(
	struct resolver *resolver, const uint64_t *addresses, size_t count, struct chain *chains)
{
	if (resolver->clr) {
		clr_lines_run(resolver->clr, addresses, count, chains);
		return;
	}
	if (!resolver->go) {
		look_into_dwarf(resolver, addresses, count, chains);
		return;
	}
	go_resolver_run(resolver->go, addresses, count, chains);
	fill_up(resolver, addresses, count, chains);
}

/* ---- places ---- */

static int symbol_resolver_compare_places(const void *a, const void *b)
{
	const struct resolver_place *x = a, *y = b;
	if (x->debug_address != y->debug_address)
		return x->debug_address < y->debug_address ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void find_chains_of_places(struct resolver *resolver, const struct resolver_place *places,
	size_t count, struct chain *chains)
{
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE struct chain *distinct = mem_zalloc_array(count, sizeof(*distinct));
	size_t nr_distinct = 0;
	for (size_t i = 0; i < count; i++)
		if (!i || places[i].debug_address != places[i - 1].debug_address)
			addresses[nr_distinct++] = places[i].debug_address;
	symbol_resolver_find_chains(resolver, addresses, nr_distinct, distinct);
	for (size_t i = 0, at = 0; i < count; i++) {
		at += addresses[at] != places[i].debug_address;
		chains[i] = distinct[at];
	}
}

static void symbol_resolver_find_symbols(const struct symbol_index *symbols,
	const struct resolver_place *places, size_t count, struct symbol_hit *hits)
{
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	for (size_t i = 0; i < count; i++)
		addresses[i] = places[i].address;
	symbol_index_lookup_batch(symbols, addresses, count, hits);
}

struct joined {
	VEC(struct chain_frame) frames;
};

/* Equal code of two functions may have been made one, of which debug information describes either.
 * Constructors and destructors have several symbols: C1, C2, D0 ... */
static bool describes_another(const char *linkage_name, const char *symbol)
{
	if (strncmp(linkage_name, "_Z", 2) != 0 || strncmp(symbol, "_Z", 2) != 0)
		return false;
	size_t at = 2;
	for (; linkage_name[at] && symbol[at]; at++) {
		bool is_kind = strchr("CD", symbol[at - 1]) && isdigit((uint8_t)symbol[at]) &&
			       isdigit((uint8_t)linkage_name[at]);
		if (linkage_name[at] != symbol[at] && !is_kind)
			return true;
	}
	return linkage_name[at] || (symbol[at] && symbol[at] != '.');
}

/* Symbols know the outermost function best: clones (.cold, .isra) have names of their own there. */
static void symbol_resolver_join(
	struct joined *joined, const struct chain *chain, const struct symbol_hit *hit)
{
	bool is_named = hit->name && *hit->name;
	joined->frames.len = 0;
	if (chain->count)
		vec_append(&joined->frames, chain->frames, chain->count);
	else if (is_named)
		vec_push(&joined->frames, (struct chain_frame){0});
	size_t count = joined->frames.len;
	if (count && is_named) {
		struct chain_frame *outermost = &joined->frames.data[count - 1];
		if (outermost->function && describes_another(outermost->function, hit->name)) {
			outermost->decl_file = NULL;
			outermost->decl_line = 0;
		}
		outermost->function = hit->name;
		outermost->start = hit->start;
	}
}

static bool find_bounds(struct resolver *resolver, uint64_t address, struct function_extent *ret)
{
	if (!resolver->sources->code)
		return false;
	if (!resolver->bounds)
		resolver->bounds = function_bounds_create(resolver->sources->code);
	return function_bounds_find(resolver->bounds, address, ret);
}

/* Symbols without a size, as those of assembly, extend to the next one: in a stripped file that
 * may be far away, and other functions stand in between. */
static void check_hit(struct resolver *resolver, uint64_t address, struct symbol_hit *hit)
{
	struct function_extent extent;
	if (hit->name && hit->is_extended && find_bounds(resolver, address, &extent) &&
		extent.start > hit->start)
		*hit = (struct symbol_hit){0};
}

/* Where the outermost function has no name: where it begins, as far as its file tells. */
static void find_start(
	struct resolver *resolver, const struct resolver_place *place, struct joined *joined)
{
	size_t count = joined->frames.len;
	struct function_extent extent;
	if ((count && joined->frames.data[count - 1].function) ||
		!find_bounds(resolver, place->address, &extent))
		return;
	if (!count)
		vec_push(&joined->frames, (struct chain_frame){0});
	struct chain_frame *outermost = &joined->frames.data[joined->frames.len - 1];
	outermost->start = extent.start;
	outermost->bounds = extent.is_guessed ? CHAIN_BOUNDS_BY_CODE : CHAIN_BOUNDS_BY_FDE;
}

bool resolver_run(const struct resolver_sources *sources, struct resolver_place *places,
	size_t count, struct chain_map *known)
{
	if (!count)
		return true;
	qsort(places, count, sizeof(*places), symbol_resolver_compare_places);
	CLEANUP_FREE struct symbol_hit *hits = mem_zalloc_array(count, sizeof(*hits));
	CLEANUP_FREE struct chain *chains = mem_zalloc_array(count, sizeof(*chains));
	symbol_resolver_find_symbols(sources->symbols, places, count, hits);
	struct resolver resolver = {.sources = sources};
	bool is_open = symbol_resolver_open_sources(&resolver);
	if (is_open)
		find_chains_of_places(&resolver, places, count, chains);
	struct joined joined = {0};
	for (size_t i = 0; i < count; i++) {
		if (i && places[i].offset == places[i - 1].offset)
			continue;
		check_hit(&resolver, places[i].address, &hits[i]);
		symbol_resolver_join(&joined, &chains[i], &hits[i]);
		find_start(&resolver, &places[i], &joined);
		struct chain chain = {joined.frames.data, (uint32_t)joined.frames.len};
		chain_map_add(known, places[i].offset, &chain);
	}
	bool is_whole = !resolver.dwarf || !dwarf_resolver_lacks_parts(resolver.dwarf);
	enum chain_map_detail detail = is_open ? resolver_detail(sources) : CHAIN_MAP_SYMBOLS;
	if (!is_whole)
		known->detail = CHAIN_MAP_SYMBOLS;
	else if (detail > known->detail)
		known->detail = detail;
	vec_deinit(&joined.frames);
	symbol_resolver_close_sources(&resolver);
	return is_whole;
}
