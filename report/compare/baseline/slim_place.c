#include "report/compare/baseline/slim_place.h"

#include <string.h>

#include "format/base/bytes.h"

void slim_places_init(struct slim_places *places, const struct profile *profile)
{
	*places = (struct slim_places){.profile = profile};
	vec_push(&places->list, (struct slim_place){0});
	vec_resize(&places->of_frames, profile->frames.len);
}

void slim_places_deinit(struct slim_places *places)
{
	vec_deinit(&places->list);
	vec_deinit(&places->of_frames);
	strtab_deinit(&places->known);
	vec_deinit(&places->of_known);
	strtab_deinit(&places->taken);
	map_deinit(&places->of_functions);
}

/* ---- what is known of a frame ---- */

static struct chain slim_place_chain_of(const struct profile *profile, uint32_t frame)
{
	const struct profile_frame *it = &profile->frames.data[frame];
	struct chain chain = {0};
	chain_map_find(&profile->objects.data[it->object].chains, it->offset, &chain);
	return chain;
}

/* Files are not asked for what a runtime said when recording. */
static const struct profile_code *code_of(const struct profile *profile, uint32_t frame)
{
	uint32_t code = profile->frames.data[frame].code;
	return code && !slim_place_chain_of(profile, frame).count ? &profile->codes.data[code - 1]
								  : NULL;
}

static void slim_place_put_text(struct bytes_buf *key, const char *text)
{
	bytes_put_varint(key, text ? strlen(text) + 1 : 0);
	bytes_put(key, text, text ? strlen(text) : 0);
}

static void put_chain(struct bytes_buf *key, const struct chain *chain)
{
	for (uint32_t i = 0; i < chain->count; i++) {
		const struct chain_frame *it = &chain->frames[i];
		slim_place_put_text(key, it->function);
		slim_place_put_text(key, it->file);
		slim_place_put_text(key, it->decl_file);
		bytes_put_varint(key, it->line);
		bytes_put_varint(key, it->decl_line);
		bytes_put_varint(key, it->start);
		bytes_put_varint(key, it->is_inlined);
	}
}

static void slim_place_put_code(struct bytes_buf *key, const struct profile_code *code)
{
	slim_place_put_text(key, code->name);
	slim_place_put_text(key, code->file);
	bytes_put_varint(key, code->line);
	bytes_put_varint(key, code->start);
}

/* Where nothing is known, the address is the name, and no two are the same. */
static void slim_place_put_known(
	const struct profile *profile, uint32_t frame, struct bytes_buf *key)
{
	const struct profile_frame *it = &profile->frames.data[frame];
	const struct profile_code *code = code_of(profile, frame);
	struct chain chain = slim_place_chain_of(profile, frame);
	const struct chain_frame *outermost =
		chain.count ? &chain.frames[chain.count - 1] : &(struct chain_frame){0};
	bool is_named = code || outermost->function || outermost->start;
	bytes_put_varint(key, it->object);
	bytes_put_varint(key, it->flags);
	bytes_put_varint(key, is_named ? 0 : it->offset + 1);
	if (code)
		slim_place_put_code(key, code);
	else
		put_chain(key, &chain);
}

/* ---- places ---- */

static bool take_offset(struct slim_places *places, uint32_t object, uint64_t offset)
{
	uint64_t key[] = {object, offset};
	size_t count = places->taken.entries.len;
	return strtab_intern(&places->taken, (const char *)key, sizeof(key)) == count;
}

/* An address that is another place's already, as code moved from time to time, makes way. */
static uint32_t slim_place_add_place(struct slim_places *places, const struct slim_place *place)
{
	struct slim_place added = *place;
	while (added.object && !take_offset(places, added.object, added.offset))
		added.offset++;
	vec_push(&places->list, added);
	return (uint32_t)places->list.len - 1;
}

static uint32_t slim_place_add_frame(struct slim_places *places, uint32_t frame)
{
	const struct profile_frame *frames = places->profile->frames.data;
	uint32_t innermost = frames[frame].innermost ? frames[frame].innermost : frame;
	return slim_place_add_place(places, &(struct slim_place){.object = frames[frame].object,
						    .frame = frame,
						    .function = frames[innermost].function,
						    .offset = frames[frame].offset});
}

uint32_t slim_places_of_frame(struct slim_places *places, uint32_t frame)
{
	uint32_t *known = &places->of_frames.data[frame];
	if (!frame || *known)
		return *known;
	struct bytes_buf key = {0};
	slim_place_put_known(places->profile, frame, &key);
	size_t count = places->known.entries.len;
	uint32_t id = strtab_intern(&places->known, (const char *)key.data, key.len);
	bytes_buf_deinit(&key);
	if (id == count)
		vec_push(&places->of_known, slim_place_add_frame(places, frame));
	*known = places->of_known.data[id];
	return *known;
}

uint32_t slim_places_bare(struct slim_places *places, uint32_t place)
{
	const struct profile_function *functions = places->profile->functions.data;
	struct slim_place bare = places->list.data[place];
	const struct profile_function *function = &functions[bare.function];
	if (bare.is_bare || !(function->is_known || function->has_bounds))
		return place;
	bool added;
	uint64_t *known = map_put(&places->of_functions, bare.function, &added);
	if (added) {
		bare.is_bare = true;
		bare.self_samples = 0;
		*known = slim_place_add_place(places, &bare);
	}
	return (uint32_t)*known;
}

uint32_t slim_places_mark(struct slim_places *places)
{
	if (!places->mark)
		places->mark = slim_place_add_place(
			places, &(struct slim_place){.offset = LAYOUT_TRUNCATED_LEFT_OUT});
	return places->mark;
}

/* ---- what stands in the baseline of them ---- */

struct chain slim_places_chain(
	const struct slim_places *places, const struct slim_place *place, struct chain_frame *bare)
{
	const struct profile_function *function = &places->profile->functions.data[place->function];
	if (!place->is_bare)
		return slim_place_chain_of(places->profile, place->frame);
	if (slim_places_code(places, place))
		return (struct chain){0};
	*bare = (struct chain_frame){
		.function = function->is_known ? function->system_name : NULL,
		.file = function->is_declared ? NULL : function->file,
		.decl_file = function->is_declared ? function->file : NULL,
		.decl_line = function->line,
		.start = function->start,
		.bounds = function->bounds,
	};
	return (struct chain){bare, 1};
}

const struct profile_code *slim_places_code(
	const struct slim_places *places, const struct slim_place *place)
{
	return place->frame ? code_of(places->profile, place->frame) : NULL;
}
