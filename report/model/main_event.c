#include "report/model/main_event.h"

#include <string.h>

uint32_t main_event_of(const struct profile *profile)
{
	size_t count = profile->events.len;
	CLEANUP_FREE uint64_t *samples = mem_zalloc_array(count, sizeof(*samples));
	vec_each(&profile->samples, sample)
		samples[sample->event]++;
	/* Event 0 stands for damage: of an empty recording its first real event is the answer. */
	uint32_t best = count > 1 && !samples[0] ? 1 : 0;
	for (uint32_t i = 0; i < count; i++)
		if (samples[i] > samples[best])
			best = i;
	return best;
}

static const char *main_event_name_of(const struct profile *profile, uint32_t event)
{
	const char *name = profile->events.data[event].name;
	return event && name[0] ? name : "unknown";
}

static bool has_samples(const struct profile *profile, uint32_t event)
{
	vec_each(&profile->samples, sample)
		if (sample->event == event)
			return true;
	return false;
}

/* 0: there is none. */
static uint32_t main_event_find_event(
	const struct profile *profile, const struct profile_event *wanted)
{
	for (uint32_t i = 1; i < profile->events.len; i++)
		if (strcmp(profile->events.data[i].name, wanted->name) == 0 &&
			strcmp(profile->events.data[i].unit, wanted->unit) == 0)
			return i;
	return 0;
}

struct err *main_event_of_both(const struct profile *profile, const struct profile *baseline,
	uint32_t *event, uint32_t *baseline_event)
{
	bool is_base = !profile->samples.len && baseline->samples.len;
	const struct profile *from = is_base ? baseline : profile;
	const struct profile *other = is_base ? profile : baseline;
	uint32_t main_event = main_event_of(from);
	uint32_t found = main_event_find_event(other, &from->events.data[main_event]);
	if (other->samples.len && main_event && !has_samples(other, found))
		return err_new(ERR_USAGE,
			"the recordings cannot be compared: this one counts %s, the baseline %s",
			main_event_name_of(profile, main_event),
			main_event_name_of(baseline, main_event_of(baseline)));
	*event = is_base ? found : main_event;
	*baseline_event = is_base ? main_event : found;
	return NULL;
}
