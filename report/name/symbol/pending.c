#include "report/name/symbol/pending.h"

#include <elf.h>
#include <string.h>

#include "format/base/path.h"
#include "format/base/str.h"
#include "report/name/short_names.h"

enum {
	PLACES_AHEAD = 8, /* as long as memory takes to answer */
};

static struct profile_object *pending_object_of(const struct pending *pending)
{
	return &pending->profile->objects.data[pending->object];
}

/* Its functions have names from their runtime, and no file has them. */
static bool is_named_by_recording(enum layout_object_kind kind)
{
	return kind == LAYOUT_OBJECT_ANONYMOUS || kind == LAYOUT_OBJECT_UNKNOWN ||
	       kind == LAYOUT_OBJECT_BPF || kind == LAYOUT_OBJECT_SCRIPT;
}

void pending_add(struct pending *pending, uint32_t frame)
{
	const struct profile_frame *it = &pending->profile->frames.data[frame];
	if (it->code && is_named_by_recording(pending_object_of(pending)->info.kind))
		vec_push(&pending->compiled, frame);
	else
		vec_push(&pending->places,
			(struct pending_place){.frame = frame, .offset = it->offset});
}

/* ---- functions ---- */

/*
 * Functions of an earlier time make room for those that are better: otherwise each time would add
 * one for each address. Returns the place in pending->functions.
 */
static uint32_t pending_add_function(
	struct pending *pending, const struct profile_function *function, uint32_t older)
{
	struct profile *profile = pending->profile;
	if (pending->nr_functions == pending->functions.len) {
		vec_push(&pending->functions, (uint32_t)profile->functions.len);
		vec_push(&pending->older, 0);
		vec_push(&profile->functions, (struct profile_function){0});
	}
	uint32_t place = (uint32_t)pending->nr_functions++;
	struct profile_function *added = &profile->functions.data[pending->functions.data[place]];
	*added = *function;
	const struct profile_object *object = pending_object_of(pending);
	added->is_script = object->info.kind == LAYOUT_OBJECT_SCRIPT;
	added->scope_mark = added->is_script ? short_names_mark(object->name) : 0;
	pending->older.data[place] = older;
	return place;
}

static struct profile_function *pending_function_at(const struct pending *pending, uint32_t place)
{
	return &pending->profile->functions.data[pending->functions.data[place]];
}

static const char *shown_name(struct pending *pending, const struct chain_frame *frame)
{
	CLEANUP(str_deinit) struct str name = {0};
	const char *known = shown_names_get(pending->shown, frame->number);
	if (known)
		return known;
	if (!demangle(frame->function, pending->options->demangle, &name))
		return frame->function;
	return arena_strndup(&pending->profile->arena, str_text(&name), name.len);
}

/* Equal names of one object are one text, so its number or else its address is the key. */
static uint64_t *newest_called(struct pending *pending, const struct chain_frame *frame)
{
	return frame->number
		       ? &pending->by_number.data[frame->number - 1]
		       : map_put(&pending->by_name, (uint64_t)(uintptr_t)frame->function, NULL);
}

/* Static functions of several files may have one name, and lambdas of one. Of a header each file
 * may have its own path. */
static bool is_declared_there(
	const struct profile_function *function, const struct chain_frame *frame)
{
	if (!frame->decl_file || !function->is_declared)
		return !frame->decl_file && !function->is_declared;
	return frame->decl_line == function->line &&
	       strcmp(path_last_part(frame->decl_file), path_last_part(function->file)) == 0;
}

/* The function of the frame's name whose symbol is at its start, or where none is known, as of one
 * that was inlined, one that is declared there. Further ones of the name are equal functions. */
