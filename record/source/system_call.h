/* System calls, measured from entry to return. */
#ifndef EBPROF_SYSTEM_CALL_H
#define EBPROF_SYSTEM_CALL_H

#include "record/source/event_source.h"

extern const struct event_source system_call_source;

#endif
