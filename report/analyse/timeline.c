#include "report/analyse/timeline.h"

#include "format/base/bisect.h"

void timeline_init(
	struct timeline *timeline, const struct profile *profile, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t span_ns = to_ns - from_ns;
	*timeline = (struct timeline){
		.from_ns = from_ns,
		.to_ns = to_ns,
		.bucket_ns = (span_ns - 1) / TIMELINE_BUCKETS + 1,
		.nr_threads = profile->threads.len,
	};
	timeline->nr_buckets = (uint32_t)((span_ns - 1) / timeline->bucket_ns + 1);
	timeline->threads = mem_zalloc_array(timeline->nr_threads, sizeof(*timeline->threads));
	timeline->newest = mem_zalloc_array(timeline->nr_threads, sizeof(*timeline->newest));
	timeline->buckets = mem_zalloc_array(timeline->nr_buckets, sizeof(*timeline->buckets));
}

static void add_to(struct slice_sum *sum, uint64_t value)
{
	sum->value += value;
	sum->samples++;
}

/* Samples come by time: most are in the bucket of the one before, and cost no division. */
static void find_bucket(struct timeline *timeline, uint64_t at_ns)
{
	if (at_ns >= timeline->bucket_from_ns && at_ns < timeline->bucket_to_ns)
		return;
	uint64_t since_ns = at_ns > timeline->from_ns ? at_ns - timeline->from_ns : 0;
	uint64_t bucket = since_ns / timeline->bucket_ns;
	timeline->bucket =
		bucket < timeline->nr_buckets ? (uint32_t)bucket : timeline->nr_buckets - 1;
	timeline->bucket_from_ns = timeline->from_ns + timeline->bucket * timeline->bucket_ns;
	timeline->bucket_to_ns = timeline->bucket_from_ns + timeline->bucket_ns;
}

static struct timeline_cell *timeline_cell_of(
	struct timeline *timeline, uint32_t thread, bool is_wait)
{
	uint32_t *newest = &timeline->newest[thread];
	const struct timeline_cell *last = *newest ? &timeline->fresh.data[*newest - 1].cell : NULL;
	if (!last || last->bucket != timeline->bucket || last->is_wait != is_wait) {
		struct timeline_new_cell cell = {
			{.bucket = timeline->bucket, .is_wait = is_wait}, thread};
		vec_push(&timeline->fresh, cell);
		*newest = (uint32_t)timeline->fresh.len;
		timeline->threads[thread].nr_cells++;
	}
	return &timeline->fresh.data[*newest - 1].cell;
}

/* What a sample has of the bucket at an instant. */
static void timeline_add_piece(struct timeline *timeline, uint32_t thread, uint64_t at_ns,
	uint64_t value, bool is_wait, bool is_last)
{
	find_bucket(timeline, at_ns);
	struct timeline_sum *bucket = &timeline->buckets[timeline->bucket];
	bucket->value += value;
	bucket->waited += is_wait ? value : 0;
	bucket->samples += is_last;
	struct timeline_cell *cell = timeline_cell_of(timeline, thread, is_wait);
	cell->value += value;
	cell->samples += is_last;
}

/*
 * A wait whose length is known is seen all its time, and counted where it ends: its thread had no
 * other sample since it began, so that the cells of each thread still come by time.
 */
static uint64_t span_of(const struct timeline *timeline, const struct profile *profile,
	const struct profile_sample *sample, uint64_t end_ns)
{
	uint64_t span_ns = profile_sample_value(profile, sample);
	if (!profile->events.data[sample->event].wait || sample->is_estimate)
		return 0;
	uint64_t room_ns = end_ns > timeline->from_ns ? end_ns - timeline->from_ns : 0;
	return span_ns < room_ns ? span_ns : room_ns;
}

