#include "report/symbol/symbolize.h"

#include <elf.h>
#include <string.h>

#include "format/base/str.h"
#include "report/symbol/address_index.h"
#include "report/symbol/answer.h"
#include "report/symbol/answer_cache.h"
#include "report/symbol/kernel_file.h"
#include "report/symbol/kernel_module.h"

static const uint64_t unpacked_bytes_max = 8ULL << 30;

static const char unreadable[] = "its symbols could not be read when recording";

/* The frames of one object, and the functions that they turned out to be. */
struct batch {
	struct profile *profile;
	uint32_t object;
	const struct symbolize_options *options;
	const struct cache *cache, *index_cache;
	struct elf_budget *budget;
	VEC(uint32_t) frames;
	struct map by_name;    /* text of an answer -> the newest function that is called so */
	struct map by_address; /* -> the function of an address without a name */
	VEC(uint32_t) older; /* of the same name, for each function from first_function on; or 0 */
	size_t first_function;
};

static struct profile_object *object_of(const struct batch *batch)
{
	return &batch->profile->objects.data[batch->object];
}

/* ---- functions ---- */

static uint32_t add_function(
	struct batch *batch, const struct profile_function *function, uint64_t older)
{
	vec_push(&batch->profile->functions, *function);
	vec_push(&batch->older, (uint32_t)older);
	return (uint32_t)batch->profile->functions.len - 1;
}

static const char *shown_name(struct batch *batch, const char *system_name)
{
	CLEANUP(str_deinit) struct str name = {0};
	if (!demangle(system_name, batch->options->demangle, &name))
		return system_name;
	return arena_strndup(&batch->profile->arena, str_text(&name), name.len);
}

/*
 * The function of that name whose symbol is at `start`, or with `is_any` whichever is called so.
 * Equal names of one object's answers are one text, so the pointer is the key.
 */
static uint32_t named_function(struct batch *batch, const char *name, uint64_t start, bool is_any)
{
	const struct profile_function *functions = batch->profile->functions.data;
	uint64_t *newest = map_put(&batch->by_name, (uint64_t)(uintptr_t)name, NULL);
	for (uint64_t at = *newest; at; at = batch->older.data[at - batch->first_function])
		if (is_any || functions[at].start == start)
			return (uint32_t)at;
	struct profile_function function = {
		.name = *newest ? functions[*newest].name : shown_name(batch, name),
		.system_name = name,
		.object = batch->object,
		.is_known = true,
		.start = start,
	};
	*newest = add_function(batch, &function, *newest);
	return (uint32_t)*newest;
}

static uint32_t unknown_function(struct batch *batch, uint64_t address)
{
	bool is_new;
	uint64_t *index = map_put(&batch->by_address, address, &is_new);
	if (!is_new)
		return (uint32_t)*index;
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "%s+0x%llx", object_of(batch)->name, (unsigned long long)address);
	const char *text = arena_strndup(&batch->profile->arena, str_text(&name), name.len);
	struct profile_function function = {
		.name = text,
		.system_name = text,
		.object = batch->object,
		.start = address,
	};
	*index = add_function(batch, &function, 0);
	return (uint32_t)*index;
}

/* ---- frames ---- */

/* The offset itself where no segment holds it. `file` is NULL where none was looked for. */
static uint64_t to_address(
	const struct profile_object *object, const struct symbol_file *file, uint64_t offset)
{
	const struct layout_object *info = &object->info;
	uint64_t address;
	for (uint32_t i = 0; i < info->nr_segments; i++) {
		const struct layout_segment *segment = &info->segments[i];
		if (segment->flags & PF_X && offset - segment->offset < segment->filesz)
			return offset - segment->offset + segment->vaddr;
	}
	if (!info->nr_segments && file &&
		elf_segments_offset_to_vaddr(
			file->segments.data, file->segments.len, offset, &address))
		return address;
	return offset;
}

static void set_place(struct batch *batch, uint32_t frame, const struct chain_frame *from)
{
	struct profile_frame *to = &batch->profile->frames.data[frame];
	struct profile_function *function = &batch->profile->functions.data[to->function];
	to->file = from->file;
	to->line = from->line;
	if (function->file || !function->is_known)
		return;
	function->file = from->decl_file ? from->decl_file : from->file;
	function->line = from->decl_file ? from->decl_line : 0;
}

