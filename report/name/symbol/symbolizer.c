#include "report/name/symbol/symbolizer.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "report/model/slice.h"
#include "report/name/debugfile/debuginfod.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/symbol_cache.h"
#include "report/name/symbol/symbol_file.h"

static const uint64_t unpacked_bytes_max = 8ULL << 30;

/* What the network is asked about early, all at once, the hottest first. */
struct wanted {
	uint32_t object;
	uint64_t samples; /* that ended in its code */
	bool is_open;     /* the recording itself does not say all of it */
};

enum {
	/* Of all samples: what has as many gets its lines and inlined functions unasked. */
	HOT_PERCENT = 5,
};

struct symbolizer {
	struct profile *profile;
	struct symbolize_options own_options; /* with what is kept now */
	const struct symbolize_options *options;
	struct cache *cache, *index_cache;
	struct elf_budget budget;
	VEC(struct pending) pending;
	VEC(uint32_t) order;   /* indices of pending, most samples first */
	struct wanted *wanted; /* all objects; in the order of the profile until they are ranked */
	size_t nr_wanted;      /* those that were there at first */
	bool is_ranked;
};

/* One function a cause, named like "[truncated: depth_limit]". */
static void name_truncations(struct profile *profile)
{
	static const char *const names[LAYOUT_TRUNCATED_END] = {
#define X(name, number, word) [number] = "[truncated: " word "]",
		LAYOUT_TRUNCATIONS(X)
#undef X
	};
	uint32_t functions[LAYOUT_TRUNCATED_END] = {0};
	vec_each(&profile->frames, frame) {
		if (frame->object)
			continue;
		uint32_t *function = &functions[frame->offset];
		if (!*function) {
			struct profile_function cause = {
				.name = names[frame->offset],
				.system_name = names[frame->offset],
			};
			*function = (uint32_t)profile->functions.len;
			vec_push(&profile->functions, cause);
		}
		frame->function = *function;
	}
}

static bool symbolizer_is_wanted(const struct symbolizer *symbolizer, uint32_t object)
{
	const struct symbolize_options *options = symbolizer->options;
	if (options->only_kept &&
		!symbol_file_is_kept(&symbolizer->profile->objects.data[object], &options->files))
		return false;
	for (size_t i = 0; i < options->nr_objects; i++)
		if (options->objects[i] == object)
			return true;
	return !options->objects;
}

static void symbolizer_collect(struct symbolizer *symbolizer)
{
	struct profile *profile = symbolizer->profile;
	/* For each object the number of its pending plus 1. */
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(profile->objects.len, sizeof(*numbers));
	vec_each(&profile->frames, frame)
		numbers[frame->object] = 1;
	for (uint32_t i = 1; i < profile->objects.len; i++) {
		if (!symbolizer_is_wanted(symbolizer, i))
			numbers[i] = 0;
		if (!numbers[i])
			continue;
		struct pending pending = {
			.profile = profile,
			.object = i,
			.options = symbolizer->options,
			.cache = symbolizer->cache,
			.index_cache = symbolizer->index_cache,
			.budget = &symbolizer->budget,
			.archived = profile->objects.data[i].chains,
		};
		profile->objects.data[i].chains = (struct chain_map){0};
		vec_push(&symbolizer->pending, pending);
		numbers[i] = (uint32_t)symbolizer->pending.len;
	}
	numbers[0] = 0;
	for (uint32_t i = 1; i < profile->frames.len; i++) {
		uint32_t number = numbers[profile->frames.data[i].object];
		if (number)
			pending_add(&symbolizer->pending.data[number - 1], i);
	}
}

static void find_open(const struct profile *profile, struct wanted *wanted)
{
	vec_each(&profile->frames, frame) {
		const struct chain_map *chains = &profile->objects.data[frame->object].chains;
		struct wanted *it = &wanted[frame->object];
		struct chain chain;
		if (!it->is_open)
			it->is_open = chains->detail < CHAIN_MAP_INLINED ||
				      !chain_map_find(chains, frame->offset, &chain);
	}
}

static struct wanted *list_wanted(const struct profile *profile)
{
	size_t count = profile->objects.len;
	struct wanted *wanted = mem_zalloc_array(count, sizeof(*wanted));
	for (size_t i = 0; i < count; i++)
		wanted[i].object = (uint32_t)i;
	find_open(profile, wanted);
	return wanted;
}

struct symbolizer *symbolizer_create(
	struct profile *profile, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = mem_zalloc(sizeof(*symbolizer));
	symbolizer->profile = profile;
	symbolizer->own_options = *options;
	symbolizer->options = &symbolizer->own_options;
	const struct symbol_file_finder *finder = options->files.finder;
	if (finder)
		finder->find(finder->context, profile);
	elf_budget_init(&symbolizer->budget,
		options->unpacked_bytes_max ? options->unpacked_bytes_max : unpacked_bytes_max);
	/* Without, if they cannot be. */
	err_destroy(symbol_cache_open(options->cache_folder, &symbolizer->cache));
	err_destroy(address_index_cache_open(options->cache_folder, &symbolizer->index_cache));
	name_truncations(profile);
	symbolizer->wanted = list_wanted(profile);
	symbolizer->nr_wanted = profile->objects.len;
	symbolizer_collect(symbolizer);
	return symbolizer;
}

