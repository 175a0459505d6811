#include "report/symbol/chain_resolver.h"

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "report/symbol/go_resolver.h"

struct chain_resolver {
	struct go_resolver *go;
	struct elf_file *debug;
	struct dwarf_resolver_options options;
	struct dwarf_resolver *dwarf; /* opened when it is asked: that may mean much unpacking */
};

static bool open_dwarf(struct chain_resolver *resolver)
{
	if (!resolver->dwarf && (resolver->debug || resolver->options.lines))
		resolver->dwarf = dwarf_resolver_create(resolver->debug, &resolver->options);
	return resolver->dwarf;
}

struct chain_resolver *chain_resolver_create(
	struct elf_file *go, struct elf_file *debug, const struct dwarf_resolver_options *options)
{
	struct chain_resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->go = go ? go_resolver_create(go) : NULL;
	resolver->debug = debug;
	resolver->options = *options;
	if (resolver->go || open_dwarf(resolver))
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
	mem_free(resolver);
}

bool chain_resolver_lacks_parts(const struct chain_resolver *resolver)
{
	return resolver->dwarf && dwarf_resolver_lacks_parts(resolver->dwarf);
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
	if (left.len && open_dwarf(resolver))
		dwarf_resolver_run(resolver->dwarf, left.data, left.len, found);
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
		dwarf_resolver_run(resolver->dwarf, addresses, count, chains);
		return;
	}
	go_resolver_run(resolver->go, addresses, count, chains);
	fill_up(resolver, addresses, count, chains);
}
