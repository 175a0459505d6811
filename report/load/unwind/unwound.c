#include "report/load/unwind/unwound.h"

void unwound_add(struct unwound *unwound, const struct layout_frame *frame)
{
	if (unwound->frame_numbers.len <= frame->object)
		vec_resize(&unwound->frame_numbers, (size_t)frame->object + 1);
	bool added;
	uint64_t key = frame->offset << 2 | (frame->flags & LAYOUT_FRAME_FOUND);
	uint64_t *number = map_put(&unwound->frame_numbers.data[frame->object], key, &added);
	if (added) {
		*number = unwound->frames.len;
		vec_push(&unwound->frames, *frame);
	}
	vec_push(&unwound->stacks, (uint32_t)*number);
	unwound->begun++;
}

uint32_t unwound_end(struct unwound *unwound, enum layout_truncation cause)
{
	struct unwound_span span = {
		.first = unwound->stacks.len - unwound->begun,
		.count = unwound->begun,
		.cause = cause,
	};
	const uint32_t *frames = span.count ? unwound->stacks.data + span.first : NULL;
	if (!unwound->seed)
		unwound->seed = map_random_seed();
	uint64_t hash = map_mix(unwound->seed ^ cause);
	if (frames)
		hash = map_hash_bytes(frames, span.count * sizeof(*frames), hash);
	bool added;
	uint64_t *number = map_put(&unwound->numbers, hash, &added);
	if (added) {
		*number = unwound->spans.len;
		vec_push(&unwound->spans, span);
	} else {
		unwound->stacks.len = span.first;
	}
	unwound->begun = 0;
	return (uint32_t)*number;
}

struct unwound_stack unwound_at(const struct unwound *unwound, uint32_t number)
{
	const struct unwound_span *it = &unwound->spans.data[number];
	return (struct unwound_stack){
		.frames = it->count ? unwound->stacks.data + it->first : NULL,
		.count = it->count,
		.cause = it->cause,
	};
}

struct layout_frame unwound_frame(const struct unwound *unwound, uint32_t number)
{
	return unwound->frames.data[number];
}

void unwound_deinit(struct unwound *unwound)
{
	vec_each(&unwound->frame_numbers, numbers)
		map_deinit(numbers);
	vec_deinit(&unwound->frame_numbers);
	vec_deinit(&unwound->frames);
	vec_deinit(&unwound->stacks);
	vec_deinit(&unwound->spans);
	map_deinit(&unwound->numbers);
	*unwound = (struct unwound){0};
}
