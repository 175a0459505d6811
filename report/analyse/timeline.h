/*
 * Who ran when: samples summed by thread, and by thread and time. What was not seen takes no
 * memory, so there is never more of it than of samples, however many threads there are.
 */
#ifndef EBPROF_TIMELINE_H
#define EBPROF_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"
#include "report/model/profile.h"
#include "report/model/slice.h"

enum {
	TIMELINE_BUCKETS = 1 << 14, /* at most */
	TIMELINE_PIECES = 512,      /* of a wait, more than a screen has columns */
};

struct timeline_sum {           /* in the event's unit (ns) */
	uint64_t value, waited; /* of that, in waits */
	uint64_t samples;
};

struct timeline_cell { /* a bucket in which the thread was seen, to run or to wait */
	uint32_t bucket : 31, is_wait : 1;
	uint32_t samples;
	uint64_t value;
};

struct timeline_thread {
	struct slice_sum sum;
	uint64_t running;           /* of its value: not in waits */
	uint64_t first_ns, last_ns; /* of its samples, since the recording's beginning */
	size_t first_cell, nr_cells;
};

struct timeline {
	uint64_t from_ns, to_ns; /* since the recording's beginning */
	uint64_t bucket_ns;
	uint32_t nr_buckets;
	struct timeline_thread *threads; /* one for each of the profile's; all is in `first` ones */
	size_t nr_threads;
	struct timeline_cell *cells;  /* by thread, then by time */
	struct timeline_sum *buckets; /* of all threads */

	/* While it is made: */
	uint64_t bucket_from_ns, bucket_to_ns; /* of the newest bucket */
	uint32_t bucket;
	uint32_t *newest; /* for each thread its newest cell plus 1 */
	VEC(struct timeline_new_cell {
		struct timeline_cell cell;
		uint32_t thread;
	})
	fresh; /* by time */
};

/* Nothing is in it yet; from_ns < to_ns. */
void timeline_init(
	struct timeline *timeline, const struct profile *profile, uint64_t from_ns, uint64_t to_ns);
/* By rising time; those of a wait are seen from its beginning on. */
void timeline_add(struct timeline *timeline, const struct profile *profile,
	const struct profile_sample *sample);
/* When all samples were added. */
void timeline_finish(struct timeline *timeline);
void timeline_deinit(struct timeline *timeline);

/* A part of the time in columns of equally many buckets. */
struct timeline_window {
	uint32_t first, per_column, columns;
};

/* Adds what the window holds of a thread to sums, one for each column. */
void timeline_add_thread(const struct timeline *timeline, uint32_t thread,
	const struct timeline_window *window, struct timeline_sum *sums);
/* The largest of these sums, of no columns 0. */
uint64_t timeline_thread_peak(
	const struct timeline *timeline, uint32_t thread, const struct timeline_window *window);
/* Of all threads. */
void timeline_add_all(const struct timeline *timeline, const struct timeline_window *window,
	struct timeline_sum *sums);

#endif
