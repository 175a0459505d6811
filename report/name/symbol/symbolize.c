#include "report/name/symbol/symbolize.h"

#include <elf.h>

#include "report/name/symbol/address_index.h"
#include "report/name/symbol/answer.h"
#include "report/name/symbol/answer_cache.h"
#include "report/name/symbol/kernel_file.h"
#include "report/name/symbol/kernel_module.h"
#include "report/name/symbol/name_cache.h"
#include "report/name/symbol/symbolizer.h"

static const char unreadable[] = "its symbols could not be read when recording";
static const char recording[] = "the recording";

/* A batch being asked for: nothing of the profile is written. */
struct asking {
	const struct batch *batch;
	struct symbol_file_options files; /* with debuginfod when it is the network's turn */
	enum reach reach;
	bool asks_unknown; /* of what an archive knows no name is asked again */
	struct findings *findings;
};

static const struct profile_object *object_of(const struct batch *batch)
{
	return &batch->profile->objects.data[batch->object];
}

/* ---- answers ---- */

static bool is_known(const struct asking *asking, const struct batch_place *place)
{
	struct chain chain;
	return answers_find(&asking->findings->answers, place->offset, &chain) &&
	       (chain.count || !asking->asks_unknown);
}

struct places {
	VEC(struct answer_place) list;
};

/* Those of the batch that are not answered yet, at their addresses in the file. */
static struct places open_places(const struct asking *asking, const struct symbol_file *file)
{
	struct places places = {0};
	vec_each(&asking->batch->places, it) {
		if (is_known(asking, it))
			continue;
		uint64_t address = symbol_file_address(object_of(asking->batch), file, it->offset);
		struct answer_place place = {
			.address = address,
			.debug_address = address,
			.offset = it->offset,
		};
		vec_push(&places.list, place);
	}
	return places;
}

/* Asks for them. True when all that the files name was there to answer. */
static bool ask(struct asking *asking, const struct answer_sources *sources, struct places *places)
{
	struct findings *findings = asking->findings;
	const struct elf_budget *budget = asking->batch->budget;
	size_t count = places->list.len;
	uint64_t refusals = elf_budget_refusals(budget);
	bool is_whole = answer_places(sources, places->list.data, count, &findings->answers);
	bool lacks_room = elf_budget_refusals(budget) > refusals;
	findings->lacks_room |= lacks_room;
	findings->lacks_debug_parts |= !is_whole || lacks_room;
	vec_deinit(&places->list);
	return is_whole && !lacks_room;
}

static bool is_answered(const struct asking *asking)
{
	vec_each(&asking->batch->places, place)
		if (!is_known(asking, place))
			return false;
	return true;
}

static struct answer_sources sources_of(const struct asking *asking, const struct symbol_file *file)
{
	struct answer_sources sources = answer_sources_of(file);
	sources.debug_options.budget = asking->batch->budget;
	return sources;
}

/* Names are of use where inlined functions are shown: most are theirs. */
static bool are_names_kept(const struct asking *asking)
{
	return asking->findings->shown.mode != DEMANGLE_NONE && !asking->batch->options->no_inline;
}

static void load_kept(struct asking *asking, struct answer_key *key)
{
	const struct batch *batch = asking->batch;
	struct findings *findings = asking->findings;
	answer_cache_load(batch->cache, key, &findings->answers);
	if (are_names_kept(asking))
		name_cache_load(batch->name_cache, key, &findings->answers, &findings->shown);
}

static void keep(struct asking *asking, struct answer_key *key, bool are_answers_new)
{
	const struct batch *batch = asking->batch;
	struct findings *findings = asking->findings;
	if (are_answers_new)
		answer_cache_store(batch->cache, key, &findings->answers);
	if (are_names_kept(asking) &&
		shown_names_complete(&findings->shown, &findings->answers) + are_answers_new)
		name_cache_store(batch->name_cache, key, &findings->answers, &findings->shown);
}

/*
 * By what earlier reports found out, or by the files themselves. False: there is debug information
 * for what only symbols have answered.
 */
