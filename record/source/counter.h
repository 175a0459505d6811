/* Events that the kernel or the processor counts, see bpf/source/counter.bpf.h: a source each. */
#ifndef EBPROF_SOURCE_COUNTER_H
#define EBPROF_SOURCE_COUNTER_H

#include "record/source/event_source.h"

extern const struct event_source counter_source;

#endif
