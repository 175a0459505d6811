#include "report/name/symbol/symbol_prefetch.h"

#include <stdlib.h>

#include "report/model/slice.h"
#include "report/name/debugfile/debuginfod.h"
#include "report/name/symbol/symbol_file.h"

enum {
	/* Of all samples: what has as many gets its lines and inlined functions unasked. */
	HOT_PERCENT = 5,
};

static int symbol_prefetch_compare_wanted(const void *a, const void *b)
{
	const struct symbol_prefetch_object *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

static void find_open(const struct profile *profile, struct symbol_prefetch_object *wanted)
{
	vec_each(&profile->frames, frame) {
		const struct chain_map *chains = &profile->objects.data[frame->object].chains;
		struct symbol_prefetch_object *it = &wanted[frame->object];
		struct chain chain;
		if (!it->is_open)
			it->is_open = chains->detail < CHAIN_MAP_INLINED ||
				      !chain_map_find(chains, frame->offset, &chain);
	}
}

static void symbol_prefetch_count_samples(
	const struct profile *profile, struct symbol_prefetch_object *wanted)
{
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (size_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, (uint32_t)i);
		uint32_t leaf = samples[i] ? profile_walk_next(&walk) : 0;
		wanted[profile->frames.data[leaf].object].samples += samples[i];
	}
}

struct symbol_prefetch_object *symbol_prefetch_list(const struct profile *profile)
{
	size_t count = profile->objects.len;
	struct symbol_prefetch_object *wanted = mem_zalloc_array(count, sizeof(*wanted));
	for (size_t i = 0; i < count; i++)
		wanted[i].object = &profile->objects.data[i];
	find_open(profile, wanted);
	return wanted;
}

void symbol_prefetch_rank(const struct profile *profile, struct symbol_prefetch_object *wanted)
{
	symbol_prefetch_count_samples(profile, wanted);
	qsort(wanted, profile->objects.len, sizeof(*wanted), symbol_prefetch_compare_wanted);
}

void symbol_prefetch_start(const struct symbol_prefetch_object *wanted, size_t count,
	const struct symbol_file_options *options)
{
	if (!options->debuginfod)
		return;
	uint64_t samples = 0;
	for (size_t i = 0; i < count; i++)
		samples += wanted[i].samples;
	for (size_t i = 0; i < count; i++) {
		const struct profile_object *object = wanted[i].object;
		if (!object->is_used || !wanted[i].is_open ||
			object->info.kind != LAYOUT_OBJECT_FILE || !object->info.build_id_len)
			continue;
		bool is_hot = wanted[i].samples * 100 >= HOT_PERCENT * samples;
		symbol_file_fetch(options->debuginfod, &object->info,
			symbol_file_level_here(object, options),
			is_hot && debuginfod_mode(options->debuginfod) == DEBUGINFOD_AUTO);
	}
}
