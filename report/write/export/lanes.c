#include "report/write/export/lanes.h"

#include <stdlib.h>
#include <string.h>

/* By event and thread. The index of each is the value in the map, as long as nothing is sorted. */
static void find_lanes(struct lanes *lanes, const struct profile *profile)
{
	struct map by_key = {0};
	vec_each(&profile->samples, sample) {
		bool added;
		uint64_t key = (uint64_t)sample->event << 32 | sample->thread;
		uint64_t *index = map_put(&by_key, key, &added);
		if (added) {
			*index = lanes->all.len;
			vec_push(&lanes->all, (struct lane){.thread = sample->thread,
						      .event = sample->event,
						      .nr_threads = 1});
		}
		struct lane *lane = &lanes->all.data[*index];
		lane->count++;
		lane->value = lane_add(lane->value, profile_sample_value(profile, sample));
	}
	map_deinit(&by_key);
}

static int compare_lanes(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* The smallest lanes become one for each event. Answers where each thread's samples go. */
static void merge_small(struct lanes *lanes, struct map *by_key)
{
	struct map others = {0}; /* event -> its lane of many threads */
	size_t len = lanes->all.len;
	VEC(struct lane) small = {0};
	if (len > LANES_MAX) {
		vec_append(&small, lanes->all.data + LANES_MAX, len - LANES_MAX);
		lanes->all.len = LANES_MAX;
	}
	for (size_t i = 0; i < lanes->all.len; i++) {
		const struct lane *lane = &lanes->all.data[i];
		*map_put(by_key, (uint64_t)lane->event << 32 | lane->thread, NULL) = i;
	}
	vec_each(&small, lane) {
		bool added;
		uint64_t *index = map_put(&others, lane->event, &added);
		if (added) {
			*index = lanes->all.len;
			vec_push(&lanes->all, (struct lane){.event = lane->event});
		}
		struct lane *merged = &lanes->all.data[*index];
		merged->nr_threads++;
		merged->count += lane->count;
		merged->value = lane_add(merged->value, lane->value);
		*map_put(by_key, (uint64_t)lane->event << 32 | lane->thread, NULL) = *index;
	}
	vec_deinit(&small);
	map_deinit(&others);
}

/* A counting sort, which keeps the samples of a lane in their order. */
static void order_samples(struct lanes *lanes, const struct profile *profile, struct map *by_key)
{
	size_t first = 0;
	CLEANUP_FREE size_t *next = mem_zalloc_array(lanes->all.len, sizeof(*next));
	for (size_t i = 0; i < lanes->all.len; i++) {
		lanes->all.data[i].first = next[i] = first;
		first += lanes->all.data[i].count;
	}
	lanes->order = mem_zalloc_array(profile->samples.len, sizeof(*lanes->order));
	for (size_t i = 0; i < profile->samples.len; i++) {
		const struct profile_sample *sample = &profile->samples.data[i];
		uint64_t *lane = map_get(by_key, (uint64_t)sample->event << 32 | sample->thread);
		lanes->order[next[*lane]++] = (uint32_t)i;
	}
}

void lanes_init(struct lanes *lanes, const struct profile *profile)
{
	*lanes = (struct lanes){0};
	struct map by_key = {0};
	find_lanes(lanes, profile);
	if (lanes->all.len)
		qsort(lanes->all.data, lanes->all.len, sizeof(*lanes->all.data), compare_lanes);
	merge_small(lanes, &by_key);
	order_samples(lanes, profile, &by_key);
	map_deinit(&by_key);
}

void lanes_deinit(struct lanes *lanes)
{
	vec_deinit(&lanes->all);
	mem_free(lanes->order);
}

void lane_put_name(const struct profile *profile, const struct lane *lane, struct str *out)
{
	const struct profile_thread *thread = &profile->threads.data[lane->thread];
	if (lane->nr_threads != 1)
		str_printf(out, "%u other threads", lane->nr_threads);
	else
		str_printf(out, "%s %u/%u", thread->comm[0] ? thread->comm : "[unknown]",
			thread->pid, thread->tid);
	if (profile->events.len > 2) /* event 0 is none */
		str_printf(out, " %s", profile->events.data[lane->event].name);
}

bool lane_is_time(const struct profile *profile, const struct lane *lane)
{
	return strcmp(profile->events.data[lane->event].unit, "ns") == 0;
}

uint64_t lane_add(uint64_t sum, uint64_t value)
{
	return sum + value < sum ? UINT64_MAX : sum + value;
}
