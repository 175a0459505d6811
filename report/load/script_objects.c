#include "report/load/script_objects.h"

#include <string.h>

#include "format/base/str.h"

struct joined_object {
	uint32_t first;      /* object of the same language; itself where it is that one */
	uint64_t end_offset; /* behind all of its own places, a multiple of LAYOUT_SCRIPT_FIRST */
	uint64_t shift;      /* of its functions' offsets */
};

/* False: there is no language that has several objects. */
static bool find_first_objects(const struct profile *profile, struct joined_object *joined)
{
	CLEANUP(strtab_deinit) struct strtab languages = {0};
	CLEANUP_FREE uint32_t *firsts = mem_zalloc_array(profile->objects.len, sizeof(*firsts));
	bool has_several = false;
	for (uint32_t i = 0; i < profile->objects.len; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		joined[i].first = i;
		if (object->info.kind != LAYOUT_OBJECT_SCRIPT)
			continue;
		uint32_t language = strtab_intern(&languages, object->path, strlen(object->path));
		if (!firsts[language])
			firsts[language] = i;
		joined[i].first = firsts[language];
		has_several |= firsts[language] != i;
	}
	return has_several;
}

static void note_end_offset(struct joined_object *joined, uint64_t offset)
{
	uint64_t function = offset / LAYOUT_SCRIPT_FIRST;
	uint64_t end = function < UINT64_MAX / LAYOUT_SCRIPT_FIRST
			       ? (function + 1) * LAYOUT_SCRIPT_FIRST
			       : UINT64_MAX;
	if (end > joined->end_offset)
		joined->end_offset = end;
}

static void find_end_offsets(const struct profile *profile, struct joined_object *joined)
{
	vec_each(&profile->frames, frame)
		note_end_offset(&joined[frame->object], frame->offset);
	vec_each(&profile->codes, code)
		note_end_offset(&joined[code->object], code->offset);
	vec_each(&profile->symbols, symbol)
		note_end_offset(&joined[symbol->object], symbol->offset);
}

/* What a forged recording numbers so high that no offset is left for it stays apart. */
static void choose_shifts(struct profile *profile, struct joined_object *joined)
{
	for (size_t i = 0; i < profile->objects.len; i++) {
		struct joined_object *first = &joined[joined[i].first];
		uint64_t end;
		if (first == &joined[i])
			continue;
		if (__builtin_add_overflow(first->end_offset, joined[i].end_offset, &end)) {
			joined[i].first = (uint32_t)i;
			continue;
		}
		joined[i].shift = first->end_offset;
		first->end_offset = end;
		profile->objects.data[joined[i].first].is_used |= profile->objects.data[i].is_used;
		profile->objects.data[i].is_used = false;
	}
}

/* Offsets below the first function are causes why there is no name: every recording has these. */
static uint64_t joined_offset(const struct joined_object *joined, uint64_t offset)
{
	return offset < LAYOUT_SCRIPT_FIRST ? offset : offset + joined->shift;
}

static void join_place(const struct joined_object *joined, uint32_t *object, uint64_t *offset)
{
	*offset = joined_offset(&joined[*object], *offset);
	*object = joined[*object].first;
}

void script_objects_join(struct profile *profile)
{
	CLEANUP_FREE struct joined_object *joined =
		mem_zalloc_array(profile->objects.len, sizeof(*joined));
	if (!find_first_objects(profile, joined))
		return;
	find_end_offsets(profile, joined);
	choose_shifts(profile, joined);
	vec_each(&profile->frames, frame)
		join_place(joined, &frame->object, &frame->offset);
	vec_each(&profile->codes, code) {
		code->start = joined_offset(&joined[code->object], code->start);
		join_place(joined, &code->object, &code->offset);
	}
	vec_each(&profile->symbols, symbol)
		join_place(joined, &symbol->object, &symbol->offset);
}
