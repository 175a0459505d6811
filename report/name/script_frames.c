#include "report/name/script_frames.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/model/slice.h"

const char *script_frames_cause(uint32_t cause)
{
	static const char *const words[LAYOUT_SCRIPT_FAILURES_END] = {
#define X(name, number, word) [number] = word,
		LAYOUT_SCRIPT_FAILURES(X)
#undef X
	};
	return cause < LAYOUT_SCRIPT_FAILURES_END ? words[cause] : NULL;
}

static struct script_language *language_named(const struct script_frames *frames, const char *name)
{
	vec_each(&frames->languages, language)
		if (strcmp(language->name, name) == 0)
			return language;
	return NULL;
}

/* A recording that was merged has an object of each of its files for a language. */
static void add_languages(const struct profile *profile, struct script_frames *frames)
{
	for (size_t i = 1; i < profile->objects.len; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		if (object->info.kind == LAYOUT_OBJECT_SCRIPT &&
			!language_named(frames, object->path))
			vec_push(
				&frames->languages, (struct script_language){.name = object->path});
	}
}

static void count_frame(struct script_frames *frames, const struct profile_object *object,
	uint64_t place, uint64_t samples)
{
	if (place >= LAYOUT_SCRIPT_FIRST) {
		language_named(frames, object->path)->frames += samples;
		return;
	}
	bool is_known = script_frames_cause((uint32_t)place);
	frames->unnamed[is_known ? place : LAYOUT_SCRIPT_NO_NAME] += samples;
}

static void script_frames_count_stack(const struct profile *profile, uint32_t stack,
	uint64_t samples, struct script_frames *frames)
{
	uint64_t before[16];
	size_t known = frames->languages.len < 16 ? frames->languages.len : 16;
	for (size_t i = 0; i < known; i++)
		before[i] = frames->languages.data[i].frames;
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t at; (at = profile_walk_next(&walk));) {
		const struct profile_frame *frame = &profile->frames.data[at];
		const struct profile_object *object = &profile->objects.data[frame->object];
		if (frame->object && object->info.kind == LAYOUT_OBJECT_SCRIPT)
			count_frame(frames, object, frame->offset, samples);
	}
	for (size_t i = 0; i < known; i++)
		if (frames->languages.data[i].frames > before[i])
			frames->languages.data[i].samples += samples;
}

void script_frames_count(const struct profile *profile, struct script_frames *ret)
{
	*ret = (struct script_frames){0};
	add_languages(profile, ret);
	if (!ret->languages.len)
		return;
	/* Each stack once, since walking to the root takes its length. */
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (size_t i = 0; i < profile->stacks.len; i++)
		if (samples[i])
			script_frames_count_stack(profile, (uint32_t)i, samples[i], ret);
}

void script_frames_deinit(struct script_frames *frames)
{
	vec_deinit(&frames->languages);
}
