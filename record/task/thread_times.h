/*
 * How threads spent their time: what the BPF side tells of each since it is followed becomes what
 * there was of it in each file.
 */
#ifndef EBPROF_THREAD_TIMES_H
#define EBPROF_THREAD_TIMES_H

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/base/vec.h"
#include "format/file/layout.h"

/* {0}: no thread is known. */
struct thread_times {
	struct map by_thread; /* tid << 32 | a hash of when it was followed first -> index of: */
	VEC(struct event_times) told; /* as it was told last */
	VEC(uint32_t) free;           /* indices that are not in use */
};

/*
 * The times of the thread since they were told before, but for its id. A thread that has ended is
 * not told of again, and is forgotten.
 */
struct layout_thread_times thread_times_take(
	struct thread_times *times, const struct event_thread_times *event);
void thread_times_deinit(struct thread_times *times);

#endif
