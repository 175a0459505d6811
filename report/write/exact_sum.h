/* What the recorder has counted of events that take time, beside what the samples of them say. */
#ifndef EBPROF_EXACT_SUM_H
#define EBPROF_EXACT_SUM_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * Appends "# exactly 2000 calls, 407.9 ms: 203.9 us each" of an event of which fewer are samples
 * than there were; nothing of others, nor of merged recordings, whose counters may be those of more
 * time than their samples. Filters are not known here.
 */
void exact_sum_put(const struct profile *profile, uint32_t event, struct str *out);

#endif
