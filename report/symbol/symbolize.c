#include "report/symbol/symbolize.h"

#include <elf.h>
#include <string.h>

#include "format/base/str.h"
#include "report/symbol/demangle.h"
#include "report/symbol/symbol_index.h"

/* The frames of one object. */
struct batch {
	struct profile *profile;
	uint32_t object;
	const struct symbolize_options *options;
	VEC(uint32_t) frames;
	VEC(uint64_t) addresses; /* as the symbols count: virtual, or offsets from a base */
};

static uint32_t add_function(struct profile *profile, const struct profile_function *function)
{
	vec_push(&profile->functions, *function);
	return (uint32_t)profile->functions.len - 1;
}

static const char *shown_name(struct batch *batch, const char *system_name)
{
	CLEANUP(str_deinit) struct str name = {0};
	if (batch->options->keep_mangled || !demangle(system_name, &name))
		return system_name;
	return arena_strndup(&batch->profile->arena, str_text(&name), name.len);
}

static uint32_t known_function(struct batch *batch, const struct symbol_hit *hit)
{
	struct arena *arena = &batch->profile->arena;
	struct profile_function function = {
		.system_name = arena_strndup(arena, hit->name, strlen(hit->name)),
		.object = batch->object,
		.is_known = true,
		.start = hit->start,
	};
	function.name = shown_name(batch, function.system_name);
	return add_function(batch->profile, &function);
}

static uint32_t unknown_function(struct batch *batch, uint64_t address)
{
	const struct profile_object *object = &batch->profile->objects.data[batch->object];
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "%s+0x%llx", object->name, (unsigned long long)address);
	const char *text = arena_strndup(&batch->profile->arena, str_text(&name), name.len);
	struct profile_function function = {
		.name = text,
		.system_name = text,
		.object = batch->object,
		.start = address,
	};
	return add_function(batch->profile, &function);
}

/* Looks the batch up in the index and names its frames. */
static void name_frames(struct batch *batch, const struct symbol_index *index)
{
	size_t count = batch->frames.len;
	CLEANUP_FREE struct symbol_hit *hits = mem_zalloc_array(count, sizeof(*hits));
	symbol_index_lookup_batch(index, batch->addresses.data, count, hits);
	struct map by_symbol = {0}, by_address = {0};
	for (size_t i = 0; i < count; i++) {
		bool added;
		uint64_t address = batch->addresses.data[i];
		uint64_t *function = hits[i].name ? map_put(&by_symbol, hits[i].id, &added)
						  : map_put(&by_address, address, &added);
		if (added)
			*function = hits[i].name ? known_function(batch, &hits[i])
						 : unknown_function(batch, address);
		batch->profile->frames.data[batch->frames.data[i]].function = (uint32_t)*function;
	}
	map_deinit(&by_symbol);
	map_deinit(&by_address);
}

/* ---- files ---- */

static bool to_vaddr(const struct profile_object *object, const struct symbol_file *file,
	uint64_t offset, uint64_t *ret)
{
	const struct layout_object *info = &object->info;
	for (uint32_t i = 0; i < info->nr_segments; i++) {
		const struct layout_segment *segment = &info->segments[i];
		if (segment->flags & PF_X && offset - segment->offset < segment->filesz) {
			*ret = offset - segment->offset + segment->vaddr;
			return true;
		}
	}
	if (info->nr_segments)
		return false;
	return elf_segments_offset_to_vaddr(file->segments.data, file->segments.len, offset, ret);
}

static void symbolize_file(struct batch *batch)
{
	struct profile_object *object = &batch->profile->objects.data[batch->object];
	struct symbol_file file;
	symbol_file_find(object, &batch->options->files, &file);
	for (size_t i = 0; i < batch->frames.len; i++) {
		uint64_t offset = batch->profile->frames.data[batch->frames.data[i]].offset;
		uint64_t vaddr;
		vec_push(&batch->addresses,
			to_vaddr(object, &file, offset, &vaddr) ? vaddr : offset);
	}
	object->symbols_problem = file.problem;
	if (file.path) {
		object->symbols_from =
			arena_strndup(&batch->profile->arena, file.path, strlen(file.path));
		if (!symbol_index_count(file.index))
			object->symbols_problem = "the file has no symbol table";
	}
	name_frames(batch, file.index);
	symbol_file_deinit(&file);
}

/* ---- what was captured when recording: the kernel, its modules, the vDSO ---- */

/* Memory of no file has no symbols either way, and its addresses become its names. */
static void symbolize_captured(struct batch *batch, const char *problem)
{
	struct profile *profile = batch->profile;
	struct profile_object *object = &profile->objects.data[batch->object];
	struct symbol_index *index = symbol_index_create();
	vec_each(&profile->symbols, symbol)
		if (symbol->object == batch->object)
			symbol_index_add(index, symbol->offset, symbol->size, symbol->name,
				STB_GLOBAL, STT_FUNC);
	symbol_index_build(index);
	vec_each(&batch->frames, frame)
		vec_push(&batch->addresses, profile->frames.data[*frame].offset);
	if (symbol_index_count(index))
		object->symbols_from = "the recording";
	else
		object->symbols_problem = problem;
	name_frames(batch, index);
	symbol_index_destroy(index);
}

static void symbolize_object(struct batch *batch)
{
	switch (batch->profile->objects.data[batch->object].info.kind) {
	case LAYOUT_OBJECT_FILE:
		symbolize_file(batch);
		break;
	case LAYOUT_OBJECT_KERNEL:
	case LAYOUT_OBJECT_MODULE:
	case LAYOUT_OBJECT_BPF:
	case LAYOUT_OBJECT_VDSO:
		symbolize_captured(batch, "its symbols could not be read when recording");
		break;
	case LAYOUT_OBJECT_ANONYMOUS:
	case LAYOUT_OBJECT_UNKNOWN:
	default:
		symbolize_captured(batch, "code of no file");
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
		if (!*function)
			*function = add_function(
				profile, &(struct profile_function){.name = names[frame->offset],
						 .system_name = names[frame->offset]});
		frame->function = *function;
	}
}

void symbolize(struct profile *profile, const struct symbolize_options *options)
{
	name_truncations(profile);
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
		symbolize_object(batch);
		vec_deinit(&batch->frames);
		vec_deinit(&batch->addresses);
	}
	mem_free(batches);
}