static uint32_t named_function(
	struct pending *pending, const struct chain_frame *frame, bool is_inlined)
{
	enum {
		MANY_NAMESAKES = 64,
	};
	uint64_t *newest = newest_called(pending, frame), start = is_inlined ? 0 : frame->start;
	unsigned count = 0;
	for (uint64_t at = *newest; at && (start || count++ < MANY_NAMESAKES);
		at = pending->older.data[at - 1]) {
		const struct profile_function *known =
			pending_function_at(pending, (uint32_t)at - 1);
		if (start ? known->start == start : is_declared_there(known, frame))
			return pending->functions.data[at - 1];
	}
	struct profile_function function = {
		.name = *newest ? pending_function_at(pending, (uint32_t)*newest - 1)->name
				: shown_name(pending, frame),
		.system_name = frame->function,
		.object = pending->object,
		.is_known = true,
		.start = start,
	};
	*newest = pending_add_function(pending, &function, (uint32_t)*newest) + 1;
	return pending->functions.data[*newest - 1];
}

/* OBJECT, `between` and ADDRESS. There can be one for each frame, so this does not go through
 * printf(). */
static char *address_text(struct pending *pending, const char *between, uint64_t address)
{
	const char *name = path_last_part(pending_object_of(pending)->name);
	size_t len = strlen(name), len_between = strlen(between), digits = 1;
	while (digits < 16 && address >> 4 * digits)
		digits++;
	char *text = arena_alloc(&pending->profile->arena, len + len_between + digits + 1);
	char *at = mempcpy(mempcpy(text, name, len), between, len_between);
	while (digits--)
		*at++ = "0123456789abcdef"[address >> 4 * digits & 15];
	*at = '\0';
	return text;
}

/* One that has no symbol, but of which the file tells where it begins: "OBJECT fn_ADDRESS". */
static uint32_t bounded_function(struct pending *pending, uint64_t start, enum chain_bounds bounds)
{
	bool is_new;
	uint64_t *index = map_put(&pending->by_address, start, &is_new);
	if (!is_new)
		return (uint32_t)*index;
	char *text = address_text(pending, " fn_", start);
	struct profile_function function = {
		.name = text,
		.system_name = strrchr(text, ' ') + 1,
		.object = pending->object,
		.has_bounds = true,
		.bounds = bounds,
		.start = start,
	};
	uint32_t place = pending_add_function(pending, &function, 0);
	*index = pending->functions.data[place];
	return (uint32_t)*index;
}

static uint32_t unknown_function(struct pending *pending, uint64_t address)
{
	bool is_new;
	uint64_t *index = map_put(&pending->by_unknown, address, &is_new);
	if (!is_new)
		return (uint32_t)*index;
	const char *text = address_text(pending, "+0x", address);
	struct profile_function function = {
		.name = text,
		.system_name = text,
		.object = pending->object,
		.start = address,
	};
	uint32_t place = pending_add_function(pending, &function, 0);
	*index = pending->functions.data[place];
	return (uint32_t)*index;
}

static void forget_functions(struct pending *pending)
{
	pending->by_number.len = 0;
	map_clear(&pending->by_name);
	map_clear(&pending->by_address);
	map_clear(&pending->by_unknown);
	pending->nr_functions = 0;
}

/* Nothing leads to those that were not needed again; they must not tell of freed texts. */
static void clear_unused_functions(struct pending *pending)
{
	for (size_t i = pending->nr_functions; i < pending->functions.len; i++)
		*pending_function_at(pending, (uint32_t)i) = (struct profile_function){
			.name = "", .system_name = "", .object = pending->object};
}

/* ---- frames ---- */

static void set_place(struct pending *pending, uint32_t frame, const struct chain_frame *from)
{
	struct profile_frame *to = &pending->profile->frames.data[frame];
	struct profile_function *function = &pending->profile->functions.data[to->function];
	to->file = from->file;
	to->line = from->line;
	bool is_better = from->decl_file && !function->is_declared;
	if ((function->file && !is_better) || !function->is_known)
		return;
	function->is_declared = from->decl_file;
	function->file = from->decl_file ? from->decl_file : from->file;
	function->line = from->decl_file ? from->decl_line : 0;
}