static void name_frame(struct batch *batch, uint32_t index, const struct symbol_file *file)
{
	struct profile_object *object = object_of(batch);
	struct profile_frame *frame = &batch->profile->frames.data[index];
	struct chain chain = {0};
	answers_find(&object->answers, frame->offset, &chain);
	const struct chain_frame *outermost =
		chain.count ? &chain.frames[chain.count - 1] : &(struct chain_frame){0};
	frame->function =
		outermost->function
			? named_function(batch, outermost->function, outermost->start, false)
			: unknown_function(batch, to_address(object, file, frame->offset));
	set_place(batch, index, outermost);
}

static uint32_t add_inlined(struct batch *batch, uint32_t outer, const struct chain_frame *from)
{
	struct profile *profile = batch->profile;
	struct profile_frame frame = {
		.object = batch->object,
		.offset = profile->frames.data[outer].offset,
		.outer = outer,
		.function = named_function(
			batch, from->function ? from->function : "[unnamed]", 0, true),
	};
	profile->functions.data[frame.function].is_known = from->function;
	uint32_t index = (uint32_t)profile->frames.len;
	vec_push(&profile->frames, frame);
	set_place(batch, index, from);
	return index;
}

static void add_inlined_frames(struct batch *batch, uint32_t frame)
{
	struct profile *profile = batch->profile;
	struct chain chain = {0};
	answers_find(&object_of(batch)->answers, profile->frames.data[frame].offset, &chain);
	uint32_t inner = frame;
	for (uint32_t i = chain.count; i-- > 1;)
		inner = add_inlined(batch, inner, &chain.frames[i - 1]);
	if (inner != frame)
		profile->frames.data[frame].innermost = inner;
}

/* Functions with symbols come first: one that was inlined elsewhere is the same function. */
static void apply_answers(struct batch *batch, const struct symbol_file *file)
{
	map_reserve(&batch->by_name, batch->frames.len);
	vec_each(&batch->frames, frame)
		name_frame(batch, *frame, file);
	if (batch->options->no_inline)
		return;
	vec_each(&batch->frames, frame)
		add_inlined_frames(batch, *frame);
}

/* ---- answers ---- */

static bool is_known(const struct batch *batch, uint32_t frame)
{
	struct chain chain;
	uint64_t offset = batch->profile->frames.data[frame].offset;
	return answers_find(&object_of(batch)->answers, offset, &chain);
}

struct places {
	VEC(struct answer_place) list;
};

/* Those of the batch that are not answered yet, at their addresses in the file. */
static struct places open_places(const struct batch *batch, const struct symbol_file *file)
{
	struct places places = {0};
	vec_each(&batch->frames, frame) {
		if (is_known(batch, *frame))
			continue;
		uint64_t offset = batch->profile->frames.data[*frame].offset;
		uint64_t address = to_address(object_of(batch), file, offset);
		struct answer_place place = {
			.address = address,
			.debug_address = address,
			.offset = offset,
		};
		vec_push(&places.list, place);
	}
	return places;
}

/* Asks for them. True when there were any, and all that the files name was there to answer. */
static bool ask(struct batch *batch, const struct answer_sources *sources, struct places *places)
{
	struct profile_object *object = object_of(batch);
	size_t count = places->list.len;
	uint64_t refusals = elf_budget_refusals(batch->budget);
	bool is_whole = answer_places(sources, places->list.data, count, &object->answers);
	bool lacks_room = elf_budget_refusals(batch->budget) > refusals;
	object->lacks_room |= lacks_room;
	object->lacks_debug_parts |= !is_whole || lacks_room;
	vec_deinit(&places->list);
	return count && is_whole && !lacks_room;
}

static bool is_answered(const struct batch *batch)
{
	vec_each(&batch->frames, frame)
		if (!is_known(batch, *frame))
			return false;
	return true;
}

