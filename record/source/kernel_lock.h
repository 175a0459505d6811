/* Waits for locks of the kernel. */
#ifndef EBPROF_KERNEL_LOCK_H
#define EBPROF_KERNEL_LOCK_H

#include "record/source/event_source.h"

extern const struct event_source kernel_lock_source;

#endif
