#include "report/symbol/symbolize.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"
#include "report/symbol/demangle.h"
#include "report/symbol/dwarf_resolver.h"
#include "report/symbol/symbol_index.h"

/* The frames of one object. */
struct batch {
	struct profile *profile;
	uint32_t object;
	const struct symbolize_options *options;
	VEC(uint32_t) frames;
	VEC(uint64_t) addresses; /* as the symbols count: virtual, or offsets from a base */
	struct strtab names;     /* mangled, of its functions */
	VEC(uint32_t) by_name;   /* name -> the first function that is called so */
	struct map files;        /* a resolver's string -> the profile's */
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

static uint32_t known_function(struct batch *batch, const char *name, uint64_t start)
{
	size_t len = strlen(name);
	struct profile_function function = {
		.system_name = arena_strndup(&batch->profile->arena, name, len),
		.object = batch->object,
		.is_known = true,
		.start = start,
	};
	function.name = shown_name(batch, function.system_name);
	uint32_t index = add_function(batch->profile, &function);
	if (strtab_intern(&batch->names, name, len) == batch->by_name.len)
		vec_push(&batch->by_name, index);
	return index;
}

/* A function that was inlined is the one that also has a symbol, where the name is the same. */
static uint32_t named_function(struct batch *batch, const char *name)
{
	uint32_t id = strtab_intern(&batch->names, name, strlen(name));
	if (id < batch->by_name.len)
		return batch->by_name.data[id];
	vec_push(&batch->by_name, 0);
	uint32_t index = known_function(batch, name, 0);
	batch->by_name.data[id] = index;
	return index;
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
			*function = hits[i].name
					    ? known_function(batch, hits[i].name, hits[i].start)
					    : unknown_function(batch, address);
		batch->profile->frames.data[batch->frames.data[i]].function = (uint32_t)*function;
	}
	map_deinit(&by_symbol);
	map_deinit(&by_address);
}

/* ---- inlined functions, files and lines ---- */

static const char *keep_string(struct batch *batch, const char *text)
{
	if (!text)
		return NULL;
	bool added;
	uint64_t *kept = map_put(&batch->files, (uint64_t)(uintptr_t)text, &added);
	if (added)
		*kept = (uint64_t)(uintptr_t)arena_strndup(
			&batch->profile->arena, text, strlen(text));
	return (const char *)(uintptr_t)*kept;
}

/* The frame of one function of the chain. */
static void set_place(struct batch *batch, uint32_t frame, const struct chain_frame *from)
{
	struct profile_frame *to = &batch->profile->frames.data[frame];
	struct profile_function *function = &batch->profile->functions.data[to->function];
	to->file = keep_string(batch, from->file);
	to->line = from->line;
	if (function->file || !function->is_known)
		return;
	function->file = keep_string(batch, from->decl_file ? from->decl_file : from->file);
	function->line = from->decl_file ? from->decl_line : 0;
}

static uint32_t add_inlined(struct batch *batch, uint32_t outer, const struct chain_frame *from)
{
	struct profile *profile = batch->profile;
	struct profile_frame frame = {
		.object = batch->object,
		.offset = profile->frames.data[outer].offset,
		.outer = outer,
		.function = named_function(batch, from->function ? from->function : "[unnamed]"),
	};
	uint32_t index = (uint32_t)profile->frames.len;
	vec_push(&profile->frames, frame);
	set_place(batch, index, from);
	return index;
}

/* Symbols know the outermost function best: clones (.cold, .isra) have names of their own there. */
static void apply_chain(struct batch *batch, uint32_t frame, const struct chain *chain)
{
	struct profile *profile = batch->profile;
	if (!chain->count)
		return;
	const struct chain_frame *last = &chain->frames[chain->count - 1];
	uint32_t function = profile->frames.data[frame].function;
	if (!profile->functions.data[function].is_known && last->function)
		profile->frames.data[frame].function = named_function(batch, last->function);
	set_place(batch, frame, last);
	if (batch->options->no_inline)
		return;
	uint32_t inner = frame;
	for (uint32_t i = chain->count - 1; i-- > 0;)
		inner = add_inlined(batch, inner, &chain->frames[i]);
	if (inner != frame)
		profile->frames.data[frame].innermost = inner;
}

struct located {
	uint64_t address;
	uint32_t frame;
};

static int compare_located(const void *a, const void *b)
{
	const struct located *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Sorts the frames by address; returns how many different addresses there are, in `addresses`. */
static size_t sort_frames(const struct batch *batch, struct located *located, uint64_t *addresses)
{
	size_t distinct = 0;
	for (size_t i = 0; i < batch->frames.len; i++)
		located[i] = (struct located){batch->addresses.data[i], batch->frames.data[i]};
	qsort(located, batch->frames.len, sizeof(*located), compare_located);
	for (size_t i = 0; i < batch->frames.len; i++)
		if (!distinct || addresses[distinct - 1] != located[i].address)
			addresses[distinct++] = located[i].address;
	return distinct;
}

/* What debug information adds to frames that symbols have named. */
static void expand_frames(struct batch *batch, const struct symbol_file *file)
{
	struct dwarf_resolver_options options = {
		.path = file->debug_path, .root = batch->options->files.symfs};
	struct dwarf_resolver *resolver = dwarf_resolver_create(file->debug, &options);
	if (!resolver)
		return;
	size_t count = batch->frames.len;
	CLEANUP_FREE struct located *located = mem_zalloc_array(count, sizeof(*located));
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE struct chain *chains = mem_zalloc_array(count, sizeof(*chains));
	size_t distinct = sort_frames(batch, located, addresses);
	dwarf_resolver_run(resolver, addresses, distinct, chains);
	for (size_t i = 0, at = 0; i < count; i++) {
		if (addresses[at] != located[i].address)
			at++;
		apply_chain(batch, located[i].frame, &chains[at]);
	}
	dwarf_resolver_destroy(resolver);
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
	if (file.debug)
		expand_frames(batch, &file);
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
		strtab_deinit(&batch->names);
		vec_deinit(&batch->by_name);
		map_deinit(&batch->files);
	}
	mem_free(batches);
}
