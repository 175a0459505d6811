#include "report/write/export/html_threads.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "report/analyse/scope.h"
#include "report/model/process_names.h"

static int compare_threads(const void *a, const void *b)
{
	const struct html_thread *x = a, *y = b;
	if (x->running != y->running)
		return x->running > y->running ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

struct thread_weights {
	uint64_t all, running; /* the latter without what is time off a CPU */
};

static struct thread_weights *weigh_threads(const struct html_data_side *side)
{
	const struct profile *profile = side->profile;
	struct thread_weights *ret = mem_zalloc_array(profile->threads.len, sizeof(*ret));
	vec_each(&profile->samples, sample) {
		if (!profile_event_has(profile, side->event, sample->event))
			continue;
		struct thread_weights *of = &ret[profile->threads.data[sample->thread].first];
		uint64_t weight = profile_weight_as(profile, side->event, sample);
		of->all += weight;
		if (profile->events.data[sample->event].wait == PROFILE_NO_WAIT)
			of->running += weight;
	}
	return ret;
}

static const char *intern_process(struct html_threads *threads, const struct str *name)
{
	uint32_t number = strtab_intern(&threads->processes, str_text(name), name->len);
	return strtab_get(&threads->processes, number);
}

static uint32_t add_thread(struct html_threads *threads, const struct process_names *names,
	const struct profile *profile, uint32_t index)
{
	const struct profile_thread *thread = &profile->threads.data[index];
	CLEANUP(str_deinit) struct str process = {0};
	process_names_put(names, thread, &process);
	struct html_thread it = {
		.pid = thread->pid,
		.tid = thread->tid,
		.comm = thread->comm,
		.container = scope_container(&profile->processes.data[thread->process]),
		.process = intern_process(threads, &process),
		.id = (uint32_t)threads->list.len,
		.key = profile_thread_key(profile, index),
	};
	vec_push(&threads->list, it);
	return it.id;
}

/* Numbers of threads and processes say nothing about another run. */
static uint32_t add_thread_by_name(struct html_threads *threads, struct strtab *pairs,
	const struct process_names *names, const struct profile_thread *thread)
{
	CLEANUP(str_deinit) struct str process = {0}, pair = {0};
	process_names_put(names, thread, &process);
	str_write(&pair, str_text(&process), process.len + 1); /* and its NUL */
	str_puts(&pair, thread->comm);
	uint32_t id = strtab_intern(pairs, str_text(&pair), pair.len);
	if (id < threads->list.len)
		return id;
	struct html_thread it = {
		.comm = thread->comm,
		.container = "",
		.process = intern_process(threads, &process),
		.id = id,
		.key = id,
	};
	vec_push(&threads->list, it);
	return id;
}

/* `pairs`: of names that are known; NULL: threads are told apart by their numbers. */
static void add_side(struct html_threads *threads, struct strtab *pairs, size_t index,
	const struct html_data_side *side)
{
	const struct profile *profile = side->profile;
	struct process_names names;
	process_names_init(&names, profile);
	CLEANUP_FREE struct thread_weights *weights = weigh_threads(side);
	threads->ranks[index] = mem_zalloc_array(profile->threads.len, sizeof(**threads->ranks));
	for (size_t i = 0; i < profile->threads.len; i++) {
		if (!weights[i].all)
			continue;
		uint32_t id = pairs ? add_thread_by_name(
					      threads, pairs, &names, &profile->threads.data[i])
				    : add_thread(threads, &names, profile, (uint32_t)i);
		threads->ranks[index][i] = id;
		threads->list.data[id].weight += weights[i].all;
		threads->list.data[id].running += weights[i].running;
	}
	process_names_deinit(&names);
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
	struct strtab pairs = {0};
	*threads = (struct html_threads){0};
	for (size_t i = 0; i < nr_sides; i++)
		add_side(threads, nr_sides > 1 ? &pairs : NULL, i, &sides[i]);
	put_in_order(threads, sides, nr_sides);
	strtab_deinit(&pairs);
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
	strtab_deinit(&threads->processes);
	for (size_t i = 0; i < HTML_COLUMNS_MAX; i++)
		mem_free(threads->ranks[i]);
}