size_t symbolizer_count(const struct symbolizer *symbolizer)
{
	return symbolizer->pending.len;
}

struct pending *symbolizer_pending(struct symbolizer *symbolizer, size_t index)
{
	return &symbolizer->pending.data[index];
}

void symbolizer_begin(struct symbolizer *symbolizer)
{
	vec_each(&symbolizer->pending, pending) {
		struct lookup_result result;
		pending->is_shown = true;
		lookup_run(pending, &result);
		pending_apply(pending, &result);
	}
}

/* ---- ranking ---- */

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

static void count_samples_of_wanted(struct symbolizer *symbolizer)
{
	const struct profile *profile = symbolizer->profile;
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (size_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, (uint32_t)i);
		uint32_t leaf = samples[i] ? profile_walk_next(&walk) : 0;
		uint32_t object = profile->frames.data[leaf].object;
		if (object < symbolizer->nr_wanted)
			symbolizer->wanted[object].samples += samples[i];
	}
}

void symbolizer_rank(struct symbolizer *symbolizer)
{
	if (symbolizer->is_ranked)
		return;
	symbolizer->is_ranked = true;
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(symbolizer->nr_wanted, sizeof(*numbers));
	for (size_t i = 0; i < symbolizer->pending.len; i++)
		numbers[symbolizer->pending.data[i].object] = (uint32_t)i + 1;
	count_samples_of_wanted(symbolizer);
	qsort(symbolizer->wanted, symbolizer->nr_wanted, sizeof(*symbolizer->wanted),
		compare_wanted);
	for (size_t i = 0; i < symbolizer->nr_wanted; i++) {
		uint32_t object = symbolizer->wanted[i].object;
		if (numbers[object])
			vec_push(&symbolizer->order, numbers[object] - 1);
	}
}

/* What an archived recording says itself is not fetched. */
void symbolizer_prefetch(struct symbolizer *symbolizer)
{
	const struct symbol_file_options *options = &symbolizer->options->files;
	const struct wanted *wanted = symbolizer->wanted;
	size_t count = symbolizer->nr_wanted;
	if (!options->debuginfod)
		return;
	uint64_t samples = 0;
	for (size_t i = 0; i < count; i++)
		samples += wanted[i].samples;
	for (size_t i = 0; i < count; i++) {
		const struct profile_object *object =
			&symbolizer->profile->objects.data[wanted[i].object];
		if (!object->is_used || !wanted[i].is_open ||
			object->info.kind != LAYOUT_OBJECT_FILE || !object->info.build_id_len)
			continue;
		bool is_hot = wanted[i].samples * 100 >= HOT_PERCENT * samples;
		symbol_file_fetch(options->debuginfod, &object->info,
			symbol_file_level_here(object, options),
			is_hot && debuginfod_mode(options->debuginfod) == DEBUGINFOD_AUTO);
	}
}

static bool is_ready(const struct symbolizer *symbolizer, const struct pending *pending)
{
	const struct layout_object *info = &symbolizer->profile->objects.data[pending->object].info;
	return pending->next < LOOKUP_NETWORK ||
	       debuginfod_is_done(
		       symbolizer->options->files.debuginfod, info->build_id, info->build_id_len);
}

struct pending *symbolizer_next(struct symbolizer *symbolizer, bool *waits)
{
	struct pending *best = NULL;
	*waits = false;
	vec_each(&symbolizer->order, index) {
		struct pending *pending = &symbolizer->pending.data[*index];
		if (pending->next == LOOKUP_END || (best && pending->next >= best->next))
			continue;
		if (is_ready(symbolizer, pending))
			best = pending;
		else
			*waits = true;
	}
	return best;
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	vec_each(&symbolizer->pending, pending)
		pending_deinit(pending);
	vec_deinit(&symbolizer->pending);
	vec_deinit(&symbolizer->order);
	mem_free(symbolizer->wanted);
	cache_close(symbolizer->cache);
	cache_close(symbolizer->index_cache);
	mem_free(symbolizer);
}

/* Of functions whose declaration nothing tells, as those of scripts and of Go. */
static void note_seen_lines(struct profile *profile)
{
	vec_each(&profile->frames, frame) {
		struct profile_function *function = &profile->functions.data[frame->function];
		if (function->line || !frame->line || !frame->file || !function->file)
			continue;
		bool is_there =
			frame->file == function->file || strcmp(frame->file, function->file) == 0;
		if (is_there && (!function->seen_line || frame->line < function->seen_line))
			function->seen_line = frame->line;
	}
}

void symbolize(struct profile *profile, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = symbolizer_create(profile, options);
	symbolizer_rank(symbolizer);
	symbolizer_prefetch(symbolizer);
	for (size_t i = 0; i < symbolizer_count(symbolizer); i++) {
		struct lookup_result result;
		struct pending *pending = symbolizer_pending(symbolizer, i);
		pending->next = LOOKUP_NETWORK; /* all at once */
		lookup_run(pending, &result);
		pending_apply(pending, &result);
		pending_deinit(pending);
	}
	symbolizer_destroy(symbolizer);
	note_seen_lines(profile);
}
