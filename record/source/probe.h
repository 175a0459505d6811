/* Hits of USDT probes. */
#ifndef EBPROF_SOURCE_PROBE_H
#define EBPROF_SOURCE_PROBE_H

#include "record/source/event_source.h"

extern const struct event_source probe_source;

#endif
