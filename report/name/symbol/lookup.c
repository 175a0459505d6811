#include "report/name/symbol/lookup.h"

#include <elf.h>

#include "report/name/symbol/address_index.h"
#include "report/name/symbol/kernel_file.h"
#include "report/name/symbol/kernel_module.h"
#include "report/name/symbol/pending.h"
#include "report/name/symbol/symbol_cache.h"
#include "report/name/symbol/symbol_resolver.h"

static const char unreadable[] = "its symbols could not be read when recording";
static const char recording[] = "the recording";

/* One lookup for a pending: nothing of the profile is written. */
struct lookup {
	const struct pending *pending;
	struct symbol_file_options files; /* with debuginfod when it is the network's turn */
	enum lookup_stage stage;
	bool looks_up_unnamed; /* ... of which the archive knows no name */
	bool looks_up_unknown; /* ... of which it does not even know the function */
	struct lookup_result *result;
};

static const struct profile_object *lookup_object_of(const struct pending *pending)
{
	return &pending->profile->objects.data[pending->object];
}

/* ---- chains ---- */

static bool is_known(const struct lookup *lookup, const struct pending_place *place)
{
	struct chain chain;
	if (!chain_map_find(&lookup->result->chains, place->offset, &chain))
		return false;
	if (chain_is_named(&chain))
		return true;
	return chain.count ? !lookup->looks_up_unnamed : !lookup->looks_up_unknown;
}

struct places {
	VEC(struct resolver_place) list;
};

/* Those of the pending that are not known yet, at their addresses in the file. */
static struct places open_places(const struct lookup *lookup, const struct symbol_file *file)
{
	struct places places = {0};
	vec_each(&lookup->pending->places, it) {
		if (is_known(lookup, it))
			continue;
		uint64_t address =
			symbol_file_address(lookup_object_of(lookup->pending), file, it->offset);
		struct resolver_place place = {
			.address = address,
			.debug_address = address,
			.offset = it->offset,
		};
		vec_push(&places.list, place);
	}
	return places;
}

/* Looks them up. True when all files that they name were there. */
static bool look_up_places(
	struct lookup *lookup, const struct resolver_sources *sources, struct places *places)
{
	struct lookup_result *result = lookup->result;
	const struct elf_budget *budget = lookup->pending->budget;
	size_t count = places->list.len;
	uint64_t refusals = elf_budget_refusals(budget);
	bool is_whole = resolver_run(sources, places->list.data, count, &result->chains);
	bool lacks_room = elf_budget_refusals(budget) > refusals;
	result->lacks_room |= lacks_room;
	result->lacks_debug_parts |= !is_whole || lacks_room;
	vec_deinit(&places->list);
	return is_whole && !lacks_room;
}

static bool is_answered(const struct lookup *lookup)
{
	vec_each(&lookup->pending->places, place)
		if (!is_known(lookup, place))
			return false;
	return true;
}

static struct resolver_sources sources_of(
	const struct lookup *lookup, const struct symbol_file *file)
{
	struct resolver_sources sources = resolver_sources_of(file);
	sources.debug_options.budget = lookup->pending->budget;
	return sources;
}

/* NULL: they are not kept. They are of use where inlined functions are shown: most are theirs. */
static struct shown_names *kept_names(const struct lookup *lookup)
{
	bool are_kept =
		lookup->result->shown.mode != DEMANGLE_NONE && !lookup->pending->options->no_inline;
	return are_kept ? &lookup->result->shown : NULL;
}

static void lookup_keep(
	struct lookup *lookup, struct symbol_cache_entry *entry, bool are_chains_new)
{
	struct lookup_result *result = lookup->result;
	struct shown_names *names = kept_names(lookup);
	size_t nr_new = names ? shown_names_complete(names, &result->chains) : 0;
	if (are_chains_new || nr_new)
		symbol_cache_store(
			lookup->pending->cache, entry, &result->chains, are_chains_new, names);
}

/*
 * By what earlier reports found out, or by the files themselves. False: there is debug information
 * for what only symbols were known.
 */
static bool look_up_files(
	struct lookup *lookup, struct symbol_file *file, struct resolver_sources *sources)
{
	struct chain_map *chains = &lookup->result->chains;
	CLEANUP(symbol_cache_entry_deinit) struct symbol_cache_entry entry = {0};
	if (!chain_map_count(chains)) {
		symbol_cache_find(&lookup_object_of(lookup->pending)->info, file, &entry);
		symbol_cache_load(lookup->pending->cache, &entry, chains, kept_names(lookup));
		sources->index = (struct resolver_index){
			.cache = lookup->pending->index_cache,
			.name = entry.name,
			.nr_walks = entry.nr_stored,
		};
	}
	struct places places = open_places(lookup, file);
	bool is_whole = lookup->stage > LOOKUP_SYMBOLS || !places.list.len ||
			resolver_detail(sources) == CHAIN_MAP_SYMBOLS;
	if (places.list.len)
		sources->symbols = symbol_file_index(file);
	if (!is_whole)
		*sources = (struct resolver_sources){
			.symbols = sources->symbols, .code = sources->code};
	size_t nr_looked_up = places.list.len;
	if (look_up_places(lookup, sources, &places) && is_whole && !file->is_symtab_cut)
		lookup_keep(lookup, &entry, nr_looked_up);
	return is_whole;
}