static void name_frame(struct pending *pending, const struct lookup_result *result,
	const struct pending_place *place, const struct chain *chain)
{
	const struct chain_frame *outermost =
		chain->count ? &chain->frames[chain->count - 1] : &(struct chain_frame){0};
	const struct symbol_file *file = result->has_file ? &result->file : NULL;
	uint32_t function;
	if (outermost->function)
		function = named_function(pending, outermost, false);
	else if (outermost->start)
		function = bounded_function(pending, outermost->start, outermost->bounds);
	else
		function = unknown_function(pending,
			symbol_file_address(pending_object_of(pending), file, place->offset));
	pending->profile->frames.data[place->frame].function = function;
	set_place(pending, place->frame, outermost);
}

/* The frame that stood there the last time stays the same one, as it may be selected. */
static uint32_t inner_frame(struct profile *profile, uint32_t innermost, uint32_t outer)
{
	for (uint32_t at = innermost; at && at != outer; at = profile->frames.data[at].outer)
		if (profile->frames.data[at].outer == outer)
			return at;
	vec_push(&profile->frames, (struct profile_frame){.outer = outer});
	return (uint32_t)profile->frames.len - 1;
}

static uint32_t add_inlined(struct pending *pending, const struct pending_place *place,
	uint32_t outer, const struct chain_frame *from)
{
	struct profile *profile = pending->profile;
	uint32_t innermost = profile->frames.data[place->frame].innermost;
	uint32_t index = inner_frame(profile, innermost, outer);
	struct profile_frame *frame = &profile->frames.data[index];
	frame->object = pending->object;
	frame->offset = place->offset;
	static const struct chain_frame unnamed = {.function = "[unnamed]"};
	frame->function = named_function(pending, from->function ? from : &unnamed, true);
	profile->functions.data[frame->function].is_known = from->function;
	set_place(pending, index, from);
	return index;
}

/*
 * Frames of the last time that are no more are as good as the one they were inlined into. `left`
 * need not be among them: then there are more than before.
 */
static void drop_inlined(struct profile *profile, uint32_t innermost, uint32_t left)
{
	struct profile_frame *frames = profile->frames.data;
	uint32_t at = innermost;
	while (at && at != left)
		at = frames[at].outer;
	if (!at)
		return;
	for (at = innermost; at != left; at = frames[at].outer)
		frames[at].function = frames[left].function;
}

static void add_inlined_frames(
	struct pending *pending, const struct pending_place *place, const struct chain *chain)
{
	struct profile *profile = pending->profile;
	uint32_t inner = place->frame;
	for (uint32_t i = chain->count; i-- > 1;)
		inner = add_inlined(pending, place, inner, &chain->frames[i - 1]);
	struct profile_frame *frame = &profile->frames.data[place->frame];
	drop_inlined(profile, frame->innermost, inner);
	frame->innermost = inner != place->frame ? inner : 0;
}

/* The recording has what a runtime said of the code there. */
static void name_compiled(struct pending *pending)
{
	struct profile *profile = pending->profile;
	vec_each(&pending->compiled, index) {
		struct profile_frame *frame = &profile->frames.data[*index];
		const struct profile_code *code = &profile->codes.data[frame->code - 1];
		struct chain_frame described = {.function = code->name,
			.start = code->start,
			.file = code->file,
			.line = code->line};
		frame->function = named_function(pending, &described, false);
		set_place(pending, *index, &described);
	}
}

/* All at once: a function for each address is what there is without chains, and hardly more than
 * their texts with them. */
static void reserve_functions(struct pending *pending, const struct chain_map *known)
{
	size_t count = chain_map_text_count(known);
	vec_resize(&pending->by_number, count);
	if (!chain_map_count(known)) {
		count = pending->places.len;
		map_reserve(&pending->by_unknown, count);
	}
	vec_reserve(&pending->functions, count);
	vec_reserve(&pending->older, count);
	vec_reserve(&pending->profile->functions, count);
}