static struct answer_sources sources_of(const struct batch *batch, const struct symbol_file *file)
{
	return (struct answer_sources){
		.debug = file->debug,
		.go = file->go,
		.debug_options = {.path = file->debug_path,
			.root = file->root,
			.alt_path = file->alt_path,
			.lines = file->lines,
			.budget = batch->budget},
	};
}

/* By what earlier reports found out, or by the files themselves. */
static void ask_files(struct batch *batch, struct symbol_file *file, struct answer_sources *sources)
{
	struct profile_object *object = object_of(batch);
	struct answer_key key = {0};
	if (!answers_count(&object->answers)) {
		key = answer_cache_key(&object->info, file);
		answer_cache_load(batch->cache, &key, &object->answers);
		sources->debug_index = (struct chain_index){
			.cache = batch->index_cache,
			.name = key.name,
			.nr_walks = key.nr_stored,
		};
	}
	struct places places = open_places(batch, file);
	if (places.list.len)
		sources->index = symbol_file_index(file);
	if (ask(batch, sources, &places))
		answer_cache_store(batch->cache, &key, &object->answers);
}

static void note_origin(struct batch *batch, struct symbol_file *file)
{
	struct profile_object *object = object_of(batch);
	if (!object->symbols_from)
		object->symbols_problem = file->problem;
	symbol_file_keep_attempts(file, &batch->profile->arena, object);
	if (!file->path)
		return;
	object->symbols_from =
		arena_strndup(&batch->profile->arena, file->path, strlen(file->path));
	if (file->level == SYMBOL_LEVEL_NONE && !file->go &&
		!symbol_index_count(symbol_file_index(file)))
		object->symbols_problem = "the file has no symbol table";
}

static void symbolize_file(struct batch *batch)
{
	struct profile_object *object = object_of(batch);
	if (answers_count(&object->answers))
		object->symbols_from = "the recording";
	if (object->answers.detail == ANSWERS_INLINED && is_answered(batch)) {
		apply_answers(batch, NULL);
		return;
	}
	struct symbol_file file;
	symbol_file_find(object, &batch->options->files, &file);
	struct answer_sources sources = sources_of(batch, &file);
	if (answer_detail(&sources) > object->answers.detail) { /* there is more to be had here */
		answers_deinit(&object->answers);
		object->nr_archived = 0;
	}
	ask_files(batch, &file, &sources);
	note_origin(batch, &file);
	apply_answers(batch, &file);
	symbol_file_deinit(&file);
}

/* ---- what was captured when recording: the kernel, its modules, the vDSO ---- */

static struct symbol_index *captured_index(struct batch *batch, const char *problem)
{
	struct profile_object *object = object_of(batch);
	struct symbol_index *index = symbol_index_create();
	vec_each(&batch->profile->symbols, symbol)
		if (symbol->object == batch->object)
			symbol_index_add(index, symbol->offset, symbol->size, symbol->name,
				STB_GLOBAL, STT_FUNC);
	symbol_index_build(index);
	if (symbol_index_count(index))
		object->symbols_from = "the recording";
	else if (!object->symbols_from)
		object->symbols_problem = problem;
	return index;
}

/* Memory of no file has no symbols either way, and its addresses become its names. */
static void symbolize_captured(struct batch *batch, const char *problem)
{
	struct symbol_index *index = captured_index(batch, problem);
	struct places places = open_places(batch, NULL);
	ask(batch, &(struct answer_sources){.index = index}, &places);
	apply_answers(batch, NULL);
	symbol_index_destroy(index);
}

/*
 * Names are those that were captured; a file of the same build adds the rest. What an archive has
 * is only asked for again where that has no lines.
 */
static void symbolize_kernel(struct batch *batch, const struct symbol_file *file,
	uint64_t (*to_debug)(const void *context, uint64_t offset), const void *context)
{
	struct symbol_index *index = captured_index(batch, unreadable);
	struct answer_sources sources = sources_of(batch, file);
	struct places places = open_places(batch, NULL);
	sources.index = index;
	vec_each(&places.list, place)
		place->debug_address = to_debug(context, place->offset);
	ask(batch, &sources, &places);
	apply_answers(batch, NULL);
	symbol_index_destroy(index);
}

