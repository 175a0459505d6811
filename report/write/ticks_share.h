/* How much of the CPU time of a command its ticks show. */
#ifndef EBPROF_TICKS_SHARE_H
#define EBPROF_TICKS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/model/profile.h"

/* Of ticks that were taken or lost, and those that were due; 1: nearly all, or it is not known. */
double ticks_share(uint64_t taken, uint64_t due);
/* A sentence without a full stop, of a share below 1. */
void ticks_share_put(double share, double cpu_s, struct str *out);
/* Of a recording. */
double ticks_share_of(const struct profile *profile);
/* False, and nothing is put: the share is 1. */
bool ticks_share_put_of(const struct profile *profile, struct str *out);

#endif