/* The chain of each place; returns how many frames they have together. */
static size_t pending_find_chains(
	const struct pending *pending, const struct chain_map *known, struct chain *chains)
{
	size_t nr_frames = 0;
	for (size_t i = 0; i < pending->places.len; i++) {
		chain_map_find(known, pending->places.data[i].offset, &chains[i]);
		nr_frames += chains[i].count;
	}
	return nr_frames;
}

/* Places are in no order of memory: what naming one looks at is fetched before its turn. */
static void fetch_place(const struct pending *pending, const struct lookup_result *result,
	const struct pending_place *place)
{
	const struct symbol_file *file = result->has_file ? &result->file : NULL;
	__builtin_prefetch(&pending->profile->frames.data[place->frame], true);
	if (pending->by_unknown.cap)
		map_prefetch(&pending->by_unknown,
			symbol_file_address(pending_object_of(pending), file, place->offset));
}

/* Functions with symbols come first: one that was inlined elsewhere is the same function. */
static void name_frames(struct pending *pending, const struct lookup_result *result)
{
	const struct chain_map *known = &result->chains;
	size_t count = pending->places.len;
	bool had_chains = pending->outdated.len; /* of the time before */
	CLEANUP_FREE struct chain *chains = mem_zalloc_array(count, sizeof(*chains));
	size_t nr_frames = pending_find_chains(pending, known, chains);
	pending->shown = &result->shown;
	forget_functions(pending);
	name_compiled(pending);
	reserve_functions(pending, known);
	for (size_t i = 0; i < count; i++) {
		if (i + PLACES_AHEAD < count)
			fetch_place(pending, result, &pending->places.data[i + PLACES_AHEAD]);
		name_frame(pending, result, &pending->places.data[i], &chains[i]);
	}
	if (!pending->options->no_inline && (nr_frames || had_chains)) {
		if (!had_chains)
			vec_reserve(&pending->profile->frames, nr_frames);
		for (size_t i = 0; i < count; i++)
			add_inlined_frames(pending, &pending->places.data[i], &chains[i]);
	}
	clear_unused_functions(pending);
	pending->shown = NULL;
}

/* ---- the object ---- */

static void pending_note_origin(struct pending *pending, const struct lookup_result *result)
{
	struct profile_object *object = pending_object_of(pending);
	object->symbols_from = result->symbols_from;
	object->symbols_problem = result->problem;
	object->lacks_debug_parts = result->lacks_debug_parts;
	object->lacks_room = result->lacks_room;
	if (!result->has_file)
		return;
	symbol_file_keep_attempts(&result->file, &pending->profile->arena, object);
	const char *path = result->file.path;
	if (path)
		object->symbols_from = arena_strndup(&pending->profile->arena, path, strlen(path));
}

/* The last chains are the profile's; names may still point to those of the time before. */
static void keep_chains(struct pending *pending, struct lookup_result *result)
{
	struct profile_object *object = pending_object_of(pending);
	if (!result->is_last) {
		vec_push(&pending->outdated, result->chains);
	} else {
		vec_push(&pending->outdated, object->chains);
		object->chains = result->chains;
		object->nr_archived = result->nr_archived;
	}
	result->chains = (struct chain_map){0};
}

void pending_apply(struct pending *pending, struct lookup_result *result)
{
	name_frames(pending, result);
	pending_note_origin(pending, result);
	keep_chains(pending, result);
	lookup_result_deinit(result);
}

void pending_deinit(struct pending *pending)
{
	vec_deinit(&pending->places);
	vec_deinit(&pending->compiled);
	vec_deinit(&pending->functions);
	vec_deinit(&pending->older);
	vec_deinit(&pending->by_number);
	map_deinit(&pending->by_name);
	map_deinit(&pending->by_address);
	map_deinit(&pending->by_unknown);
	chain_map_deinit(&pending->archived);
	vec_each(&pending->outdated, chains)
		chain_map_deinit(chains);
	vec_deinit(&pending->outdated);
}
