#include "report/write/exact_sum.h"

#include <string.h>

#include "format/file/layout.h"
#include "report/model/event_value.h"
#include "report/write/cause_words.h"

enum {
	OF_PROBES_NS = 10000, /* a pair of probes takes up to some microseconds */
	FEW_SAMPLES = 100,
	ENOUGH_SAMPLES = 1000,
	LEAST_PERIOD_NS = 1000,
};

/* NULL: it has none for itself. */
static const struct profile_source *exact_sum_source(const struct profile *profile, uint32_t number)
{
	const char *name = profile->events.data[number].source;
	size_t nr_events = 0;
	vec_each(&profile->events, event)
		nr_events += name && event->source && strcmp(event->source, name) == 0;
	vec_each(&profile->sources, source)
		if (nr_events == 1 && strcmp(source->name, name) == 0)
			return source;
	return NULL;
}

static const char *exact_sum_noun(const struct profile_source *source)
{
	static const struct {
		const char *start, *word;
	} words[] = {
		{"duration:", "calls"},
		{"syscalls", "system calls"},
		{"wait", "waits"},
		{"lock", "waits"},
		{"blk-io", "requests"},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strncmp(source->name, words[i].start, strlen(words[i].start)) == 0)
			return words[i].word;
	return "events";
}

/* Calls may take nanoseconds as well as seconds. */
static void exact_sum_put_mean(double ns, struct str *out)
{
	if (ns < 1e3)
		str_printf(out, ": %.0f ns each", ns);
	else if (ns < 1e6)
		str_printf(out, ": %.1f us each", ns / 1e3);
	else
		str_printf(out, ": %.2f ms each", ns / 1e6);
}

/* Others' calls of a library come upon its probe as well. */
static void exact_sum_leave_out(struct layout_tally *exact, const struct layout_tally *others)
{
	exact->count -= others->count < exact->count ? others->count : exact->count;
	exact->sum -= others->sum < exact->sum ? others->sum : exact->sum;
}

/* Some of these have a number and no time. */
static bool has_lost(const struct profile_source *source)
{
	for (int i = 0; i < LAYOUT_EVENT_COUNTER_COUNT; i++)
		if (cause_of_lost_events((enum layout_event_counter)i) && source->tallies[i].count)
			return true;
	return false;
}

/* 1, 2 or 5 of a power of ten, and at most as much. */
static uint64_t round_period(uint64_t ns)
{
	uint64_t period = LEAST_PERIOD_NS;
	while (period * 10 <= ns)
		period *= 10;
	return period * 5 <= ns ? period * 5 : period * 2 <= ns ? period * 2 : period;
}

/* Long ones are samples of what they took, of short ones a few stand for all. */
static void put_few(const struct profile_source *source, uint64_t sum, struct str *out)
{
	static const char *const chosen_by_period[] = {"wait", "duration:", "syscalls", "lock"};
	uint64_t samples = source->tallies[LAYOUT_EVENTS_SAMPLES].count;
	bool has_period = false;
	for (size_t i = 0; i < sizeof(chosen_by_period) / sizeof(*chosen_by_period); i++)
		has_period |= strncmp(source->name, chosen_by_period[i],
				      strlen(chosen_by_period[i])) == 0;
	if (!has_period || sum / ENOUGH_SAMPLES < LEAST_PERIOD_NS || samples >= FEW_SAMPLES ||
		source->tallies[LAYOUT_EVENTS_BELOW].sum <= sum / 2)
		return;
	uint64_t period = round_period(sum / ENOUGH_SAMPLES);
	str_printf(out,
		"# only %llu %s them: shares are rough (record with --wait-period %llu%s has "
		"more)\n",
		(unsigned long long)samples,
		str_plural(samples, "sample stands for", "samples stand for"),
		(unsigned long long)(period >= 1000000 ? period / 1000000 : period / 1000),
		period >= 1000000 ? "ms" : "us");
}

/* The usual distance is for programs that allocate gigabytes: a function of a tenth may have none.
 */
static void put_few_allocations(const struct profile *profile, struct str *out)
{
	enum {
		FEW_ALLOCATIONS = 50,
		KIB = 1024,
		MIB = KIB * KIB,
	};
	vec_each(&profile->sources, source) {
		uint64_t samples = source->tallies[LAYOUT_EVENTS_SAMPLES].count;
		const struct layout_tally *all = &source->tallies[LAYOUT_EVENTS];
		uint64_t distance = MIB;
		/* Large ones are samples of what they took, as of waits. */
		if (strcmp(source->name, "heap") != 0 || !samples || samples >= FEW_ALLOCATIONS ||
			source->tallies[LAYOUT_EVENTS_BELOW].sum <= all->sum / 2 ||
			has_lost(source) || profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS])
			continue;
		while (distance > KIB && distance > all->sum / ENOUGH_SAMPLES)
			distance /= 2;
		if (distance * 2 > all->sum / samples) /* that it had already, or nearly */
			continue;
		str_printf(out,
			"# only %llu of %llu %s: shares are rough (record --heap=%lluK has "
			"more)\n",
			(unsigned long long)samples, (unsigned long long)all->count,
			str_plural(samples, "allocations is a sample", "allocations are samples"),
			(unsigned long long)(distance / KIB));
	}
}

void exact_sum_put(const struct profile *profile, uint32_t event, struct str *out)
{
	const struct profile_event *shown = &profile->events.data[event];
	if (event_value_is_of_heap(shown) && !profile_nr_origins(profile))
		put_few_allocations(profile, out);
	const struct profile_source *source = exact_sum_source(profile, event);
	if (!source || strcmp(shown->unit, "ns") != 0 || profile_nr_origins(profile))
		return;
	struct layout_tally exact = source->tallies[LAYOUT_EVENTS];
	bool has_sizes = exact.count != exact.sum;
	exact_sum_leave_out(&exact, &source->tallies[LAYOUT_EVENTS_FILTERED]);
	exact_sum_leave_out(&exact, &source->tallies[LAYOUT_EVENTS_IDLE]);
	bool are_all_samples = exact.count == source->tallies[LAYOUT_EVENTS_SAMPLES].count;
	if (!has_sizes || are_all_samples || !exact.count || has_lost(source))
		return;
	str_printf(out, "# exactly %llu %s, ", (unsigned long long)exact.count,
		exact_sum_noun(source));
	event_value_put(shown, exact.sum, false, out);
	double mean_ns = (double)exact.sum / (double)exact.count;
	exact_sum_put_mean(mean_ns, out);
	if (mean_ns < OF_PROBES_NS && strncmp(source->name, "duration:", 9) == 0)
		str_puts(out, ", much of which is the probes' own time");
	str_putc(out, '\n');
	put_few(source, exact.sum, out);
}
