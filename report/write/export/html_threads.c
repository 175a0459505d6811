#include "report/write/export/html_threads.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "report/analyse/scope.h"

static int compare_threads(const void *a, const void *b)
{
	const struct html_thread *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t *weigh_threads(const struct html_data_side *side)
{
	const struct profile *profile = side->profile;
	uint64_t *weights = mem_zalloc_array(profile->threads.len, sizeof(*weights));
	vec_each(&profile->samples, sample)
		if (profile_event_has(profile, side->event, sample->event))
			weights[sample->thread] += profile_weight_as(profile, side->event, sample);
	return weights;
}

/* Numbers of threads and processes say nothing about another run. */
static uint32_t add_thread(struct html_threads *threads, struct strtab *names,
	const struct profile *profile, uint32_t index)
{
	const struct profile_thread *thread = &profile->threads.data[index];
	uint32_t id = (uint32_t)threads->list.len;
	struct html_thread it = {.comm = thread->comm, .container = "", .id = id, .key = id};
	if (names) {
		id = strtab_intern(names, thread->comm, strlen(thread->comm));
	} else {
		it.pid = thread->pid;
		it.tid = thread->tid;
		it.key = profile_thread_key(profile, index);
		it.container = scope_container(&profile->processes.data[thread->process]);
	}
	if (id == threads->list.len)
		vec_push(&threads->list, it);
	return id;
}

static void add_side(struct html_threads *threads, struct strtab *names, size_t index,
	const struct html_data_side *side)
{
	const struct profile *profile = side->profile;
	CLEANUP_FREE uint64_t *weights = weigh_threads(side);
	threads->ranks[index] = mem_zalloc_array(profile->threads.len, sizeof(**threads->ranks));
	for (size_t i = 0; i < profile->threads.len; i++) {
		if (!weights[i])
			continue;
		uint32_t id = add_thread(threads, names, profile, (uint32_t)i);
		threads->ranks[index][i] = id;
		threads->list.data[id].weight += weights[i];
	}
}

static void put_in_order(
	struct html_threads *threads, const struct html_data_side *sides, size_t nr_sides)
{
	size_t count = threads->list.len;
	CLEANUP_FREE uint32_t *ranks = mem_zalloc_array(count + 1, sizeof(*ranks));
	if (count)
		qsort(threads->list.data, count, sizeof(*threads->list.data), compare_threads);
	for (size_t i = 0; i < count; i++)
		ranks[threads->list.data[i].id] = (uint32_t)i;
	for (size_t side = 0; side < nr_sides; side++)
		for (size_t i = 0; i < sides[side].profile->threads.len; i++)
			threads->ranks[side][i] = ranks[threads->ranks[side][i]];
}

void html_threads_init(
	struct html_threads *threads, const struct html_data_side *sides, size_t nr_sides)
{
	struct strtab names = {0};
	*threads = (struct html_threads){0};
	for (size_t i = 0; i < nr_sides; i++)
		add_side(threads, nr_sides > 1 ? &names : NULL, i, &sides[i]);
	put_in_order(threads, sides, nr_sides);
	strtab_deinit(&names);
}

uint64_t html_threads_count(const struct html_threads *threads, size_t first)
{
	struct map keys = {0};
	for (size_t i = first; i < threads->list.len; i++)
		map_put(&keys, threads->list.data[i].key, NULL);
	uint64_t count = keys.len;
	map_deinit(&keys);
	return count;
}

void html_threads_deinit(struct html_threads *threads)
{
	vec_deinit(&threads->list);
	for (size_t i = 0; i < HTML_COLUMNS_MAX; i++)
		mem_free(threads->ranks[i]);
}
