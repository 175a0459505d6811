/* Which events of a recording are shown as one: those of one name, and the parts of wall time. */
#ifndef EBPROF_EVENT_SUMS_H
#define EBPROF_EVENT_SUMS_H

#include "report/model/profile.h"

/*
 * Sets `first`, `wait` and `part_of` of the events that were read, and adds the event "wall" where
 * a recording has both running and waiting times of threads: a thread does one at a time, so that
 * these add up to its life. No other two events do.
 */
void event_sums_find(struct profile *profile);

#endif
