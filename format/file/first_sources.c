#include "format/file/first_sources.h"

#include <string.h>

const struct first_source first_sources[FIRST_SOURCES] = {
	[FIRST_SOURCE_TIMER] = {"timer",
		{
			[LAYOUT_EVENTS] = LAYOUT_COUNTER_TICKS,
			[LAYOUT_EVENTS_SAMPLES] = LAYOUT_COUNTER_SAMPLES,
			[LAYOUT_EVENTS_IDLE] = LAYOUT_COUNTER_IDLE,
			[LAYOUT_EVENTS_FILTERED] = LAYOUT_COUNTER_FILTERED,
			[LAYOUT_EVENTS_LOST_RING] = LAYOUT_COUNTER_LOST_RING,
			[LAYOUT_EVENTS_LOST_UNRESOLVED] = LAYOUT_COUNTER_LOST_UNRESOLVED,
			[LAYOUT_EVENTS_LOST_WRITE] = LAYOUT_COUNTER_LOST_WRITE,
			[LAYOUT_EVENTS_SKIPPED] = LAYOUT_COUNTER_SKIPPED,
		}},
	[FIRST_SOURCE_PROBE] = {"probe",
		{
			[LAYOUT_EVENTS] = LAYOUT_COUNTER_HITS,
			[LAYOUT_EVENTS_SAMPLES] = LAYOUT_COUNTER_HIT_SAMPLES,
			[LAYOUT_EVENTS_FILTERED] = LAYOUT_COUNTER_HITS_FILTERED,
			[LAYOUT_EVENTS_LOST_RING] = LAYOUT_COUNTER_HITS_LOST_RING,
			[LAYOUT_EVENTS_LOST_BUSY] = LAYOUT_COUNTER_HITS_LOST_BUSY,
			[LAYOUT_EVENTS_LOST_UNRESOLVED] = LAYOUT_COUNTER_HITS_LOST_UNRESOLVED,
			[LAYOUT_EVENTS_LOST_WRITE] = LAYOUT_COUNTER_HITS_LOST_WRITE,
		}},
};

const struct first_source *first_source_find(const char *name)
{
	for (int i = 0; i < FIRST_SOURCES; i++)
		if (strcmp(first_sources[i].name, name) == 0)
			return &first_sources[i];
	return NULL;
}

const struct first_source *first_source_of_counter(
	enum layout_counter counter, enum layout_event_counter *ret)
{
	for (int i = 0; i < FIRST_SOURCES; i++)
		for (int k = 1; counter && k < LAYOUT_EVENT_COUNTER_COUNT; k++)
			if (first_sources[i].counters[k] == counter) {
				*ret = (enum layout_event_counter)k;
				return &first_sources[i];
			}
	return NULL;
}