static bool ask_files(
	struct asking *asking, struct symbol_file *file, struct answer_sources *sources)
{
	struct answers *answers = &asking->findings->answers;
	struct answer_key key = {0};
	if (!answers_count(answers)) {
		key = answer_cache_key(&object_of(asking->batch)->info, file);
		load_kept(asking, &key);
		sources->debug_index = (struct chain_index){
			.cache = asking->batch->index_cache,
			.name = key.name,
			.nr_walks = key.nr_stored,
		};
	}
	struct places places = open_places(asking, file);
	bool is_whole = asking->reach > REACH_SYMBOLS || !places.list.len ||
			answer_detail(sources) == ANSWERS_SYMBOLS;
	if (places.list.len)
		sources->index = symbol_file_index(file);
	if (!is_whole)
		*sources = (struct answer_sources){.index = sources->index};
	size_t nr_asked = places.list.len;
	if (ask(asking, sources, &places) && is_whole && !file->is_symtab_cut)
		keep(asking, &key, nr_asked);
	return is_whole;
}

static void note_origin(struct findings *findings)
{
	struct symbol_file *file = &findings->file;
	findings->has_file = true;
	if (!findings->symbols_from)
		findings->problem = file->problem;
	if (file->path && file->level == SYMBOL_LEVEL_NONE && !file->go &&
		!symbol_index_count(symbol_file_index(file)))
		findings->problem = "the file has no symbol table";
}

/* Whether servers may have what this machine lacks. An archive's answers are not given up. */
static bool needs_network(const struct asking *asking)
{
	const struct findings *findings = asking->findings;
	return asking->reach < REACH_NETWORK && asking->batch->options->files.debuginfod &&
	       object_of(asking->batch)->info.build_id_len && !findings->has_archived_names &&
	       (findings->file.level < SYMBOL_LEVEL_DWARF || findings->lacks_debug_parts);
}

static void drop_archived(struct findings *findings)
{
	answers_deinit(&findings->answers);
	findings->nr_archived = 0;
	findings->has_archived_names = false;
}

/*
 * Weighs what an archive has against what is here. It says of a place that nothing is known only
 * if at least the exported symbols were asked: where there are no others, they need not be again.
 */
static void judge_archived(struct asking *asking, const struct answer_sources *sources)
{
	struct findings *findings = asking->findings;
	enum answers_detail detail = findings->answers.detail;
	bool has_symtab = findings->file.level > SYMBOL_LEVEL_DYNSYM;
	if (answer_detail(sources) > detail || (has_symtab && !findings->has_archived_names))
		drop_archived(findings);
	else
		asking->asks_unknown = has_symtab && detail < ANSWERS_INLINED;
}

/* Returns what is to be asked next. */
static enum reach ask_file(struct asking *asking)
{
	struct findings *findings = asking->findings;
	if (findings->has_archived_names)
		findings->symbols_from = recording;
	if (findings->answers.detail == ANSWERS_INLINED && is_answered(asking))
		return REACH_END;
	if (asking->reach == REACH_RECORDING)
		return answers_count(&findings->answers) ? REACH_FILES : REACH_SYMBOLS;
	struct symbol_file *file = &findings->file;
	symbol_file_find(object_of(asking->batch), &asking->files, file);
	struct answer_sources sources = sources_of(asking, file);
	judge_archived(asking, &sources);
	bool is_whole = ask_files(asking, file, &sources);
	note_origin(findings);
	if (!is_whole)
		return REACH_FILES;
	return needs_network(asking) ? REACH_NETWORK : REACH_END;
}

/* ---- what was captured when recording: the kernel, its modules, the vDSO ---- */

static struct symbol_index *captured_index(struct asking *asking, const char *problem)
{
	const struct batch *batch = asking->batch;
	struct findings *findings = asking->findings;
	struct symbol_index *index = symbol_index_create();
	vec_each(&batch->profile->symbols, symbol)
		if (symbol->object == batch->object)
			symbol_index_add(index, symbol->offset, symbol->size, symbol->name,
				STB_GLOBAL, STT_FUNC);
	symbol_index_build(index);
	if (symbol_index_count(index))
		findings->symbols_from = recording;
	else if (!findings->symbols_from)
		findings->problem = problem;
	return index;
}

/* Memory of no file has no symbols either way, and its addresses become its names. */
static enum reach ask_captured(struct asking *asking, const char *problem)
{
	struct symbol_index *index = captured_index(asking, problem);
	struct places places = open_places(asking, NULL);
	ask(asking, &(struct answer_sources){.index = index}, &places);
	symbol_index_destroy(index);
	return REACH_END;
}

/*
 * Names are those that were captured; a file of the same build adds the rest. What an archive has
 * is only asked for again where that has no lines.
 */
static void ask_kernel(struct asking *asking, const struct symbol_file *file,
	uint64_t (*to_debug)(const void *context, uint64_t offset), const void *context)
{
	struct symbol_index *index = captured_index(asking, unreadable);
	struct answer_sources sources = sources_of(asking, file);
	struct places places = open_places(asking, NULL);
	sources.index = index;
	vec_each(&places.list, place)
		place->debug_address = to_debug(context, place->offset);
	ask(asking, &sources, &places);
	symbol_index_destroy(index);
}

