#include "report/load/event_sums.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "report/model/event_value.h"

static const char wait_source[] = "wait", wall[] = "wall";

static enum profile_wait wait_of(const struct profile_event *event)
{
	bool is_wait = event->source && strcmp(event->source, wait_source) == 0;
	if (!is_wait || strcmp(event->unit, LAYOUT_UNIT_NS) != 0)
		return PROFILE_NO_WAIT;
	return strcmp(event->name, "runq") == 0 ? PROFILE_WAIT_RUN_QUEUE : PROFILE_WAIT_BLOCKED;
}

/* Ticks of a clock, each of which stands for time on a CPU. */
static bool is_running_time(const struct profile_event *event)
{
	return event->period && event_value_is_cpu_time(event);
}

static void find_namesakes(struct profile *profile)
{
	CLEANUP(strtab_deinit) struct strtab names = {0};
	CLEANUP_FREE uint32_t *firsts = mem_zalloc_array(profile->events.len, sizeof(*firsts));
	for (uint32_t i = 1; i < profile->events.len; i++) {
		struct profile_event *event = &profile->events.data[i];
		CLEANUP(str_deinit) struct str name = {0};
		str_printf(&name, "%s\n%s", event->name, event->unit);
		uint32_t id = strtab_intern(&names, name.data, name.len);
		event->first = firsts[id];
		if (!firsts[id])
			firsts[id] = i;
	}
}

void event_sums_find(struct profile *profile)
{
	bool runs = false, waits = false;
	vec_each(&profile->events, event) {
		event->wait = wait_of(event);
		runs |= is_running_time(event);
		waits |= event->wait != PROFILE_NO_WAIT;
	}
	find_namesakes(profile);
	if (!runs || !waits || profile->events.len >= LAYOUT_MAX_EVENTS)
		return;
	uint32_t sum = (uint32_t)profile->events.len;
	vec_each(&profile->events, event)
		if (event->wait || is_running_time(event))
			event->part_of = sum;
	vec_push(&profile->events,
		(struct profile_event){.name = wall, .unit = LAYOUT_UNIT_NS, .is_sum = true});
}
