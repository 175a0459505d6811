#include "report/name/symbol/symbolizer.h"

#include "format/base/mem.h"
#include "report/name/debugfile/debuginfod.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/symbol_cache.h"
#include "report/name/symbol/symbol_prefetch.h"

static const uint64_t unpacked_bytes_max = 8ULL << 30;

struct symbolizer {
	struct profile *profile;
	const struct symbolize_options *options;
	struct cache *cache, *index_cache;
	struct elf_budget budget;
	VEC(struct batch) batches;
	VEC(uint32_t) order; /* indices of batches, most samples first */
	struct symbol_prefetch_object *wanted;
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

static bool is_wanted(const struct symbolize_options *options, uint32_t object)
{
	for (size_t i = 0; i < options->nr_objects; i++)
		if (options->objects[i] == object)
			return true;
	return !options->objects;
}

static void collect(struct symbolizer *symbolizer)
{
	struct profile *profile = symbolizer->profile;
	/* For each object the number of its batch plus 1. */
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(profile->objects.len, sizeof(*numbers));
	vec_each(&profile->frames, frame)
		numbers[frame->object] = 1;
	for (uint32_t i = 1; i < profile->objects.len; i++) {
		if (!is_wanted(symbolizer->options, i))
			numbers[i] = 0;
		if (!numbers[i])
			continue;
		struct batch batch = {
			.profile = profile,
			.object = i,
			.options = symbolizer->options,
			.cache = symbolizer->cache,
			.index_cache = symbolizer->index_cache,
			.budget = &symbolizer->budget,
			.archived = profile->objects.data[i].answers,
		};
		profile->objects.data[i].answers = (struct answers){0};
		vec_push(&symbolizer->batches, batch);
		numbers[i] = (uint32_t)symbolizer->batches.len;
	}
	numbers[0] = 0;
	for (uint32_t i = 1; i < profile->frames.len; i++) {
		uint32_t number = numbers[profile->frames.data[i].object];
		if (number)
			batch_add(&symbolizer->batches.data[number - 1], i);
	}
}

struct symbolizer *symbolizer_create(
	struct profile *profile, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = mem_zalloc(sizeof(*symbolizer));
	symbolizer->profile = profile;
	symbolizer->options = options;
	elf_budget_init(&symbolizer->budget,
		options->unpacked_bytes_max ? options->unpacked_bytes_max : unpacked_bytes_max);
	/* Without, if they cannot be. */
	err_destroy(symbol_cache_open(options->cache_folder, &symbolizer->cache));
	err_destroy(address_index_cache_open(options->cache_folder, &symbolizer->index_cache));
	name_truncations(profile);
	symbolizer->wanted = symbol_prefetch_list(profile);
	collect(symbolizer);
	return symbolizer;
}

size_t symbolizer_count(const struct symbolizer *symbolizer)
{
	return symbolizer->batches.len;
}

struct batch *symbolizer_batch(struct symbolizer *symbolizer, size_t index)
{
	return &symbolizer->batches.data[index];
}

void symbolizer_begin(struct symbolizer *symbolizer)
{
	vec_each(&symbolizer->batches, batch) {
		struct lookup_result result;
		batch->is_shown = true;
		batch_look_up(batch, &result);
		batch_apply(batch, &result);
	}
}

void symbolizer_rank(struct symbolizer *symbolizer)
{
	const struct profile *profile = symbolizer->profile;
	if (symbolizer->is_ranked)
		return;
	symbolizer->is_ranked = true;
	CLEANUP_FREE uint32_t *numbers = mem_zalloc_array(profile->objects.len, sizeof(*numbers));
	for (size_t i = 0; i < symbolizer->batches.len; i++)
		numbers[symbolizer->batches.data[i].object] = (uint32_t)i + 1;
	symbol_prefetch_rank(profile, symbolizer->wanted);
	for (size_t i = 0; i < profile->objects.len; i++) {
		size_t object = (size_t)(symbolizer->wanted[i].object - profile->objects.data);
		if (numbers[object])
			vec_push(&symbolizer->order, numbers[object] - 1);
	}
}

void symbolizer_prefetch(struct symbolizer *symbolizer)
{
	symbol_prefetch_start(
		symbolizer->wanted, symbolizer->profile->objects.len, &symbolizer->options->files);
}

static bool is_ready(const struct symbolizer *symbolizer, const struct batch *batch)
{
	const struct layout_object *info = &symbolizer->profile->objects.data[batch->object].info;
	return batch->next < LOOKUP_NETWORK ||
	       debuginfod_is_done(
		       symbolizer->options->files.debuginfod, info->build_id, info->build_id_len);
}

struct batch *symbolizer_next(struct symbolizer *symbolizer, bool *waits)
{
	struct batch *best = NULL;
	*waits = false;
	vec_each(&symbolizer->order, index) {
		struct batch *batch = &symbolizer->batches.data[*index];
		if (batch->next == LOOKUP_END || (best && batch->next >= best->next))
			continue;
		if (is_ready(symbolizer, batch))
			best = batch;
		else
			*waits = true;
	}
	return best;
}

void symbolizer_destroy(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	vec_each(&symbolizer->batches, batch)
		batch_deinit(batch);
	vec_deinit(&symbolizer->batches);
	vec_deinit(&symbolizer->order);
	mem_free(symbolizer->wanted);
	cache_close(symbolizer->cache);
	cache_close(symbolizer->index_cache);
	mem_free(symbolizer);
}

void symbolize(struct profile *profile, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = symbolizer_create(profile, options);
	symbolizer_rank(symbolizer);
	symbolizer_prefetch(symbolizer);
	for (size_t i = 0; i < symbolizer_count(symbolizer); i++) {
		struct lookup_result result;
		struct batch *batch = symbolizer_batch(symbolizer, i);
		batch->next = LOOKUP_NETWORK; /* all at once */
		batch_look_up(batch, &result);
		batch_apply(batch, &result);
		batch_deinit(batch);
	}
	symbolizer_destroy(symbolizer);
}
