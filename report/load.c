/* A whole recording as a profile: room for it, and what is made of it once all of it was read. */
#include <sys/stat.h>

#include "report/code_versions.h"
#include "report/load_visitor.h"
#include "report/profile.h"
#include "report/profile_stacks.h"
#include "report/sample_order.h"
#include "report/unwind/snapshots.h"

/* The node of the whole user stack: as it was archived, or as it is found here. */
static uint32_t join_snapshot(struct profile *profile, const struct snapshots_sample *sample)
{
	const uint64_t *archived = map_get(&profile->archived_stacks, sample->snapshot);
	if (archived)
		return (uint32_t)*archived;
	struct layout_unwound unwound = {
		.snapshot = sample->snapshot,
		.node = snapshots_join(profile->snapshots, sample),
	};
	if (unwound.node != sample->user)
		vec_push(&profile->unwound, unwound);
	return unwound.node;
}

/* New nodes stand behind all that the file has, so their callers do come first. */
static void join_snapshots(struct profile *profile)
{
	if (!profile->snapshots)
		return;
	snapshots_finish(profile->snapshots);
	size_t count;
	const struct snapshots_sample *waiting = snapshots_deferred(profile->snapshots, &count);
	for (size_t i = 0; i < count; i++)
		profile->samples.data[waiting[i].index].stack = profile_add_stack(
			profile, join_snapshot(profile, &waiting[i]), waiting[i].kernel);
	snapshots_destroy(profile->snapshots);
	profile->snapshots = NULL;
}

/* Stacks whose code changed from sample to sample become several. */
static void split_stacks(struct profile *profile)
{
	struct code_versions *versions = code_versions_create(profile);
	for (size_t i = 0; versions && i < profile->samples.len; i++) {
		struct profile_sample *sample = &profile->samples.data[i];
		struct profile_stack stack = profile->stacks.data[sample->stack];
		bool is_stale;
		uint32_t user =
			code_versions_node(versions, stack.user, sample->time_ns, &is_stale);
		profile->nr_stale += is_stale;
		if (user != stack.user)
			sample->stack = profile_add_stack(profile, user, stack.kernel);
	}
	code_versions_destroy(versions);
}

/*
 * A process that was written amid its exec has no program yet: that is, as for the recorder, the
 * file which is mapped lowest, below its libraries and its loader.
 */
static void find_programs(struct profile *profile)
{
	size_t count = profile->processes.len;
	CLEANUP_FREE uint64_t *lowest = mem_zalloc_array(count, sizeof(*lowest));
	CLEANUP_FREE bool *is_known = mem_zalloc_array(count, sizeof(*is_known));
	for (size_t i = 0; i < count; i++)
		is_known[i] = !i || profile->processes.data[i].info.exe;
	vec_each(&profile->mappings, mapping) {
		struct layout_process *process = &profile->processes.data[mapping->process].info;
		if (is_known[mapping->process] ||
			(process->exe && mapping->start >= lowest[mapping->process]) ||
			profile->objects.data[mapping->object].info.kind != LAYOUT_OBJECT_FILE)
			continue;
		process->exe = mapping->object;
		lowest[mapping->process] = mapping->start;
	}
}

static void sum_counters(struct profile *profile)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&profile->counter_values, &cursor));)
		profile->counters[slot->key >> 32] += slot->value;
	map_deinit(&profile->counter_values);
}

static size_t guess(uint64_t file_bytes, unsigned bytes_each, size_t max)
{
	uint64_t count = file_bytes / bytes_each;
	return count < max ? (size_t)count : max;
}

/*
 * Room for what a file of this size has of samples, if not more than usual, and so of the rest:
 * tables that grow are written again and again. Room that is not used costs nothing.
 */
