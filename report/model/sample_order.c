/*
 * Recorders hand samples out nearly in order, a few CPUs' worth displaced: insertion takes a few
 * moves each. Files that were put together have one such part behind the other. So insertion makes
 * runs, a new one wherever a sample would have to go far, and neighbours are merged, pair by pair,
 * until one run is left. No order of the file, hostile or not, takes more than n log n.
 */
#include "report/model/sample_order.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/vec.h"

enum {
	MAX_MOVES = 64 /* of one sample */
};

struct runs {
	VEC(size_t) starts; /* of each run, and the end of the last */
};

/* Its place, at `begin` at the earliest; SIZE_MAX: too far away. */
static size_t sample_order_place_of(
	const struct profile_sample *samples, size_t begin, size_t index)
{
	uint64_t time_ns = samples[index].time_ns;
	size_t to = index;
	while (to > begin && samples[to - 1].time_ns > time_ns)
		if (index - --to > MAX_MOVES)
			return SIZE_MAX;
	return to;
}

static void make_runs(struct runs *runs, struct profile_sample *samples, size_t count)
{
	size_t begin = 0;
	vec_push(&runs->starts, begin);
	for (size_t i = 1; i < count; i++) {
		size_t to = sample_order_place_of(samples, begin, i);
		if (to == SIZE_MAX) {
			begin = i;
			vec_push(&runs->starts, begin);
		} else if (to != i) {
			struct profile_sample sample = samples[i];
			memmove(samples + to + 1, samples + to, (i - to) * sizeof(*samples));
			samples[to] = sample;
		}
	}
	vec_push(&runs->starts, count);
}

/* [0, middle) and [middle, count), with room for as many as the first has. */
static void sample_order_merge(
	struct profile_sample *samples, size_t middle, size_t count, struct profile_sample *room)
{
	memcpy(room, samples, middle * sizeof(*samples));
	size_t left = 0, right = middle, to = 0;
	while (left < middle && right < count)
		samples[to++] = samples[right].time_ns < room[left].time_ns ? samples[right++]
									    : room[left++];
	memcpy(samples + to, room + left, (middle - left) * sizeof(*samples));
}

static void merge_pairs(
	struct runs *runs, struct profile_sample *samples, struct profile_sample *room)
{
	size_t *starts = runs->starts.data, end = starts[runs->starts.len - 1], kept = 0;
	for (size_t i = 0; i + 1 < runs->starts.len; i += 2) {
		if (i + 2 < runs->starts.len)
			sample_order_merge(samples + starts[i], starts[i + 1] - starts[i],
				starts[i + 2] - starts[i], room);
		starts[kept++] = starts[i];
	}
	starts[kept++] = end;
	runs->starts.len = kept;
}

void sample_order_sort(struct profile_sample *samples, size_t count)
{
	struct runs runs = {0};
	make_runs(&runs, samples, count);
	CLEANUP_FREE struct profile_sample *room = NULL;
	if (runs.starts.len > 2)
		room = mem_zalloc_array(count, sizeof(*room));
	while (runs.starts.len > 2)
		merge_pairs(&runs, samples, room);
	vec_deinit(&runs.starts);
}
