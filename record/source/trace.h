/* Tracepoints of the kernel, see bpf/source/trace.bpf.h: a source for each name or pattern. */
#ifndef EBPROF_SOURCE_TRACE_H
#define EBPROF_SOURCE_TRACE_H

#include "record/source/event_source.h"

extern const struct event_source trace_source;

#endif
