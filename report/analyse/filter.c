#include "report/analyse/filter.h"

#include <string.h>
#include <strings.h>

#include "format/base/str.h"
#include "report/analyse/native_frames.h"
#include "report/name/demangle/demangle.h"

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

bool filter_is_event(const char *name, const char *wanted)
{
	size_t len = strlen(name), wanted_len = strlen(wanted);
	if (!wanted_len || wanted_len > len || strcmp(name + len - wanted_len, wanted) != 0)
		return false;
	return wanted_len == len || name[len - wanted_len - 1] == ':';
}

static bool has_event(const struct filter_strings *list, const char *name)
{
	for (size_t i = 0; i < list->len; i++)
		if (filter_is_event(name, list->data[i]))
			return true;
	return !list->len;
}

bool filter_wants_second_samples(const struct filter *filter)
{
	return filter->events.len && has_event(&filter->events, LAYOUT_EVENT_SECOND);
}

/* An object of scripts is called "[python]". */
bool filter_is_language(const struct profile_object *object, const char *wanted)
{
	size_t len = strlen(wanted);
	return object->info.kind == LAYOUT_OBJECT_SCRIPT && object->path[0] == '[' &&
	       strncasecmp(object->path + 1, wanted, len) == 0 && object->path[1 + len] == ']';
}

static bool has_language(const struct filter_strings *list, const struct profile_object *object)
{
	for (size_t i = 0; i < list->len; i++)
		if (filter_is_language(object, list->data[i]))
			return true;
	return false;
}

/* Of its ID at least as much is wanted as others show of it. */
bool filter_is_container(const struct profile_process *process, const char *wanted)
{
	enum {
		SHORT_ID = 12
	};
	size_t len = strlen(wanted);
	if (len && wanted[0] == '/')
		return strncmp(process->cgroup, wanted, len) == 0 &&
		       (wanted[len - 1] == '/' || !process->cgroup[len] ||
			       process->cgroup[len] == '/');
	return strcmp(process->container, wanted) == 0 ||
	       (len >= SHORT_ID && strncmp(process->container, wanted, len) == 0);
}

static bool has_container(const struct filter_strings *list, const struct profile_process *process)
{
	for (size_t i = 0; i < list->len; i++)
		if (filter_is_container(process, list->data[i]))
			return true;
	return !list->len;
}

/* For each node whether it or a caller is in a script of these languages. */
static bool *find_languages(const struct profile *profile, const struct filter_strings *languages)
{
	bool *found = mem_zalloc_array(profile->nodes.len, sizeof(*found));
	for (size_t i = 1; i < profile->nodes.len; i++) {
		const struct layout_node *node = &profile->nodes.data[i];
		uint32_t object = profile->frames.data[node->frame].object;
		found[i] = found[node->parent] ||
			   has_language(languages, &profile->objects.data[object]);
	}
	return found;
}

static void filter_languages(struct profile *profile, const struct filter_strings *languages)
{
	CLEANUP_FREE bool *found = find_languages(profile, languages);
	size_t kept = 0;
	vec_each(&profile->samples, sample)
		if (found[profile->stacks.data[sample->stack].user])
			profile->samples.data[kept++] = *sample;
	profile->samples.len = kept;
}

struct filter filter_of_names(const struct filter *filter)
{
	return (struct filter){
		.comms = filter->comms,
		.events = filter->events,
		.containers = filter->containers,
		.languages = filter->languages,
		.no_native = filter->no_native,
		.dsos = filter->dsos,
		.symbols = filter->symbols,
	};
}

static bool wants_all(const struct filter *filter)
{
	return !filter->comms.len && !filter->containers.len && !filter->pids.len &&
	       !filter->tids.len && !filter->cpus.len && !filter->events.len && !filter->from_ns &&
	       !filter->to_ns;
}

static void drop_samples(struct profile *profile, const struct filter *filter)
{
	/* Whole threads are judged once, events too, samples then only by CPU and time. */
	CLEANUP_FREE bool *wanted = mem_zalloc_array(profile->threads.len, sizeof(*wanted));
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.data[i];
		wanted[i] = has_string(&filter->comms, thread->comm) &&
			    has_container(&filter->containers,
				    &profile->processes.data[thread->process]) &&
			    has_number(&filter->pids, thread->pid) &&
			    has_number(&filter->tids, thread->tid);
	}
	CLEANUP_FREE bool *events = mem_zalloc_array(profile->events.len, sizeof(*events));
	for (size_t i = 0; i < profile->events.len; i++)
		events[i] = has_event(&filter->events, profile->events.data[i].name);
	size_t kept = 0;
	vec_each(&profile->samples, sample) {
		uint64_t at_ns = sample->time_ns - profile->first_ns;
		if (wanted[sample->thread] && events[sample->event] &&
			has_number(&filter->cpus, sample->cpu) && at_ns >= filter->from_ns &&
			(!filter->to_ns || at_ns < filter->to_ns))
			profile->samples.data[kept++] = *sample;
	}
	profile->samples.len = kept;
}

void filter_samples(struct profile *profile, const struct filter *filter)
{
	if (!wants_all(filter))
		drop_samples(profile, filter);
	if (filter->languages.len)
		filter_languages(profile, &filter->languages);
	if (filter->no_native)
		native_frames_leave_out(profile);
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

/* Which stacks have a frame in the wanted dsos and symbols; NULL: all of them. To be freed. */
static bool *find_stacks(const struct profile *profile, const struct filter *filter)
{
	if (!filter->dsos.len && !filter->symbols.len)
		return NULL;
	CLEANUP_FREE bool *functions = mem_zalloc_array(profile->functions.len, sizeof(*functions));
	for (size_t i = 0; i < profile->functions.len; i++)
		functions[i] = filter_wants_function(profile, filter, (uint32_t)i);
	bool *stacks = mem_zalloc_array(profile->stacks.len, sizeof(*stacks));
	for (size_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, (uint32_t)i);
		for (uint32_t frame; !stacks[i] && (frame = profile_walk_next(&walk));)
			stacks[i] = functions[profile->frames.data[frame].function];
	}
	return stacks;
}

uint64_t filter_count_stacks(const struct profile *profile, const struct filter *filter)
{
	CLEANUP_FREE bool *stacks = find_stacks(profile, filter);
	if (!stacks)
		return profile->samples.len;
	uint64_t count = 0;
	vec_each(&profile->samples, sample)
		count += stacks[sample->stack];
	return count;
}

void filter_stacks(struct profile *profile, const struct filter *filter)
{
	CLEANUP_FREE bool *stacks = find_stacks(profile, filter);
	if (!stacks)
		return;
	size_t kept = 0;
	vec_each(&profile->samples, sample)
		if (stacks[sample->stack])
			profile->samples.data[kept++] = *sample;
	profile->samples.len = kept;
}
