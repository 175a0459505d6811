/*
 * The kernel keeps 15 bytes of a thread's name, if its runtime tells it at all. What the runtime
 * calls it is written as another name of the same thread (struct layout_thread), and stands for the
 * one that the kernel has: the one that it says, before version 1.9 the one that is kept of it.
 */
#ifndef EBPROF_THREAD_NAME_H
#define EBPROF_THREAD_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum {
	THREAD_NAME_KEPT_BYTES = 15,
};

/*
 * Whether `kept` is what is left of the name, of more bytes than the kernel keeps: those that it
 * begins with, or, as HotSpot 23 and later cut it, seven, "..", and the last six.
 */
bool thread_name_is_of(const char *name, size_t len, const char *kept);

#endif
