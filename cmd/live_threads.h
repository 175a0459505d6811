/* Which threads the machine has at a moment, by /proc. */
#ifndef EBPROF_LIVE_THREADS_H
#define EBPROF_LIVE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"

struct live_threads {
	struct map ids; /* pid and tid */
};

/* {0}-initialised *ret; empty where /proc cannot be read. */
void live_threads_read(struct live_threads *ret);
/* Whether it was there; `threads` is a struct live_threads. */
bool live_threads_have(const void *threads, uint32_t pid, uint32_t tid);
void live_threads_deinit(struct live_threads *threads);

#endif