static void lookup_note_origin(struct lookup_result *result)
{
	struct symbol_file *file = &result->file;
	result->has_file = true;
	if (!result->symbols_from)
		result->problem = file->problem;
	if (file->path && file->level == SYMBOL_LEVEL_NONE && !file->go &&
		!symbol_index_count(symbol_file_index(file)))
		result->problem = "the file has no symbol table";
}

/* Whether servers may have what this machine lacks. An archive's chains are not given up. */
static bool needs_network(const struct lookup *lookup)
{
	const struct lookup_result *result = lookup->result;
	return lookup->stage < LOOKUP_NETWORK && lookup->pending->options->files.debuginfod &&
	       lookup_object_of(lookup->pending)->info.build_id_len &&
	       !result->has_archived_names &&
	       (result->file.level < SYMBOL_LEVEL_DWARF || result->lacks_debug_parts);
}

static void drop_archived(struct lookup_result *result)
{
	chain_map_deinit(&result->chains);
	result->nr_archived = 0;
	result->has_archived_names = false;
}

/*
 * Weighs what an archive has against what is here. It says of a place that nothing is known only
 * if at least the exported symbols were asked: where there are no others, they need not be again.
 * An older one knew nothing of functions without a symbol.
 */
static void judge_archived(struct lookup *lookup, const struct resolver_sources *sources)
{
	struct lookup_result *result = lookup->result;
	enum chain_map_detail detail = result->chains.detail;
	bool has_symtab = result->file.level > SYMBOL_LEVEL_DYNSYM;
	if (resolver_detail(sources) > detail || (has_symtab && !result->has_archived_names))
		drop_archived(result);
	else
		lookup->looks_up_unnamed = has_symtab && detail < CHAIN_MAP_INLINED;
	lookup->looks_up_unknown = lookup->looks_up_unnamed || sources->code;
}

/* Returns the stage that comes next. */
static enum lookup_stage look_up_file(struct lookup *lookup)
{
	struct lookup_result *result = lookup->result;
	if (result->has_archived_names)
		result->symbols_from = recording;
	if (result->chains.detail == CHAIN_MAP_INLINED && is_answered(lookup))
		return LOOKUP_END;
	if (lookup->stage == LOOKUP_RECORDING)
		return chain_map_count(&result->chains) ? LOOKUP_FILES : LOOKUP_SYMBOLS;
	struct symbol_file *file = &result->file;
	symbol_file_find(lookup_object_of(lookup->pending), &lookup->files, file);
	struct resolver_sources sources = sources_of(lookup, file);
	judge_archived(lookup, &sources);
	bool is_whole = look_up_files(lookup, file, &sources);
	lookup_note_origin(result);
	if (!is_whole)
		return LOOKUP_FILES;
	return needs_network(lookup) ? LOOKUP_NETWORK : LOOKUP_END;
}

/* ---- what was captured when recording: the kernel, its modules, the vDSO ---- */

static struct symbol_index *captured_index(struct lookup *lookup, const char *problem)
{
	const struct pending *pending = lookup->pending;
	struct lookup_result *result = lookup->result;
	struct symbol_index *index = symbol_index_create();
	vec_each(&pending->profile->symbols, symbol)
		if (symbol->object == pending->object)
			symbol_index_add(index, symbol->offset, symbol->size, symbol->name,
				STB_GLOBAL, STT_FUNC);
	symbol_index_build(index);
	if (symbol_index_count(index))
		result->symbols_from = recording;
	else if (!result->symbols_from)
		result->problem = problem;
	return index;
}

/* Memory of no file has no symbols either way, and its addresses become its names. */
static enum lookup_stage look_up_captured(struct lookup *lookup, const char *problem)
{
	struct symbol_index *index = captured_index(lookup, problem);
	struct places places = open_places(lookup, NULL);
	look_up_places(lookup, &(struct resolver_sources){.symbols = index}, &places);
	symbol_index_destroy(index);
	return LOOKUP_END;
}

/*
 * Names are those that were captured; a file of the same build adds the rest. What an archive has
 * is only read again where that has no lines.
 */
