#include "report/write/ticks_share.h"

#include "format/file/first_sources.h"
#include "report/model/event_value.h"

double ticks_share(uint64_t taken, uint64_t due)
{
	enum {
		FEW = 100, /* so many are off by a tenth by chance */
	};
	const double nearly_all = 0.9;
	double share = due > FEW ? (double)taken / (double)due : 1;
	return share < nearly_all ? share : 1;
}

/*
 * Measured on a virtual machine, Linux 6.18, with 4000 naps of a millisecond: what the kernel's
 * accounts had more of running than the switches of tasks, they had less of run queues.
 */
void ticks_share_put(double share, double cpu_s, struct str *out)
{
	str_printf(out,
		"%.0f%% of the %.3f s of CPU time that the command used is in samples: where it "
		"sleeps often, the kernel also counts how long it takes to run again, which "
		"-e wall has as runq",
		100 * share, cpu_s);
}

static bool is_of_ticks(const struct profile_event *event)
{
	return event->frequency_hz && !event->source && event_value_is_cpu_time(event);
}

const struct profile_event *ticks_share_event(const struct profile *profile)
{
	vec_each(&profile->events, event)
		if (is_of_ticks(event))
			return event;
	return NULL;
}

double ticks_share_of(const struct profile *profile, const struct profile_event *event)
{
	uint64_t taken = profile_source_count(profile, FIRST_SOURCE_TIMER, LAYOUT_EVENTS_SAMPLES) +
			 profile_source_lost(profile, FIRST_SOURCE_TIMER);
	return is_of_ticks(event) ? ticks_share(taken, profile->counters[LAYOUT_COUNTER_TICKS_DUE])
				  : 1;
}

bool ticks_share_put_of(
	const struct profile *profile, const struct profile_event *event, struct str *out)
{
	double share = ticks_share_of(profile, event);
	uint64_t due = profile->counters[LAYOUT_COUNTER_TICKS_DUE];
	if (share < 1)
		ticks_share_put(share, (double)due / event->frequency_hz, out);
	return share < 1;
}
