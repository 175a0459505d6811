#include "report/export/export.h"

#include <string.h>

static const struct exporter all[] = {
#define X(format, function, format_name, file_suffix, its_traits, text) \
	[format] = { \
		.name = format_name, \
		.suffix = file_suffix, \
		.help = text, \
		.traits = its_traits, \
		.write = function, \
	},
	EXPORT_FORMATS(X)
#undef X
};

const struct exporter *export_all(size_t *count)
{
	*count = EXPORT_FORMAT_COUNT;
	return all;
}

uint32_t export_main_event(const struct profile *profile)
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

static const char *name_of(const struct profile *profile, uint32_t event)
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
static uint32_t find_event(const struct profile *profile, const struct profile_event *wanted)
{
	for (uint32_t i = 1; i < profile->events.len; i++)
		if (strcmp(profile->events.data[i].name, wanted->name) == 0 &&
			strcmp(profile->events.data[i].unit, wanted->unit) == 0)
			return i;
	return 0;
}

struct err *export_common_event(const struct profile *profile, const struct profile *baseline,
	uint32_t *event, uint32_t *baseline_event)
{
	bool is_base = !profile->samples.len && baseline->samples.len;
	const struct profile *from = is_base ? baseline : profile;
	const struct profile *other = is_base ? profile : baseline;
	uint32_t main_event = export_main_event(from);
	uint32_t found = find_event(other, &from->events.data[main_event]);
	if (other->samples.len && main_event && !has_samples(other, found))
		return err_new(ERR_USAGE,
			"the recordings cannot be compared: this one counts %s, the baseline %s",
			name_of(profile, main_event),
			name_of(baseline, export_main_event(baseline)));
	*event = is_base ? found : main_event;
	*baseline_event = is_base ? main_event : found;
	return NULL;
}

const char *export_event_type(const struct profile *profile, uint32_t event)
{
	const char *name = profile->events.data[event].name;
	if (!event || !name[0]) /* damage took it */
		return "unknown";
	return strcmp(name, "cpu-clock") == 0 ? "cpu" : name;
}

const char *export_event_unit(const struct profile *profile, uint32_t event)
{
	return strcmp(profile->events.data[event].unit, "ns") == 0 ? "nanoseconds" : "count";
}

uint64_t export_event_period(const struct profile *profile, uint32_t event)
{
	uint64_t samples = 0, value = 0;
	if (profile->events.data[event].period)
		return profile->events.data[event].period;
	vec_each(&profile->samples, sample) {
		if (sample->event == event) {
			samples++;
			value += profile_sample_value(profile, sample);
		}
	}
	return samples ? value / samples : 0;
}

const char *export_service_name(const struct profile *profile)
{
	const char *command = profile_meta(profile, LAYOUT_META_COMMAND);
	const char *host = profile_meta(profile, LAYOUT_META_HOST);
	if (command && command[0]) {
		const char *slash = strrchr(command, '/');
		return slash && slash[1] ? slash + 1 : command;
	}
	return host && host[0] ? host : "ebprof";
}
