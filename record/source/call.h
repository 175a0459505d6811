/* Calls of functions in user code, measured from entry to return. */
#ifndef EBPROF_CALL_H
#define EBPROF_CALL_H

#include "record/source/event_source.h"

extern const struct event_source call_source;

#endif
