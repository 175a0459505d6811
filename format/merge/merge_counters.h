/*
 * The counters of recordings, summed up for the merged one, so that the balance of each source of
 * events holds in it as it does in theirs: events = samples + idle + filtered + lost.
 */
#ifndef EBPROF_MERGE_COUNTERS_H
#define EBPROF_MERGE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/first_sources.h"
#include "format/file/writer.h"

/* How sources are called here: 0 is that of counters that count no events. */
enum {
	MERGE_NO_SOURCE = 0,
	MERGE_FIRST_SOURCE = 1,                                  /* and index in first_sources */
	MERGE_OTHER_SOURCE = MERGE_FIRST_SOURCE + FIRST_SOURCES, /* and string of the output */
};

struct merge_counter {
	uint32_t source;
	uint32_t counter; /* enum layout_event_counter; of no source: enum layout_counter */
	uint32_t cpu;
	struct layout_tally tally; /* of first sources and of none: the count alone */
};

/* One value for each (source, counter, cpu), in order of their first coming. All zero: none. */
struct merge_counters {
	struct merge_counter *data;
	size_t len, cap;
	struct strtab places; /* of the three, as bytes: their index */
};

/* How many samples could be read, by source; [MERGE_NO_SOURCE] is none's. */
struct merge_samples {
	struct layout_tally *data;
	size_t len, cap;
};

/* Counters are cumulative: of one (source, counter, cpu) the newest value holds. */
void merge_counters_set(struct merge_counters *counters, const struct merge_counter *value);
/* The same of an entry of COUNTERS, which may be that of a first source. */
void merge_counters_set_value(
	struct merge_counters *counters, const struct layout_counter_value *value);

/* Adds those of one recording. */
void merge_counters_add(struct merge_counters *counters, const struct merge_counters *from);
/*
 * The same of a recording that was cut or damaged: its last counters do not match the samples that
 * could be read. What they lack or have too much counts as events, and as lost. Returns how many
 * events that were.
 */
uint64_t merge_counters_add_mended(struct merge_counters *counters,
	const struct merge_counters *from, const struct merge_samples *samples);

/* So many of the samples that these counters are of count as filtered. */
void merge_counters_leave_out(
	struct merge_counters *counters, const struct merge_samples *left_out);
void merge_counters_write(const struct merge_counters *counters, struct writer *writer);
void merge_counters_clear(struct merge_counters *counters);
void merge_counters_deinit(struct merge_counters *counters);

#endif
