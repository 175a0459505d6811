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

uint64_t export_begin_ns(const struct profile *profile)
{
	uint64_t from_ns = profile->only_from_ns;
	return from_ns > profile->first_ns && from_ns < profile->last_ns ? from_ns
									 : profile->first_ns;
}

uint64_t export_duration_ns(const struct profile *profile)
{
	uint64_t begin_ns = export_begin_ns(profile), to_ns = profile->only_to_ns;
	bool ends_early = to_ns > begin_ns && to_ns < profile->last_ns;
	return (ends_early ? to_ns : profile->last_ns) - begin_ns;
}
