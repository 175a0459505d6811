#include "format/import/import_counts.h"

#include <string.h>
#include <strings.h>

#include "format/base/clock.h"

enum {
	MAX_SAMPLES = 4 << 20,
};

uint64_t import_counts_ns_of_unit(const char *unit, size_t len)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1}, {"nanosecond", 1}, {"nsec", 1}, {"ns", 1},
		{"microseconds", NS_PER_US}, {"microsecond", NS_PER_US}, {"usec", NS_PER_US},
		{"us", NS_PER_US}, {"\u00b5s", NS_PER_US}, {"\u03bcs", NS_PER_US},
		{"milliseconds", NS_PER_MS}, {"millisecond", NS_PER_MS}, {"msec", NS_PER_MS},
		{"ms", NS_PER_MS}, {"seconds", NS_PER_S}, {"second", NS_PER_S}, {"sec", NS_PER_S},
		{"s", NS_PER_S}, {"minutes", 60ULL * NS_PER_S}, {"minute", 60ULL * NS_PER_S},
		{"min", 60ULL * NS_PER_S}, {"hours", 3600ULL * NS_PER_S},
		{"hour", 3600ULL * NS_PER_S}, {"h", 3600ULL * NS_PER_S}};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (len == strlen(units[i].name) && strncasecmp(unit, units[i].name, len) == 0)
			return units[i].ns;
	return 0;
}

bool import_counts_expect(struct import_counts *counts, uint64_t count)
{
	counts->stacks++;
	return !__builtin_add_overflow(counts->total, count, &counts->total);
}

void import_counts_event(struct import_counts *counts, struct import_output *output,
	const char *name, const char *unit)
{
	counts->source = import_output_text(output, "import");
	counts->event = writer_event(
		output->writer, &(struct layout_event){.name = import_output_text(output, name),
					.unit = import_output_text(output, unit),
					.source = counts->source});
}

static bool are_counts_single(const struct import_counts *counts)
{
	return counts->total <= MAX_SAMPLES;
}

void import_counts_put(struct import_counts *counts, struct import_output *output,
	const struct layout_sample *sample, uint64_t count, uint64_t value)
{
	uint64_t pieces = are_counts_single(counts) ? count : count > 0;
	for (uint64_t i = 0; i < pieces; i++) {
		struct layout_sample out = *sample;
		out.event = counts->event;
		/* The sum is `value`, whatever is left when it is divided. */
		out.weight = value / pieces + (i < value % pieces);
		import_output_sample(output, &out);
	}
	counts->nr_samples += pieces;
}

void import_counts_finish(
	const struct import_counts *counts, struct import_output *output, struct str *notes)
{
	static const enum layout_event_counter counters[] = {LAYOUT_EVENTS, LAYOUT_EVENTS_SAMPLES};
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		writer_event_tally(
			output->writer, &(struct layout_event_tally){.source = counts->source,
						.counter = counters[i],
						.count = counts->nr_samples,
						.sum = counts->total});
	if (!are_counts_single(counts))
		str_printf(notes,
			"%llu samples are too many to stand for themselves: each of %llu stacks is "
			"one, "
			"with the weight of all of its own; \"ebprof diff\" takes them for so "
			"few\n",
			(unsigned long long)counts->total, (unsigned long long)counts->stacks);
}
