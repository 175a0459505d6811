/* How much of the CPU time of a command its ticks show. */
#ifndef EBPROF_TICKS_SHARE_H
#define EBPROF_TICKS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/model/profile.h"

/* Ticks that were taken or lost, as a part of those that were due; 1: nearly all, or it is not
 * known. */
double ticks_share(uint64_t taken, uint64_t due);
/* A sentence without a full stop, of a share below 1 and all of the CPU time, in seconds. */
void ticks_share_put(double share, double cpu_s, struct str *out);
/* Of an event of a recording; 1 where that is no CPU time by ticks. */
double ticks_share_of(const struct profile *profile, const struct profile_event *event);
/* False, and nothing is put: the share is 1. */
bool ticks_share_put_of(
	const struct profile *profile, const struct profile_event *event, struct str *out);
/* The event of a recording's ticks; NULL: it has none. */
const struct profile_event *ticks_share_event(const struct profile *profile);

#endif
