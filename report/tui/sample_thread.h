/*
 * What is done with the samples before the first table is shown, beside the naming of frames, which
 * does not touch them: they are sorted by time, and summed.
 */
#ifndef EBPROF_SAMPLE_THREAD_H
#define EBPROF_SAMPLE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "report/model/slice.h"

struct sample_thread {
	pthread_t thread;
	bool is_running;
	struct profile *profile;
	struct slice slice; /* all of them, once it has ended */
};

/* Where there can be no thread it is done at once. */
void sample_thread_begin(struct sample_thread *samples, struct profile *profile);
/* Waits for the end; again is safe. */
void sample_thread_end(struct sample_thread *samples);
void sample_thread_deinit(struct sample_thread *samples);

#endif
