#include "report/load/thread_entries.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/file/thread_name.h"

static bool has_whole_names(const struct profile *profile)
{
	vec_each(&profile->threads, thread)
		if (thread->kernel_name || strlen(thread->comm) > THREAD_NAME_KEPT_BYTES)
			return true;
	return false;
}

/* Whether what a runtime calls a thread stands for another name of it. */
static bool is_name_for(const struct profile_thread *name, const char *kept)
{
	return name->kernel_name ? strcmp(name->kernel_name, kept) == 0
				 : thread_name_is_of(name->comm, strlen(name->comm), kept);
}

/* What its runtime calls a thread stands for what the kernel calls it. Such names are few. */
static void take_whole_names(struct profile *profile)
{
	struct map newest = {0}; /* of each thread's names, those before it in `older` */
	size_t count = profile->threads.len;
	CLEANUP_FREE uint32_t *older = mem_zalloc_array(count + 1, sizeof(*older));
	for (uint32_t i = 1; i < count; i++) {
		uint64_t *last = map_put(&newest, profile_thread_key(profile, i), NULL);
		older[i] = (uint32_t)*last;
		*last = i;
	}
	for (uint32_t i = 1; i < count; i++) {
		const struct profile_thread *name = &profile->threads.data[i];
		if (!name->kernel_name && strlen(name->comm) <= THREAD_NAME_KEPT_BYTES)
			continue;
		uint64_t *last = map_get(&newest, profile_thread_key(profile, i));
		for (uint32_t k = (uint32_t)*last; k; k = older[k])
			if (is_name_for(name, profile->threads.data[k].comm))
				profile->threads.data[k].comm = name->comm;
	}
	map_deinit(&newest);
}

/* ---- the same in several recordings ---- */

static void find_boots(struct profile *profile)
{
	CLEANUP(strtab_deinit) struct strtab boots = {0};
	CLEANUP_FREE uint32_t *first_of =
		mem_zalloc_array(profile->origins.len + 1, sizeof(*first_of));
	for (uint32_t i = 0; i < profile->origins.len; i++) {
		struct profile_origin *origin = &profile->origins.data[i];
		const char *boot = i ? profile_origin_meta(profile, i, LAYOUT_META_BOOT) : NULL;
		boot = boot ? boot : "";
		uint32_t id = strtab_intern(&boots, boot, strlen(boot));
		if (!first_of[id] || !boot[0])
			first_of[id] = i;
		origin->boot = first_of[id];
	}
}

/* By its number, start and program: an exec makes another one of it. */
static void find_first_processes(struct profile *profile)
{
	struct map firsts = {0};
	for (uint32_t i = 0; i < profile->processes.len; i++) {
		struct profile_process *process = &profile->processes.data[i];
		uint64_t key = map_mix(profile_process_key(profile, i)) ^ process->info.exe;
		bool is_new = true;
		uint64_t *first = process->info.start_ns ? map_put(&firsts, key, &is_new) : NULL;
		if (first && is_new)
			*first = i;
		process->first = is_new ? i : (uint32_t)*first;
	}
	map_deinit(&firsts);
}

/* ---- threads ---- */

/*
 * By entry the first one of the thread and of this name, across recordings or in each by itself;
 * false: each is.
 */
static bool find_first_entries(const struct profile *profile, bool is_across, uint32_t *firsts)
{
	CLEANUP(strtab_deinit) struct strtab names = {0};
	CLEANUP_FREE uint32_t *first_of = mem_zalloc_array(profile->threads.len, sizeof(*first_of));
	CLEANUP(str_deinit) struct str key = {0};
	bool has_several = false;
	for (uint32_t i = 1; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.data[i];
		const uint32_t process = is_across ? profile->processes.data[thread->process].first
						   : thread->process;
		const uint32_t numbers[] = {process, thread->tid};
		str_truncate(&key, 0);
		str_write(&key, numbers, sizeof(numbers));
		str_puts(&key, thread->comm);
		uint32_t id = strtab_intern(&names, str_text(&key), key.len);
		if (!first_of[id])
			first_of[id] = i;
		firsts[i] = first_of[id];
		has_several |= firsts[i] != i;
	}
	return has_several;
}

static void join_entries(struct profile *profile)
{
	CLEANUP_FREE uint32_t *firsts = mem_zalloc_array(profile->threads.len, sizeof(*firsts));
	if (!find_first_entries(profile, false, firsts))
		return;
	vec_each(&profile->samples, sample)
		sample->thread = firsts[sample->thread];
	vec_each(&profile->wakers, waker)
		waker->thread = firsts[waker->thread];
	vec_each(&profile->thread_times, times)
		times->thread = firsts[times->thread];
}

static void find_first_threads(struct profile *profile)
{
	CLEANUP_FREE uint32_t *firsts = mem_zalloc_array(profile->threads.len, sizeof(*firsts));
	find_first_entries(profile, true, firsts);
	for (uint32_t i = 0; i < profile->threads.len; i++)
		profile->threads.data[i].first = firsts[i];
}

void thread_entries_settle(struct profile *profile)
{
	find_boots(profile);
	find_first_processes(profile);
	if (has_whole_names(profile))
		take_whole_names(profile);
	join_entries(profile);
	find_first_threads(profile);
}
