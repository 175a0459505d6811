#include "report/write/export/export_names.h"

#include <string.h>

#include "format/base/path.h"

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
		if (profile_event_has(profile, event, sample->event)) {
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
	if (command && command[0])
		return path_last_part(command);
	return host && host[0] ? host : "ebprof";
}
