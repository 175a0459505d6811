/* Ticks of a clock: cycles, or time on a CPU. */
#ifndef EBPROF_SOURCE_TIMER_H
#define EBPROF_SOURCE_TIMER_H

#include "record/source/event_source.h"

extern const struct event_source timer_source;

#endif