static void look_up_kernel(struct lookup *lookup, const struct symbol_file *file,
	uint64_t (*to_debug)(const void *context, uint64_t offset), const void *context)
{
	struct symbol_index *index = captured_index(lookup, unreadable);
	struct resolver_sources sources = sources_of(lookup, file);
	struct places places = open_places(lookup, NULL);
	sources.symbols = index;
	vec_each(&places.list, place)
		place->debug_address = to_debug(context, place->offset);
	look_up_places(lookup, &sources, &places);
	symbol_index_destroy(index);
}

static uint64_t image_address(const void *context, uint64_t offset)
{
	const struct kernel_file *kernel = context;
	return kernel->base + offset;
}

static enum lookup_stage look_up_image(struct lookup *lookup)
{
	const struct pending *pending = lookup->pending;
	struct kernel_file kernel = {.file = SYMBOL_FILE_NONE};
	bool is_open = !is_answered(lookup);
	if (is_open && lookup->stage > LOOKUP_RECORDING &&
		kernel_file_find(
			pending->profile, lookup_object_of(pending), &lookup->files, &kernel))
		look_up_kernel(lookup, &kernel.file, image_address, &kernel);
	else
		look_up_captured(lookup, unreadable);
	kernel_file_deinit(&kernel);
	return is_open && lookup->stage == LOOKUP_RECORDING ? LOOKUP_FILES : LOOKUP_END;
}

static uint64_t module_address(const void *context, uint64_t offset)
{
	return kernel_module_address(context, offset);
}

static enum lookup_stage look_up_module(struct lookup *lookup)
{
	const struct pending *pending = lookup->pending;
	struct kernel_module_file module = {.file = SYMBOL_FILE_NONE};
	bool is_open = !is_answered(lookup);
	if (is_open && lookup->stage > LOOKUP_RECORDING &&
		kernel_module_find(pending->profile, pending->object, &lookup->files, &module))
		look_up_kernel(lookup, &module.file, module_address, &module);
	else
		look_up_captured(lookup, unreadable);
	kernel_module_deinit(&module);
	return is_open && lookup->stage == LOOKUP_RECORDING ? LOOKUP_FILES : LOOKUP_END;
}

static enum lookup_stage look_up_compiled(struct lookup *lookup, const char *problem)
{
	if (lookup->pending->compiled.len)
		lookup->result->symbols_from = recording;
	return look_up_captured(lookup, problem);
}

static enum lookup_stage look_up_object(struct lookup *lookup)
{
	switch (lookup_object_of(lookup->pending)->info.kind) {
	case LAYOUT_OBJECT_FILE:
		return look_up_file(lookup);
	case LAYOUT_OBJECT_KERNEL:
		return look_up_image(lookup);
	case LAYOUT_OBJECT_MODULE:
		return look_up_module(lookup);
	case LAYOUT_OBJECT_BPF:
		return look_up_compiled(lookup, unreadable);
	case LAYOUT_OBJECT_SCRIPT:
		return look_up_compiled(lookup, "the recorder did not get its name");
	case LAYOUT_OBJECT_VDSO:
		return look_up_captured(lookup, unreadable);
	case LAYOUT_OBJECT_ANONYMOUS:
	case LAYOUT_OBJECT_UNKNOWN:
	default:
		return look_up_compiled(
			lookup, "no perf map or jitdump named this code of no file");
	}
}

/* A lookup begins with what the recording had; names that are shown already must not lose it. */
static void begin_with_archive(struct pending *pending, struct lookup_result *result)
{
	result->nr_archived = chain_map_count(&pending->archived);
	result->has_archived_names = chain_map_have_names(&pending->archived);
	if (result->stage == LOOKUP_NETWORK && !pending->is_shown) {
		result->chains = pending->archived;
		pending->archived = (struct chain_map){0};
		return;
	}
	chain_map_copy(&result->chains, &pending->archived);
}

void lookup_run(struct pending *pending, struct lookup_result *ret)
{
	*ret = (struct lookup_result){.stage = pending->next,
		.shown = {.mode = pending->options->demangle},
		.file = SYMBOL_FILE_NONE};
	struct lookup lookup = {.pending = pending,
		.files = pending->options->files,
		.stage = pending->next,
		.result = ret};
	if (pending->next < LOOKUP_NETWORK)
		lookup.files.debuginfod = NULL;
	begin_with_archive(pending, ret);
	pending->next = look_up_object(&lookup);
	ret->is_last = pending->next == LOOKUP_END;
	symbol_file_close(&ret->file);
}

void lookup_result_deinit(struct lookup_result *result)
{
	shown_names_deinit(&result->shown);
	chain_map_deinit(&result->chains);
	symbol_file_deinit(&result->file);
}
