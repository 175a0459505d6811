/*
 * Descriptors that the kernel takes long to close, one after the other: each uprobe's waits for a
 * grace period of RCU (80 to 160 ms) under a lock that all of them share, so that threads do not
 * help.
 */
#ifndef EBPROF_SLOW_CLOSE_H
#define EBPROF_SLOW_CLOSE_H

#include <stddef.h>

/*
 * Closes them here at once, and leaves what that takes to a child process, which outlives this one
 * if need be. `fds` is put in order. Where no process can be started they are closed here.
 */
void slow_close(int *fds, size_t count);

#endif