static void reserve_tables(struct profile *profile, int fd)
{
	enum {
		MAX_SAMPLES = 2 << 20,
		MAX_FRAMES = 256 << 10,
		MAX_NODES = 1 << 20,
	};
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	uint64_t bytes = (uint64_t)st.st_size;
	size_t nr_nodes = guess(bytes, 16, MAX_NODES), nr_frames = guess(bytes, 24, MAX_FRAMES);
	vec_reserve(&profile->samples, guess(bytes, 4, MAX_SAMPLES));
	vec_reserve(&profile->frames, nr_frames);
	vec_reserve(&profile->functions, nr_frames); /* as long as there are but addresses */
	vec_reserve(&profile->nodes, nr_nodes);
	vec_reserve(&profile->node_depths, nr_nodes);
	vec_reserve(&profile->plain_stacks, nr_nodes);
}

/* Index 0 of each table: what "none" and damaged references lead to. */
static void add_placeholders(struct profile *profile)
{
	vec_push(&profile->strings, (struct profile_string){.bytes = ""});
	vec_push(&profile->events, (struct profile_event){.name = "samples", .unit = "count"});
	vec_push(&profile->objects, (struct profile_object){.path = "", .name = ""});
	vec_push(&profile->origins, (struct profile_origin){.name = ""});
	vec_push(&profile->processes, (struct profile_process){.cgroup = "", .container = ""});
	vec_push(&profile->threads, (struct profile_thread){.comm = PROFILE_DAMAGED});
	vec_push(&profile->frames, (struct profile_frame){.offset = LAYOUT_TRUNCATED_UNKNOWN});
	vec_push(&profile->nodes, (struct layout_node){0});
	vec_push(&profile->node_depths, 0);
	vec_push(&profile->plain_stacks, 0);
	vec_push(&profile->functions,
		(struct profile_function){.name = PROFILE_DAMAGED, .system_name = PROFILE_DAMAGED});
}

/* Holes in the tables hold zeros: give them texts to show. */
static void fill_holes(struct profile *profile)
{
	vec_each(&profile->strings, string) {
		if (!string->bytes)
			*string = (struct profile_string){
				PROFILE_DAMAGED, sizeof(PROFILE_DAMAGED) - 1};
	}
	vec_each(&profile->frames, frame) {
		if (!frame->object && !frame->offset)
			frame->offset = LAYOUT_TRUNCATED_UNKNOWN;
	}
	vec_each(&profile->objects, object) {
		if (!object->path)
			object->path = object->name = PROFILE_DAMAGED;
	}
	vec_each(&profile->origins, origin) {
		if (!origin->name)
			origin->name = PROFILE_DAMAGED;
	}
	vec_each(&profile->processes, process) {
		if (!process->cgroup)
			process->cgroup = process->container = "";
	}
	vec_each(&profile->threads, thread) {
		if (!thread->comm)
			thread->comm = PROFILE_DAMAGED;
	}
	vec_each(&profile->events, event) {
		if (!event->name)
			event->name = event->unit = PROFILE_DAMAGED;
	}
}

struct err *profile_load(int fd, const struct profile_options *options, struct profile **ret)
{
	static const struct profile_options usual = {0};
	struct profile *profile = mem_zalloc(sizeof(*profile));
	profile->first_ns = UINT64_MAX;
	profile->options = options ? options : &usual;
	reserve_tables(profile, fd);
	add_placeholders(profile);
	struct err *err = reader_read(fd, &load_visitor, profile, &profile->file);
	if (err) {
		profile_destroy(profile);
		return err;
	}
	if (profile->first_ns > profile->last_ns) /* there was nothing that has a time */
		profile->first_ns = 0;
	vec_each(&profile->objects, object)
		object->nr_archived = answers_count(&object->answers);
	join_snapshots(profile);
	profile->nr_unwound_frames = profile->frames.len;
	profile->nr_unwound_nodes = profile->nodes.len;
	split_stacks(profile);
	fill_holes(profile);
	find_programs(profile);
	sum_counters(profile);
	if (!profile->options->leaves_order)
		sample_order_sort(profile->samples.data, profile->samples.len);
	map_deinit(&profile->stack_index);
	map_deinit(&profile->archived_stacks);
	vec_deinit(&profile->node_depths);
	vec_deinit(&profile->plain_stacks);
	*ret = profile;
	return NULL;
}
