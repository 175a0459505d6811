#include "report/name/symbol/chain_resolver.h"

#include <elf.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/address_index_writer.h"
#include "report/name/symbol/go_resolver.h"

enum {
	/* Bytes of .debug_info in the file. */
	MUCH_PACKED = 1 << 20,
	MUCH = 64 << 20,
	/* By ceph-osd's: 1.7 s and 0.24 s, packed 2.7 s and 1.25 s. */
	PACKED_COST_IN_WALKS = 2,
	COST_IN_WALKS = 7,
};

struct chain_resolver {
	struct go_resolver *go;
	struct elf_file *debug;
	struct dwarf_resolver_options options;
	struct dwarf_resolver *dwarf; /* opened when it is asked: that may mean much unpacking */
	struct chain_index index_place;
	struct address_index *index;
};

static bool open_dwarf(struct chain_resolver *resolver)
{
	if (!resolver->dwarf && (resolver->debug || resolver->options.lines))
		resolver->dwarf = dwarf_resolver_create(resolver->debug, &resolver->options);
	return resolver->dwarf;
}

struct chain_resolver *chain_resolver_create(struct elf_file *go, struct elf_file *debug,
	const struct dwarf_resolver_options *options, const struct chain_index *index)
{
	struct chain_resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->go = go ? go_resolver_create(go) : NULL;
	resolver->debug = debug;
	resolver->options = *options;
	resolver->index_place = index ? *index : (struct chain_index){0};
	if (index && debug)
		resolver->index = address_index_open(index->cache, index->name);
	if (resolver->go || resolver->index || open_dwarf(resolver))
		return resolver;
	mem_free(resolver);
	return NULL;
}

void chain_resolver_destroy(struct chain_resolver *resolver)
{
	if (!resolver)
		return;
	go_resolver_destroy(resolver->go);
	dwarf_resolver_destroy(resolver->dwarf);
	address_index_close(resolver->index);
	mem_free(resolver);
}

bool chain_resolver_lacks_parts(const struct chain_resolver *resolver)
{
	return resolver->dwarf && dwarf_resolver_lacks_parts(resolver->dwarf);
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

static void make_index(struct chain_resolver *resolver)
{
	const struct chain_index *place = &resolver->index_place;
	if (place->cache && resolver->debug &&
		is_worth_an_index(resolver->debug, place->nr_walks) && open_dwarf(resolver) &&
		!dwarf_resolver_lacks_parts(resolver->dwarf) &&
		address_index_write(place->cache, place->name, resolver->dwarf))
		resolver->index = address_index_open(place->cache, place->name);
}

/* One that turns out to be damaged is none. */
static bool run_index(struct chain_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains)
{
	if (!resolver->index)
		return false;
	if (address_index_run(resolver->index, addresses, count, chains))
		return true;
	address_index_close(resolver->index);
	resolver->index = NULL;
	return false;
}

static void run_dwarf(struct chain_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains)
{
	if (run_index(resolver, addresses, count, chains))
		return;
	make_index(resolver);
	if (run_index(resolver, addresses, count, chains))
		return;
	memset(chains, 0, count * sizeof(*chains));
	if (open_dwarf(resolver))
		dwarf_resolver_run(resolver->dwarf, addresses, count, chains);
}

/* What Go's tables know no line of is not Go's: C has at most a name there. */
static bool is_go(const struct chain *chain)
{
	return chain->count && chain->frames[0].file;
}

/* Asks DWARF for what Go's tables left open, and keeps these where it knows nothing. */
static void fill_up(struct chain_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains)
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
		run_dwarf(resolver, left.data, left.len, found);
	for (size_t i = 0; i < left.len; i++)
		if (found[i].count)
			chains[places.data[i]] = found[i];
	vec_deinit(&left);
	vec_deinit(&places);
}

void chain_resolver_run(struct chain_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains)
{
	if (!resolver->go) {
		run_dwarf(resolver, addresses, count, chains);
		return;
	}
	go_resolver_run(resolver->go, addresses, count, chains);
	fill_up(resolver, addresses, count, chains);
}