static uint64_t image_address(const void *context, uint64_t offset)
{
	const struct kernel_file *kernel = context;
	return kernel->base + offset;
}

static enum reach ask_image(struct asking *asking)
{
	const struct batch *batch = asking->batch;
	struct kernel_file kernel = {.file = {.debug_fd = -1, .go_fd = -1}};
	bool is_open = !is_answered(asking);
	if (is_open && asking->reach > REACH_RECORDING &&
		kernel_file_find(batch->profile, object_of(batch), &asking->files, &kernel))
		ask_kernel(asking, &kernel.file, image_address, &kernel);
	else
		ask_captured(asking, unreadable);
	kernel_file_deinit(&kernel);
	return is_open && asking->reach == REACH_RECORDING ? REACH_FILES : REACH_END;
}

static uint64_t module_address(const void *context, uint64_t offset)
{
	return kernel_module_address(context, offset);
}

static enum reach ask_module(struct asking *asking)
{
	const struct batch *batch = asking->batch;
	struct kernel_module_file module = {.file = {.debug_fd = -1, .go_fd = -1}};
	bool is_open = !is_answered(asking);
	if (is_open && asking->reach > REACH_RECORDING &&
		kernel_module_find(batch->profile, batch->object, &asking->files, &module))
		ask_kernel(asking, &module.file, module_address, &module);
	else
		ask_captured(asking, unreadable);
	kernel_module_deinit(&module);
	return is_open && asking->reach == REACH_RECORDING ? REACH_FILES : REACH_END;
}

static enum reach ask_compiled(struct asking *asking, const char *problem)
{
	if (asking->batch->compiled.len)
		asking->findings->symbols_from = recording;
	return ask_captured(asking, problem);
}

static enum reach ask_object(struct asking *asking)
{
	switch (object_of(asking->batch)->info.kind) {
	case LAYOUT_OBJECT_FILE:
		return ask_file(asking);
	case LAYOUT_OBJECT_KERNEL:
		return ask_image(asking);
	case LAYOUT_OBJECT_MODULE:
		return ask_module(asking);
	case LAYOUT_OBJECT_BPF:
		return ask_compiled(asking, unreadable);
	case LAYOUT_OBJECT_SCRIPT:
		return ask_compiled(asking, "the recorder did not get its name");
	case LAYOUT_OBJECT_VDSO:
		return ask_captured(asking, unreadable);
	case LAYOUT_OBJECT_ANONYMOUS:
	case LAYOUT_OBJECT_UNKNOWN:
	default:
		return ask_compiled(asking, "no perf map or jitdump named this code of no file");
	}
}

/* Asking begins with what the recording had; names that are shown already must not lose it. */
static void begin_with_archive(struct batch *batch, struct findings *findings)
{
	findings->nr_archived = answers_count(&batch->archived);
	findings->has_archived_names = answers_have_names(&batch->archived);
	if (findings->reach == REACH_NETWORK && !batch->is_shown) {
		findings->answers = batch->archived;
		batch->archived = (struct answers){0};
		return;
	}
	answers_copy(&findings->answers, &batch->archived);
}

void symbolize_ask(struct batch *batch, struct findings *ret)
{
	*ret = (struct findings){.reach = batch->next,
		.shown = {.mode = batch->options->demangle},
		.file = {.debug_fd = -1, .go_fd = -1}};
	struct asking asking = {.batch = batch,
		.files = batch->options->files,
		.reach = batch->next,
		.findings = ret};
	if (batch->next < REACH_NETWORK)
		asking.files.debuginfod = NULL;
	begin_with_archive(batch, ret);
	batch->next = ask_object(&asking);
	ret->is_last = batch->next == REACH_END;
	symbol_file_close(&ret->file);
}

void symbolize(struct profile *profile, const struct symbolize_options *options)
{
	struct symbolizer *symbolizer = symbolizer_create(profile, options);
	symbolizer_rank(symbolizer);
	symbolizer_prefetch(symbolizer);
	for (size_t i = 0; i < symbolizer_count(symbolizer); i++) {
		struct findings findings;
		struct batch *batch = symbolizer_batch(symbolizer, i);
		batch->next = REACH_NETWORK; /* all at once */
		symbolize_ask(batch, &findings);
		batch_apply(batch, &findings);
		batch_deinit(batch);
	}
	symbolizer_destroy(symbolizer);
}
