/* Waits: the time that tasks are off their CPUs, see bpf/source/wait.bpf.h. */
#ifndef EBPROF_WAIT_H
#define EBPROF_WAIT_H

#include "record/source/event_source.h"

extern const struct event_source wait_source;

#endif
