/* How often to sample, by what a tick costs here. */
#ifndef EBPROF_RECORD_RATE_H
#define EBPROF_RECORD_RATE_H

#include <stdbool.h>

#include "record/session_options.h"

/*
 * `is_max`: lowers the frequency to what takes a quarter of the CPU time, and says so. Else warns
 * where the frequency or the period that was asked for may take more. Low ones are not tried.
 */
void record_rate_choose(struct session_options *options, bool is_max, bool quiet);

#endif
