/*
 * Profiles that are sums, a number for each stack, as samples. As many samples as were taken tell
 * `diff` how sure it can be, so each stands for itself where they are not too many; else a stack
 * is one sample that has the weight of all of them.
 */
#ifndef EBPROF_IMPORT_COUNTS_H
#define EBPROF_IMPORT_COUNTS_H

#include "format/base/str.h"
#include "format/import/import_output.h"

struct import_counts {
	uint64_t total; /* of the samples that are expected */
	uint64_t stacks;
	uint32_t event, source;
	uint64_t nr_samples;
};

/* How many ns one of that unit of time is ("ms": 1,000,000); 0: it is a unit of something else. */
uint64_t import_counts_ns_of_unit(const char *unit, size_t len);
/* That import_counts_put() will put so many. False: they cannot be added up. */
bool import_counts_expect(struct import_counts *counts, uint64_t count);
void import_counts_event(struct import_counts *counts, struct import_output *output,
	const char *name, const char *unit);
/* `count` samples of this stack, which together are worth `value`; of none there is none. */
void import_counts_put(struct import_counts *counts, struct import_output *output,
	const struct layout_sample *sample, uint64_t count, uint64_t value);
void import_counts_finish(
	const struct import_counts *counts, struct import_output *output, struct str *notes);

#endif
