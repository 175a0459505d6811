/* What an event counts, as it is read: "1.23 s", "2.5 MiB", "1234 hits". */
#ifndef EBPROF_EVENT_VALUE_H
#define EBPROF_EVENT_VALUE_H

#include "format/base/str.h"
#include "report/model/profile.h"

/* In at most 8 columns where `is_short`, which leaves out units that are words. */
void event_value_put(
	const struct profile_event *event, uint64_t value, bool is_short, struct str *out);

/* Whether its values are time that a thread ran on a CPU: no waits, no calls' durations, no sum. */
bool event_value_is_cpu_time(const struct profile_event *event);
/* Whether its values are of allocated memory: of a recording of ours, or of Go's runtime. */
bool event_value_is_of_heap(const struct profile_event *event);

#endif
