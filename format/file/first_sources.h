/*
 * The two sources of events that there were before version 1.4 of the format: what became of their
 * events has numbers of its own in COUNTERS, so that earlier readers find it there.
 */
#ifndef EBPROF_FIRST_SOURCES_H
#define EBPROF_FIRST_SOURCES_H

#include "format/file/layout.h"

enum {
	FIRST_SOURCE_TIMER,
	FIRST_SOURCE_PROBE,
	FIRST_SOURCES,
};

struct first_source {
	const char *name;
	enum layout_counter counters[LAYOUT_EVENT_COUNTER_COUNT]; /* 0: it has none */
};

extern const struct first_source first_sources[FIRST_SOURCES];

/* By its name; NULL: it is none of them. */
const struct first_source *first_source_find(const char *name);
/* Which of them a counter belongs to, and as what; NULL: to none, it counts no events. */
const struct first_source *first_source_of_counter(
	enum layout_counter counter, enum layout_event_counter *ret);

#endif
