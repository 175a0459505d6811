#include "report/filter.h"

#include <string.h>

#include "format/base/str.h"
#include "report/demangle/demangle.h"

static bool has_number(const struct filter_numbers *list, uint32_t number)
{
	for (size_t i = 0; i < list->len; i++)
		if (list->data[i] == number)
			return true;
	return !list->len;
}

static bool has_string(const struct filter_strings *list, const char *text)
{
	for (size_t i = 0; i < list->len; i++)
		if (strcmp(list->data[i], text) == 0)
			return true;
	return !list->len;
}

void filter_samples(struct profile *profile, const struct filter *filter)
{
	/* Whole threads are judged once, samples then only by CPU and time. */
	CLEANUP_FREE bool *wanted = mem_zalloc_array(profile->threads.len, sizeof(*wanted));
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.data[i];
		wanted[i] = has_string(&filter->comms, thread->comm) &&
			    has_number(&filter->pids, thread->pid) &&
			    has_number(&filter->tids, thread->tid);
	}
	size_t kept = 0;
	vec_each(&profile->samples, sample) {
		uint64_t at_ns = sample->time_ns - profile->first_ns;
		if (wanted[sample->thread] && has_number(&filter->cpus, sample->cpu) &&
			at_ns >= filter->from_ns && (!filter->to_ns || at_ns < filter->to_ns))
			profile->samples.data[kept++] = *sample;
	}
	profile->samples.len = kept;
}

/* "foo" also means "foo(int)" and "foo<int>(int)". */
static bool is_name(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);
	return strncmp(name, wanted, len) == 0 &&
	       (name[len] == '\0' || name[len] == '(' || name[len] == '<');
}

/* By the name that is shown, by the whole one, of which less may be shown, by the linker's. */
static bool has_symbol(const struct filter_strings *list, const struct profile_function *function)
{
	CLEANUP(str_deinit) struct str whole = {0};
	bool has_whole = list->len && demangle(function->system_name, DEMANGLE_FULL, &whole);
	for (size_t i = 0; i < list->len; i++)
		if (is_name(function->name, list->data[i]) ||
			strcmp(function->system_name, list->data[i]) == 0 ||
			(has_whole && is_name(str_text(&whole), list->data[i])))
			return true;
	return !list->len;
}

bool filter_wants_function(
	const struct profile *profile, const struct filter *filter, uint32_t function)
{
	const struct profile_function *it = &profile->functions.data[function];
	const struct profile_object *object = &profile->objects.data[it->object];
	return (has_string(&filter->dsos, object->name) ||
		       has_string(&filter->dsos, object->path)) &&
	       has_symbol(&filter->symbols, it);
}

void filter_stacks(struct profile *profile, const struct filter *filter)
{
	if (!filter->dsos.len && !filter->symbols.len)
		return;
	CLEANUP_FREE bool *functions = mem_zalloc_array(profile->functions.len, sizeof(*functions));
	for (size_t i = 0; i < profile->functions.len; i++)
		functions[i] = filter_wants_function(profile, filter, (uint32_t)i);
	CLEANUP_FREE bool *stacks = mem_zalloc_array(profile->stacks.len, sizeof(*stacks));
	for (size_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, (uint32_t)i);
		for (uint32_t frame; !stacks[i] && (frame = profile_walk_next(&walk));)
			stacks[i] = functions[profile->frames.data[frame].function];
	}
	size_t kept = 0;
	vec_each(&profile->samples, sample)
		if (stacks[sample->stack])
			profile->samples.data[kept++] = *sample;
	profile->samples.len = kept;
}