void timeline_add(struct timeline *timeline, const struct profile *profile,
	const struct profile_sample *sample)
{
	uint64_t at_ns = sample->time_ns - profile->first_ns;
	uint64_t value = profile_sample_value(profile, sample);
	uint32_t first = profile->threads.data[sample->thread].first;
	bool is_wait = profile->events.data[sample->event].wait != PROFILE_NO_WAIT;
	struct timeline_thread *thread = &timeline->threads[first];
	uint64_t span_ns = span_of(timeline, profile, sample, at_ns);
	if (span_ns && thread->sum.samples && at_ns - span_ns < thread->last_ns)
		span_ns = at_ns > thread->last_ns ? at_ns - thread->last_ns : 0;
	uint64_t pieces = span_ns / timeline->bucket_ns;
	pieces = pieces < TIMELINE_PIECES ? pieces : TIMELINE_PIECES;
	if (!thread->sum.samples)
		thread->first_ns = at_ns - span_ns;
	thread->last_ns = at_ns;
	add_to(&thread->sum, value);
	thread->running += is_wait ? 0 : value;
	for (uint64_t i = 0; i < pieces; i++)
		timeline_add_piece(timeline, first, at_ns - span_ns + span_ns * i / (pieces + 1),
			value / (pieces + 1), is_wait, false);
	timeline_add_piece(
		timeline, first, at_ns, value - value / (pieces + 1) * pieces, is_wait, true);
}

/* Cells come by time, and are to stand by thread. */
void timeline_finish(struct timeline *timeline)
{
	size_t next = 0;
	for (size_t i = 0; i < timeline->nr_threads; i++) {
		struct timeline_thread *thread = &timeline->threads[i];
		thread->first_cell = next;
		next += thread->nr_cells;
		thread->nr_cells = 0;
	}
	timeline->cells = mem_zalloc_array(next, sizeof(*timeline->cells));
	vec_each(&timeline->fresh, fresh) {
		struct timeline_thread *thread = &timeline->threads[fresh->thread];
		timeline->cells[thread->first_cell + thread->nr_cells++] = fresh->cell;
	}
	vec_deinit(&timeline->fresh);
	mem_free(timeline->newest);
	timeline->newest = NULL;
}

void timeline_deinit(struct timeline *timeline)
{
	mem_free(timeline->threads);
	mem_free(timeline->cells);
	mem_free(timeline->buckets);
	mem_free(timeline->newest);
	vec_deinit(&timeline->fresh);
}

/* The first of the thread's cells at or behind the bucket. */
static size_t find_cell(
	const struct timeline *timeline, const struct timeline_thread *thread, uint32_t bucket)
{
	const struct timeline_cell *cells = &timeline->cells[thread->first_cell];
	return bisect(thread->nr_cells, i, cells[i].bucket < bucket);
}

void timeline_add_thread(const struct timeline *timeline, uint32_t thread,
	const struct timeline_window *window, struct timeline_sum *sums)
{
	const struct timeline_thread *it = &timeline->threads[thread];
	const struct timeline_cell *cells = &timeline->cells[it->first_cell];
	for (size_t i = find_cell(timeline, it, window->first); i < it->nr_cells; i++) {
		uint32_t column = (cells[i].bucket - window->first) / window->per_column;
		if (column >= window->columns)
			break;
		sums[column].value += cells[i].value;
		sums[column].waited += cells[i].is_wait ? cells[i].value : 0;
		sums[column].samples += cells[i].samples;
	}
}

uint64_t timeline_thread_peak(
	const struct timeline *timeline, uint32_t thread, const struct timeline_window *window)
{
	const struct timeline_thread *it = &timeline->threads[thread];
	const struct timeline_cell *cells = &timeline->cells[it->first_cell];
	uint64_t end = window->first + (uint64_t)window->per_column * window->columns;
	uint64_t peak = 0, sum = 0, column_end = 0; /* of the newest column; cells come by time */
	for (size_t i = find_cell(timeline, it, window->first);
		i < it->nr_cells && cells[i].bucket < end; i++) {
		if (cells[i].bucket >= column_end) {
			uint32_t column = (cells[i].bucket - window->first) / window->per_column;
			column_end = window->first + (column + 1ULL) * window->per_column;
			sum = 0;
		}
		sum += cells[i].value;
		peak = sum > peak ? sum : peak;
	}
	return peak;
}

void timeline_add_all(const struct timeline *timeline, const struct timeline_window *window,
	struct timeline_sum *sums)
{
	for (uint32_t i = window->first; i < timeline->nr_buckets; i++) {
		uint32_t column = (i - window->first) / window->per_column;
		if (column >= window->columns)
			break;
		sums[column].value += timeline->buckets[i].value;
		sums[column].waited += timeline->buckets[i].waited;
		sums[column].samples += timeline->buckets[i].samples;
	}
}
