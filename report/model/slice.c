#include "report/model/slice.h"

#include "format/base/mem.h"

void slice_init(struct slice *slice, const struct profile *profile)
{
	*slice = (struct slice){.nr_stacks = profile->stacks.len};
	slice->stacks = mem_zalloc_array(slice->nr_stacks, sizeof(*slice->stacks));
}

void slice_init_all(struct slice *slice, const struct profile *profile)
{
	slice_init(slice, profile);
	vec_each(&profile->samples, sample)
		slice_add(slice, sample->stack, profile_sample_value(profile, sample));
}

void slice_init_event(struct slice *slice, const struct profile *profile, uint32_t event)
{
	slice_init(slice, profile);
	vec_each(&profile->samples, sample)
		if (profile_event_has(profile, event, sample->event))
			slice_add(slice, sample->stack, profile_sample_value(profile, sample));
}

void slice_add(struct slice *slice, uint32_t stack, uint64_t value)
{
	slice->stacks[stack].value += value;
	slice->stacks[stack].samples++;
	slice->whole.value += value;
	slice->whole.samples++;
}

void slice_deinit(struct slice *slice)
{
	mem_free(slice->stacks);
	*slice = (struct slice){0};
}

uint64_t *slice_count_stacks(const struct profile *profile)
{
	uint64_t *counts = mem_zalloc_array(profile->stacks.len, sizeof(*counts));
	vec_each(&profile->samples, sample)
		counts[sample->stack]++;
	return counts;
}
