#include "report/model/profile.h"

#include <string.h>

#include "format/file/first_sources.h"

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	arena_deinit(&profile->arena);
	vec_deinit(&profile->strings);
	vec_deinit(&profile->meta);
	vec_deinit(&profile->events);
	vec_each(&profile->objects, object)
		chain_map_deinit(&object->chains);
	vec_deinit(&profile->objects);
	vec_deinit(&profile->origins);
	vec_deinit(&profile->processes);
	vec_deinit(&profile->threads);
	vec_deinit(&profile->mappings);
	vec_deinit(&profile->frames);
	vec_deinit(&profile->nodes);
	vec_deinit(&profile->stacks);
	vec_deinit(&profile->wakers);
	vec_deinit(&profile->labels);
	vec_deinit(&profile->thread_times);
	vec_deinit(&profile->samples);
	vec_deinit(&profile->symbols);
	vec_deinit(&profile->codes);
	vec_deinit(&profile->functions);
	vec_deinit(&profile->sources);
	vec_deinit(&profile->unwound);
	mem_free(profile);
}

/* ---- beside it ---- */

#define BORROW(to, from) ((to).data = (from).data, (to).len = (from).len)

void profile_borrow_names(struct profile *beside, const struct profile *profile)
{
	BORROW(beside->frames, profile->frames);
	BORROW(beside->functions, profile->functions);
	BORROW(beside->objects, profile->objects);
}

struct profile *profile_create_beside(const struct profile *profile)
{
	struct profile *beside = mem_zalloc(sizeof(*beside));
	profile_borrow_names(beside, profile);
	beside->wait_object = profile->wait_object;
	beside->syscall_object = profile->syscall_object;
	vec_append(&beside->nodes, profile->nodes.data, profile->nodes.len);
	vec_append(&beside->stacks, profile->stacks.data, profile->stacks.len);
	return beside;
}

void profile_destroy_beside(struct profile *beside)
{
	if (!beside)
		return;
	vec_deinit(&beside->nodes);
	vec_deinit(&beside->stacks);
	mem_free(beside);
}

/* ---- what it says ---- */

const char *profile_own_name(const char *name, const char *object)
{
	size_t len = strlen(object);
	bool has_object = len && strncmp(name, object, len) == 0 && name[len] == ' ';
	return has_object ? name + len + 1 : name;
}

const char *profile_meta(const struct profile *profile, const char *key)
{
	vec_each(&profile->meta, meta)
		if (strcmp(meta->key, key) == 0)
			return meta->value;
	return NULL;
}

const char *profile_title(const struct profile *profile)
{
	static const char *const keys[] = {
		LAYOUT_META_COMMAND, LAYOUT_META_TARGET, LAYOUT_META_IMPORT, LAYOUT_META_HOST};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = profile_meta(profile, keys[i]);
		if (value && *value)
			return value;
	}
	return "recording";
}

const char *profile_origin_meta(const struct profile *profile, uint32_t origin, const char *key)
{
	const struct profile_origin *it = &profile->origins.data[origin];
	if (!origin)
		return profile_meta(profile, key);
	for (uint32_t i = 0; i < it->info.nr_meta; i++)
		if (strcmp(it->meta[i].key, key) == 0)
			return it->meta[i].value;
	return NULL;
}

bool profile_event_is_counted(const struct profile *profile, const struct profile_event *event)
{
	vec_each(&profile->sources, source)
		if (event->source && strcmp(source->name, event->source) == 0)
			return true;
	return false;
}

size_t profile_nr_origins(const struct profile *profile)
{
	return profile->origins.len ? profile->origins.len - 1 : 0;
}

bool profile_has_ended(const struct profile *profile, uint32_t thread)
{
	uint32_t process = profile->threads.data[thread].process;
	uint32_t origin = profile->processes.data[process].info.origin;
	bool is_merged = origin && origin < profile->origins.len;
	enum layout_end_reason reason =
		is_merged ? profile->origins.data[origin].info.reason : profile->end.reason;
	const char *target =
		profile_origin_meta(profile, is_merged ? origin : 0, LAYOUT_META_TARGET);
	bool is_command = target && strcmp(target, LAYOUT_TARGET_COMMAND) == 0;
	return reason == LAYOUT_END_TARGET || (reason == LAYOUT_END_COMMAND && is_command);
}

const char *profile_thread_origin(const struct profile *profile, uint32_t thread)
{
	uint32_t process = profile->threads.data[thread].process;
	return profile->origins.data[profile->processes.data[process].info.origin].name;
}

bool profile_has_several_boots(const struct profile *profile)
{
	for (size_t i = 2; i < profile->origins.len; i++)
		if (profile->origins.data[i].boot != profile->origins.data[1].boot)
			return true;
	return false;
}

uint64_t profile_process_key(const struct profile *profile, uint32_t process)
{
	const struct layout_process *it = &profile->processes.data[process].info;
	uint64_t start_ns = it->start_ns;
	uint32_t boot = it->origin;
	if (boot && start_ns)
		boot = profile->origins.data[boot].boot;
	return map_mix(boot ? map_mix(boot) ^ start_ns : start_ns) ^ it->pid;
}

uint64_t profile_thread_key(const struct profile *profile, uint32_t thread)
{
	const struct profile_thread *it = &profile->threads.data[thread];
	uint64_t key = profile_process_key(profile, it->process);
	return map_mix(map_mix(key) ^ it->tid);
}

