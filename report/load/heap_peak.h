/* What of the heap was in use when a process had most in use. */
#ifndef EBPROF_HEAP_PEAK_H
#define EBPROF_HEAP_PEAK_H

#include "report/model/profile.h"

/*
 * Adds the events "peak_space" and "peak_objects", and samples of them, of the time of their
 * allocations, behind the others: by when what was sampled was allocated and freed. Each process
 * has a peak of its own. The samples of what was freed, which say nothing by themselves, are
 * dropped.
 *
 * Allocations of which the recording does not say how long they were in use are in no peak. There
 * is none where the recording has no end: what was in use then is not known.
 */
void heap_peak_find(struct profile *profile);

#endif
