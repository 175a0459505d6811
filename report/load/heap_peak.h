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
 * What the recording does not say of how long it was in use is in no peak, but counted: so is all
 * of processes whose recording goes on in another file, or ended in an error. Where the recorder
 * was killed, and the file says of all that was sampled if it was freed, the rest was in use: it
 * gets the samples that the recorder makes at the end.
 */
void heap_peak_find(struct profile *profile);

#endif
