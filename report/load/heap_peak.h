/* What of the heap was in use when a process had most in use. */
#ifndef EBPROF_HEAP_PEAK_H
#define EBPROF_HEAP_PEAK_H

#include "report/model/profile.h"

/*
 * Adds the events "peak_space" and "peak_objects", and samples of them, of the time of their
 * allocations, behind the others: by when what was sampled was allocated, and how long it was in
 * use. Each process has a peak of its own. The samples of how long that was are dropped: they say
 * nothing by themselves.
 *
 * Of what the recording does not say how long it was in use is in no peak, but counted. There is
 * none of processes whose recording did not come to an end, or goes on in another file: what was
 * in use then is not known.
 */
void heap_peak_find(struct profile *profile);

#endif
