/*
 * How threads spent their time. The BPF side sends the sums of each thread since it follows it; a
 * file has what they grew by while it was written.
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
	VEC(struct event_times) sums; /* as the BPF side sent them last */
	VEC(uint32_t) free;           /* indices of `sums` that are not in use */
};

/*
 * What the thread's times grew by since the event before, without its id. The BPF side sends none
 * behind that of its end, with which the thread is forgotten.
 */
struct layout_thread_times thread_times_take(
	struct thread_times *times, const struct event_thread_times *event);
void thread_times_deinit(struct thread_times *times);

#endif
