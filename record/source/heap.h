/* Allocations: where memory is allocated, and where from what is in use. */
#ifndef EBPROF_SOURCE_HEAP_H
#define EBPROF_SOURCE_HEAP_H

#include "record/source/event_source.h"

/* By enum event_heap. The first has the probes; the others are made of its samples. */
extern const struct event_source heap_source, heap_objects_source, heap_used_source,
	heap_used_objects_source, heap_lifetime_source;

#endif
