#include "report/write/ticks_share.h"

#include "format/file/first_sources.h"

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
 * Measured on Linux 6.18 with 4000 naps of a millisecond: what the kernel's accounts had more of
 * running than the switches of tasks, they had less of run queues.
 */
void ticks_share_put(double share, double cpu_s, struct str *out)
{
	str_printf(out,
		"%.0f%% of the %.3f s of CPU time that the command used is in samples: the kernel "
		"also counts how long it takes to run again what was woken, which -e wall has as "
		"runq",
		100 * share, cpu_s);
}

static double seconds_of_ticks(const struct profile *profile, uint64_t ticks)
{
	vec_each(&profile->events, event)
		if (event->frequency_hz && !event->source)
			return (double)ticks / event->frequency_hz;
	return 0;
}

double ticks_share_of(const struct profile *profile)
{
	uint64_t taken = profile_source_count(profile, FIRST_SOURCE_TIMER, LAYOUT_EVENTS_SAMPLES) +
			 profile_source_lost(profile, FIRST_SOURCE_TIMER);
	return ticks_share(taken, profile->counters[LAYOUT_COUNTER_TICKS_DUE]);
}

bool ticks_share_put_of(const struct profile *profile, struct str *out)
{
	uint64_t due = profile->counters[LAYOUT_COUNTER_TICKS_DUE];
	double share = ticks_share_of(profile);
	if (share < 1)
		ticks_share_put(share, seconds_of_ticks(profile, due), out);
	return share < 1;
}