static uint64_t image_address(const void *context, uint64_t offset)
{
	const struct kernel_file *kernel = context;
	return kernel->base + offset;
}

static void symbolize_image(struct batch *batch)
{
	struct kernel_file kernel = {.file.debug_fd = -1};
	if (!is_answered(batch) &&
		kernel_file_find(batch->profile, object_of(batch), &batch->options->files, &kernel))
		symbolize_kernel(batch, &kernel.file, image_address, &kernel);
	else
		symbolize_captured(batch, unreadable);
	kernel_file_deinit(&kernel);
}

static uint64_t module_address(const void *context, uint64_t offset)
{
	return kernel_module_address(context, offset);
}

static void symbolize_module(struct batch *batch)
{
	struct kernel_module_file module = {.file.debug_fd = -1};
	if (!is_answered(batch) &&
		kernel_module_find(batch->profile, batch->object, &batch->options->files, &module))
		symbolize_kernel(batch, &module.file, module_address, &module);
	else
		symbolize_captured(batch, unreadable);
	kernel_module_deinit(&module);
}

/* A runtime told what stood there: those frames leave the batch. */
static void name_compiled(struct batch *batch)
{
	struct profile *profile = batch->profile;
	size_t left = 0;
	vec_each(&batch->frames, index) {
		struct profile_frame *frame = &profile->frames.data[*index];
		if (!frame->code) {
			batch->frames.data[left++] = *index;
			continue;
		}
		const struct profile_code *code = &profile->codes.data[frame->code - 1];
		frame->function = named_function(batch, code->name, code->start, false);
		set_place(batch, *index,
			&(struct chain_frame){.file = code->file, .line = code->line});
	}
	if (left < batch->frames.len)
		object_of(batch)->symbols_from = "the recording";
	batch->frames.len = left;
}

static void symbolize_object(struct batch *batch)
{
	batch->first_function = batch->profile->functions.len;
	switch (object_of(batch)->info.kind) {
	case LAYOUT_OBJECT_FILE:
		symbolize_file(batch);
		break;
	case LAYOUT_OBJECT_KERNEL:
		symbolize_image(batch);
		break;
	case LAYOUT_OBJECT_MODULE:
		symbolize_module(batch);
		break;
	case LAYOUT_OBJECT_BPF:
		name_compiled(batch);
		symbolize_captured(batch, unreadable);
		break;
	case LAYOUT_OBJECT_VDSO:
		symbolize_captured(batch, unreadable);
		break;
	case LAYOUT_OBJECT_ANONYMOUS:
	case LAYOUT_OBJECT_UNKNOWN:
	default:
		name_compiled(batch);
		symbolize_captured(batch, "no perf map or jitdump named this code of no file");
		break;
	}
}

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

void symbolize(struct profile *profile, const struct symbolize_options *options)
{
	struct cache *cache = NULL, *index_cache = NULL;
	struct elf_budget budget;
	elf_budget_init(&budget,
		options->unpacked_bytes_max ? options->unpacked_bytes_max : unpacked_bytes_max);
	err_destroy(answer_cache_open(options->cache_folder, &cache)); /* then without */
	err_destroy(address_index_cache_open(options->cache_folder, &index_cache));
	name_truncations(profile);
	symbol_file_prefetch(profile, &options->files);
	struct batch *batches = mem_zalloc_array(profile->objects.len, sizeof(*batches));
	for (size_t i = 1; i < profile->frames.len; i++)
		if (profile->frames.data[i].object)
			vec_push(&batches[profile->frames.data[i].object].frames, (uint32_t)i);
	for (size_t i = 1; i < profile->objects.len; i++) {
		struct batch *batch = &batches[i];
		if (!batch->frames.len)
			continue;
		batch->profile = profile;
		batch->object = (uint32_t)i;
		batch->options = options;
		batch->cache = cache;
		batch->index_cache = index_cache;
		batch->budget = &budget;
		symbolize_object(batch);
		vec_deinit(&batch->frames);
		vec_deinit(&batch->older);
		map_deinit(&batch->by_name);
		map_deinit(&batch->by_address);
	}
	mem_free(batches);
	cache_close(cache);
	cache_close(index_cache);
}
