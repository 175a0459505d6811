/*
 * The counters of recordings, summed up for the merged one, so that the sum of it holds as theirs
 * does: ticks = samples + idle + filtered + lost, and so for hits of probes.
 */
#ifndef EBPROF_MERGE_COUNTERS_H
#define EBPROF_MERGE_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/file/layout.h"

/* One value for each (counter, cpu), in order of their first coming. All zero: there are none. */
struct merge_counters {
	struct layout_counter_value *data;
	size_t len, cap;
	struct map places; /* counter << 32 | cpu -> index */
};

/* Counters are cumulative: of one (counter, cpu) the newest value holds. */
void merge_counters_set(struct merge_counters *counters, const struct layout_counter_value *value);

/* Adds those of one source. */
void merge_counters_add(struct merge_counters *counters, const struct merge_counters *source);
/*
 * The same of a source that was cut or damaged, of which so many samples of ticks and of hits could
 * be read: its last counters do not match them. What they lack or have too much is told as ticks
 * (or hits), and as lost. Returns how much that was.
 */
uint64_t merge_counters_add_mended(struct merge_counters *counters,
	const struct merge_counters *source, uint64_t tick_samples, uint64_t hit_samples);

void merge_counters_clear(struct merge_counters *counters); /* keeps the memory */
void merge_counters_deinit(struct merge_counters *counters);

#endif