uint32_t profile_main_program(const struct profile *profile)
{
	CLEANUP_FREE uint64_t *samples = mem_zalloc_array(profile->processes.len, sizeof(*samples));
	uint32_t best = 0;
	vec_each(&profile->samples, sample)
		samples[profile->threads.data[sample->thread].process]++;
	for (uint32_t i = 1; i < profile->processes.len; i++)
		if (profile->processes.data[i].info.exe && (!best || samples[i] > samples[best]))
			best = i;
	return best ? profile->processes.data[best].info.exe : 0;
}

bool profile_object_is_kernel(const struct profile_object *object)
{
	enum layout_object_kind kind = object->info.kind;
	return kind == LAYOUT_OBJECT_KERNEL || kind == LAYOUT_OBJECT_MODULE ||
	       kind == LAYOUT_OBJECT_BPF;
}

bool profile_is_kernel(const struct profile *profile, uint32_t object)
{
	return profile_object_is_kernel(&profile->objects.data[object]);
}

double profile_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

double profile_duration_s(const struct profile *profile)
{
	return (double)(profile->last_ns - profile->first_ns) / 1e9;
}

size_t profile_nr_sources(const struct profile *profile)
{
	return FIRST_SOURCES + profile->sources.len;
}

uint64_t profile_source_count(
	const struct profile *profile, size_t source, enum layout_event_counter counter)
{
	if (source >= FIRST_SOURCES)
		return profile->sources.data[source - FIRST_SOURCES].tallies[counter].count;
	enum layout_counter number = first_sources[source].counters[counter];
	return number ? profile->counters[number] : 0;
}

uint64_t profile_source_lost(const struct profile *profile, size_t source)
{
	return profile_source_count(profile, source, LAYOUT_EVENTS_LOST_RING) +
	       profile_source_count(profile, source, LAYOUT_EVENTS_LOST_BUSY) +
	       profile_source_count(profile, source, LAYOUT_EVENTS_LOST_UNRESOLVED) +
	       profile_source_count(profile, source, LAYOUT_EVENTS_LOST_WRITE);
}

bool profile_event_lost(
	const struct profile *profile, const struct profile_event *event, uint64_t *ret)
{
	for (size_t i = 0; event->source && i < profile->sources.len; i++)
		if (strcmp(profile->sources.data[i].name, event->source) == 0) {
			*ret = profile_source_lost(profile, FIRST_SOURCES + i);
			return true;
		}
	return false;
}

uint64_t profile_lost(const struct profile *profile)
{
	uint64_t lost = 0;
	for (size_t i = 0; i < profile_nr_sources(profile); i++)
		lost += profile_source_lost(profile, i);
	return lost;
}

uint64_t profile_wall_ns(const struct profile *profile, uint64_t monotonic_ns)
{
	const struct layout_clock *anchor = &profile->first_clock;
	return anchor->realtime_ns ? anchor->realtime_ns + (monotonic_ns - anchor->monotonic_ns)
				   : 0;
}

bool profile_event_has(const struct profile *profile, uint32_t shown, uint32_t event)
{
	const struct profile_event *it = &profile->events.data[event];
	return event == shown || (shown && (it->first == shown || it->part_of == shown));
}

uint64_t profile_sample_value(const struct profile *profile, const struct profile_sample *sample)
{
	const struct profile_event *event = &profile->events.data[sample->event];
	return sample->weight * (event->period ? event->period : 1);
}

uint64_t profile_weight_as(
	const struct profile *profile, uint32_t shown, const struct profile_sample *sample)
{
	uint64_t period = profile->events.data[shown].period;
	if (sample->event == shown)
		return sample->weight;
	uint64_t value = profile_sample_value(profile, sample);
	return period ? value / period : value;
}

struct profile_walk profile_walk(const struct profile *profile, uint32_t stack)
{
	const struct profile_stack *it = &profile->stacks.data[stack];
	return (struct profile_walk){
		.profile = profile, .kernel = it->kernel, .user = it->user, .root = it->root};
}

uint32_t profile_walk_recorded(struct profile_walk *walk)
{
	for (;;) {
		uint32_t *node = walk->kernel ? &walk->kernel
				 : walk->user ? &walk->user
					      : &walk->root;
		if (!*node)
			return 0;
		const struct layout_node *it = &walk->profile->nodes.data[*node];
		*node = it->parent;
		if (it->frame) /* 0: damage took it, go on with its caller */
			return it->frame;
	}
}

uint32_t profile_walk_next(struct profile_walk *walk)
{
	const struct profile_frame *frames = walk->profile->frames.data;
	uint32_t frame = walk->outer;
	if (!frame) {
		uint32_t recorded = profile_walk_recorded(walk);
		frame = frames[recorded].innermost ? frames[recorded].innermost : recorded;
	}
	walk->outer = frames[frame].outer;
	return frame;
}

enum layout_truncation profile_stack_truncation(const struct profile *profile, uint32_t stack)
{
	uint32_t node = profile->stacks.data[stack].user, root = 0;
	for (; node; node = profile->nodes.data[node].parent)
		root = node;
	if (!root)
		return LAYOUT_COMPLETE;
	const struct profile_frame *frame = &profile->frames.data[profile->nodes.data[root].frame];
	return frame->object ? LAYOUT_COMPLETE : (enum layout_truncation)frame->offset;
}

uint32_t profile_add_node(
	struct profile *profile, struct map *known, uint32_t parent, uint32_t frame)
{
	bool added;
	uint64_t *node = map_put(known, (uint64_t)parent << 32 | frame, &added);
	if (added) {
		*node = profile->nodes.len;
		vec_push(&profile->nodes, (struct layout_node){parent, frame});
	}
	return (uint32_t)*node;
}
