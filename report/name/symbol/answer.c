#include "report/name/symbol/answer.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"

struct answer_sources answer_sources_of(const struct symbol_file *file)
{
	return (struct answer_sources){
		.debug = file->debug,
		.go = file->go,
		.debug_options = {.path = file->debug_path,
			.root = file->root,
			.rules = file->rules,
			.alt_path = file->alt_path,
			.lines = file->lines},
	};
}

static int compare_places(const void *a, const void *b)
{
	const struct answer_place *x = a, *y = b;
	if (x->debug_address != y->debug_address)
		return x->debug_address < y->debug_address ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The chains of `count` places, by ascending address. NULL when there is no debug information. */
static struct chain_resolver *resolve(const struct answer_sources *sources,
	const struct answer_place *places, size_t count, struct chain *chains)
{
	bool has_any = sources->go || sources->debug || sources->debug_options.lines;
	struct chain_resolver *resolver =
		has_any ? chain_resolver_create(sources->go, sources->debug,
				  &sources->debug_options, &sources->debug_index)
			: NULL;
	if (!resolver)
		return NULL;
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE struct chain *distinct = mem_zalloc_array(count, sizeof(*distinct));
	size_t nr_distinct = 0;
	for (size_t i = 0; i < count; i++)
		if (!i || places[i].debug_address != places[i - 1].debug_address)
			addresses[nr_distinct++] = places[i].debug_address;
	chain_resolver_run(resolver, addresses, nr_distinct, distinct);
	for (size_t i = 0, at = 0; i < count; i++) {
		at += addresses[at] != places[i].debug_address;
		chains[i] = distinct[at];
	}
	return resolver;
}

struct joined {
	VEC(struct chain_frame) frames;
};

/* Symbols know the outermost function best: clones (.cold, .isra) have names of their own there. */
static struct chain join(
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
		outermost->function = hit->name;
		outermost->start = hit->start;
	}
	return (struct chain){.frames = joined->frames.data, .count = (uint32_t)count};
}

enum answers_detail answer_detail(const struct answer_sources *sources)
{
	if (sources->debug || sources->go)
		return ANSWERS_INLINED;
	return sources->debug_options.lines ? ANSWERS_LINES : ANSWERS_SYMBOLS;
}

bool answer_places(const struct answer_sources *sources, struct answer_place *places, size_t count,
	struct answers *answers)
{
	if (!count)
		return true;
	qsort(places, count, sizeof(*places), compare_places);
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE struct symbol_hit *hits = mem_zalloc_array(count, sizeof(*hits));
	CLEANUP_FREE struct chain *chains = mem_zalloc_array(count, sizeof(*chains));
	for (size_t i = 0; i < count; i++)
		addresses[i] = places[i].address;
	symbol_index_lookup_batch(sources->index, addresses, count, hits);
	struct chain_resolver *resolver = resolve(sources, places, count, chains);
	struct joined joined = {0};
	for (size_t i = 0; i < count; i++) {
		if (i && places[i].offset == places[i - 1].offset)
			continue;
		struct chain chain = join(&joined, &chains[i], &hits[i]);
		answers_add(answers, places[i].offset, &chain);
	}
	bool is_whole = !resolver || !chain_resolver_lacks_parts(resolver);
	enum answers_detail detail = resolver ? answer_detail(sources) : ANSWERS_SYMBOLS;
	if (!is_whole)
		answers->detail = ANSWERS_SYMBOLS;
	else if (detail > answers->detail)
		answers->detail = detail;
	vec_deinit(&joined.frames);
	chain_resolver_destroy(resolver);
	return is_whole;
}
