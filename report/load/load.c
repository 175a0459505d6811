#include "report/load/load.h"

#include <string.h>
#include <sys/stat.h>

#include "format/base/path.h"
#include "format/file/reader.h"
#include "report/load/code_versions.h"
#include "report/load/event_sums.h"
#include "report/load/file_names.h"
#include "report/load/group_names.h"
#include "report/load/heap_peak.h"
#include "report/load/loading.h"
#include "report/load/script_objects.h"
#include "report/load/thread_entries.h"
#include "report/load/unwind/snapshots.h"
#include "report/model/sample_order.h"

const char load_file_head[] = LAYOUT_MAGIC;
_Static_assert(sizeof(load_file_head) == LOAD_FILE_HEAD_BYTES + 1, "its length");

/* ---- entities as they are read: every reference is checked once ---- */

/* Ids grow by one but for holes that damage tore: those become placeholders. */
#define put_at(vec, id, ...) \
	do { \
		if ((id) >= (vec)->len) \
			vec_resize((vec), (size_t)(id) + 1); \
		(vec)->data[id] = (__VA_ARGS__); \
	} while (0)

static const char *load_string_at(struct profile *profile, uint32_t id)
{
	if (!id)
		return "";
	if (id < profile->strings.len && profile->strings.data[id].bytes)
		return profile->strings.data[id].bytes;
	profile->dangling++;
	return PROFILE_DAMAGED;
}

/* An id that may be 0 or lead nowhere: behind the table's end, or into a hole. */
static uint32_t load_checked(struct profile *profile, uint32_t id, bool is_there)
{
	if (is_there)
		return id;
	profile->dangling++;
	return 0;
}

/* Whether the entity was read; `field` is NULL or 0 in holes alone. Index 0 is always there. */
#define is_there(vec, id, field) ((id) < (vec)->len && (vec)->data[id].field)

static uint32_t checked_event(struct profile *profile, uint32_t id)
{
	return load_checked(profile, id, is_there(&profile->events, id, name));
}

static uint32_t checked_object(struct profile *profile, uint32_t id)
{
	return load_checked(profile, id, is_there(&profile->objects, id, path));
}

static uint32_t checked_origin(struct profile *profile, uint32_t id)
{
	return load_checked(profile, id, is_there(&profile->origins, id, name));
}

static uint32_t checked_process(struct profile *profile, uint32_t id)
{
	return load_checked(profile, id, is_there(&profile->processes, id, cgroup));
}

static uint32_t checked_thread(struct profile *profile, uint32_t id)
{
	return load_checked(profile, id, is_there(&profile->threads, id, comm));
}

static uint32_t checked_frame(struct profile *profile, uint32_t id)
{
	bool is_read = id < profile->frames.len &&
		       (profile->frames.data[id].object || profile->frames.data[id].offset);
	return load_checked(profile, id, is_read);
}

static uint32_t checked_node(struct loading *loading, uint32_t id)
{
	struct profile *profile = loading->profile;
	bool is_read = id < profile->nodes.len && loading->node_depths.data[id];
	return load_checked(profile, id, !id || is_read);
}

static uint32_t checked_label(struct profile *profile, uint32_t id)
{
	return load_checked(profile, id, !id || is_there(&profile->labels, id, key));
}

static void note_time(struct profile *profile, uint64_t time_ns)
{
	if (time_ns < profile->first_ns)
		profile->first_ns = time_ns;
	if (time_ns > profile->last_ns)
		profile->last_ns = time_ns;
}

static struct profile *profile_of(void *context)
{
	return ((struct loading *)context)->profile;
}

static void load_on_meta(
	void *context, const char *key, size_t key_len, const char *value, size_t len)
{
	struct profile *profile = profile_of(context);
	struct profile_meta meta = {
		.key = arena_strndup(&profile->arena, key, key_len),
		.value = arena_strndup(&profile->arena, value, len),
	};
	vec_each(&profile->meta, old) {
		if (strcmp(old->key, meta.key) == 0) {
			*old = meta;
			return;
		}
	}
	vec_push(&profile->meta, meta);
}

static void load_on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	struct profile *profile = profile_of(context);
	struct profile_string string = {
		.bytes = arena_strndup(&profile->arena, bytes, len),
		.len = (uint32_t)len,
	};
	put_at(&profile->strings, id, string);
}

/* In profile->sources, plus 1; 0: it is none, or one too many. */
static size_t place_of_source(struct loading *loading, uint32_t source)
{
	struct profile *profile = loading->profile;
	const uint64_t *known = map_get(&loading->source_places, source);
	if (known || !source || profile->sources.len == LAYOUT_MAX_EVENTS)
		return known ? *known : 0;
	vec_push(&profile->sources,
		(struct profile_source){.name = load_string_at(profile, source)});
	return *map_put(&loading->source_places, source, NULL) = profile->sources.len;
}

static void load_on_event(void *context, uint32_t id, const struct layout_event *event)
{
	struct profile *profile = profile_of(context);
	size_t source = place_of_source(context, event->source);
	struct profile_event out = {
		.name = load_string_at(profile, event->name),
		.unit = load_string_at(profile, event->unit),
		.period = event->period,
		.frequency_hz = event->frequency_hz,
		.source = source ? profile->sources.data[source - 1].name : NULL,
	};
	out.is_second = strcmp(out.name, LAYOUT_EVENT_SECOND) == 0;
	put_at(&profile->events, id, out);
}

/* The recorder calls it as the kernel does; [heap] and the like stay. */
static bool is_generated_code(const struct profile_object *object)
{
	return object->info.kind == LAYOUT_OBJECT_ANONYMOUS &&
	       (strcmp(object->path, LAYOUT_ANONYMOUS_PATH) == 0 ||
		       strcmp(object->path, "//anon") == 0);
}

static void load_on_object(void *context, uint32_t id, const struct layout_object *object)
{
	struct profile *profile = profile_of(context);
	struct profile_object out = {
		.info = *object, .path = load_string_at(profile, object->path)};
	size_t bytes = object->nr_segments * sizeof(*object->segments);
	out.info.segments = NULL;
	if (bytes)
		out.info.segments =
			memcpy(arena_alloc(&profile->arena, bytes), object->segments, bytes);
	if (is_generated_code(&out))
		out.path = PROFILE_GENERATED_CODE;
	out.name = out.path[0] == '/' ? path_last_part(out.path) : out.path;
	put_at(&profile->objects, id, out);
}

static const char *load_copy_text(struct profile *profile, const struct layout_text *text)
{
	return arena_strndup(&profile->arena, text->len ? text->bytes : "", text->len);
}

static void load_on_origin(void *context, uint32_t id, const struct layout_origin *origin)
{
	struct profile *profile = profile_of(context);
	struct profile_meta *meta =
		arena_alloc(&profile->arena, (origin->nr_meta + 1) * sizeof(*meta));
	for (uint32_t i = 0; i < origin->nr_meta; i++) {
		meta[i].key = load_copy_text(profile, &origin->meta[i].key);
		meta[i].value = load_copy_text(profile, &origin->meta[i].value);
	}
	struct profile_origin out = {
		.name = load_copy_text(profile, &origin->name), .info = *origin, .meta = meta};
	out.info.name = (struct layout_text){0};
	out.info.meta = NULL;
	put_at(&profile->origins, id, out);
}

static void load_on_process(void *context, uint32_t id, const struct layout_process *process)
{
	struct profile *profile = profile_of(context);
	struct profile_process out = {
		.info = *process,
		.cgroup = load_string_at(profile, process->cgroup),
		.container = load_string_at(profile, process->container),
	};
	out.info.exe = checked_object(profile, process->exe);
	out.info.origin = checked_origin(profile, process->origin);
	put_at(&profile->processes, id, out);
}

static void load_on_thread(void *context, uint32_t id, const struct layout_thread *thread)
{
	struct profile *profile = profile_of(context);
	struct profile_thread out = {
		.process = checked_process(profile, thread->process),
		.tid = thread->tid,
		.comm = load_string_at(profile, thread->comm),
		.kernel_name =
			thread->kernel_name ? load_string_at(profile, thread->kernel_name) : NULL,
	};
	out.pid = profile->processes.data[out.process].info.pid;
	put_at(&profile->threads, id, out);
}

static void load_on_mapping(void *context, const struct layout_mapping *mapping)
{
	struct profile *profile = profile_of(context);
	struct layout_mapping out = *mapping;
	out.process = checked_process(profile, mapping->process);
	out.object = checked_object(profile, mapping->object);
	vec_push(&profile->mappings, out);
}

static void load_on_frame(void *context, uint32_t id, const struct layout_frame *frame)
{
	struct profile *profile = profile_of(context);
	struct profile_frame out = {
		.object = checked_object(profile, frame->object),
		.offset = frame->offset,
		.flags = frame->flags,
	};
	if (frame->object && !out.object)
		out.offset = LAYOUT_TRUNCATED_UNKNOWN;
	if (!out.object && (!out.offset || out.offset >= LAYOUT_TRUNCATED_END))
		out.offset = LAYOUT_TRUNCATED_UNKNOWN; /* a cause of a later version */
	profile->objects.data[out.object].is_used = true;
	put_at(&profile->frames, id, out);
}

static void load_on_node(void *context, uint32_t id, const struct layout_node *node)
{
	struct loading *loading = context;
	struct profile *profile = loading->profile;
	struct layout_node out = {
		.parent = checked_node(loading, node->parent),
		.frame = checked_frame(profile, node->frame),
	};
	uint32_t depth = loading->node_depths.data[out.parent] + 1;
	if (depth > LAYOUT_MAX_DEPTH) { /* a root that says: cut, for reasons unknown */
		profile->dangling++;
		out = (struct layout_node){0};
		depth = 1;
	}
	put_at(&profile->nodes, id, out);
	put_at(&loading->node_depths, id, (uint16_t)depth);
	put_at(&loading->plain_stacks, id, 0);
}

static void load_on_snapshot(void *context, uint32_t id, const struct layout_snapshot *snapshot)
{
	struct loading *loading = context;
	struct profile *profile = loading->profile;
	struct layout_snapshot out = *snapshot;
	out.process = checked_process(profile, snapshot->process);
	if (!loading->snapshots)
		loading->snapshots = snapshots_create(loading);
	snapshots_take(loading->snapshots, id, &out);
}

/* False: there is no such snapshot. */
static bool defer_sample(struct loading *loading, uint32_t snapshot, uint32_t user, uint32_t kernel)
{
	struct profile *profile = loading->profile;
	struct snapshots_sample waiting = {
		.index = profile->samples.len,
		.user = user,
		.kernel = kernel,
	};
	if (loading->snapshots && snapshots_defer(loading->snapshots, snapshot, &waiting))
		return true;
	profile->dangling++;
	return false;
}

/* Most samples are of user code alone, and of stacks that were there before. */
static bool find_plain_stack(
	const struct loading *loading, const struct layout_sample *sample, uint32_t *ret)
{
	if (sample->kernel_stack || sample->snapshot ||
		sample->user_stack >= loading->plain_stacks.len ||
		!loading->plain_stacks.data[sample->user_stack])
		return false;
	*ret = loading->plain_stacks.data[sample->user_stack] - 1;
	return true;
}

/* The stack of a snapshot is made once all is read: see join_snapshots() below. */
static uint32_t stack_of_sample(struct loading *loading, const struct layout_sample *sample)
{
	uint32_t stack;
	if (find_plain_stack(loading, sample, &stack))
		return stack;
	uint32_t user = checked_node(loading, sample->user_stack);
	uint32_t kernel = checked_node(loading, sample->kernel_stack);
	if (sample->snapshot && defer_sample(loading, sample->snapshot, user, kernel))
		return 0;
	return loading_add_stack(loading, user, kernel);
}

/* The sum of all values fits into 64 bits, and so do those of any of them: no total can wrap
 * around. */
static uint64_t checked_weight(struct loading *loading, uint32_t event, uint64_t weight)
{
	uint64_t period = loading->profile->events.data[event].period, value, sum;
	if (__builtin_mul_overflow(weight, period ? period : 1, &value) ||
		__builtin_add_overflow(loading->value_sum, value, &sum)) {
		loading->profile->too_large++;
		return 0;
	}
	loading->value_sum = sum;
	return weight;
}

/* False: it is of a later version, or leads nowhere. */
static bool load_label_value(
	struct profile *profile, const struct layout_label *label, struct profile_label *out)
{
	uint32_t id = label->value > UINT32_MAX ? UINT32_MAX : (uint32_t)label->value;
	switch (label->kind) {
	case LAYOUT_LABEL_TEXT:
		out->text = load_string_at(profile, id);
		return true;
	case LAYOUT_LABEL_PLACE:
		out->value = checked_frame(profile, id);
		return out->value != 0;
	case LAYOUT_LABEL_NUMBER:
		out->value = label->value;
		return true;
	}
	return false;
}

/* About what it takes where it is written out. */
static uint64_t load_label_bytes(const struct profile *profile, const struct layout_label *label)
{
	enum {
		TYPICAL_BYTES = 32, /* of a number or a name, and what stands around it */
	};
	const struct profile_string *strings = profile->strings.data;
	uint64_t bytes = TYPICAL_BYTES;
	if (label->key < profile->strings.len)
		bytes += strings[label->key].len;
	if (label->kind == LAYOUT_LABEL_TEXT && label->value < profile->strings.len)
		bytes += strings[label->value].len;
	return bytes;
}

/* A label that cannot be had leaves the set that it was added to. */
static void load_on_label(void *context, uint32_t id, const struct layout_label *label)
{
	struct loading *loading = context;
	struct profile *profile = loading->profile;
	struct profile_label out = {
		.rest = checked_label(profile, label->rest),
		.kind = label->kind,
		.key = load_string_at(profile, label->key),
	};
	struct loading_labels size = loading->label_sets.data[out.rest];
	bool has_room = size.count < LAYOUT_MAX_LABELS;
	profile->dangling += !has_room;
	if (has_room && load_label_value(profile, label, &out)) {
		size.count++;
		size.bytes += load_label_bytes(profile, label);
	} else {
		out = profile->labels.data[out.rest];
	}
	put_at(&profile->labels, id, out);
	put_at(&loading->label_sets, id, size);
}

/*
 * Sets share their labels, so a file of a few bytes can describe sets whose texts together are
 * any length, and exporters write each out for each thread that has it.
 */
static uint32_t load_labels_of(struct loading *loading, uint32_t thread, uint32_t id)
{
	enum {
		BYTES_RATIO = 256,
		BYTES_FLOOR = 64 << 20,
	};
	struct profile *profile = loading->profile;
	uint32_t set = checked_label(profile, id);
	if (!set)
		return 0;
	bool added;
	map_put(&loading->label_uses, (uint64_t)thread << 32 | set, &added);
	uint64_t bytes = added ? loading->label_sets.data[set].bytes : 0;
	if (loading->label_bytes + bytes > BYTES_FLOOR + profile->file.file_bytes * BYTES_RATIO) {
		map_remove(&loading->label_uses, (uint64_t)thread << 32 | set);
		profile->dangling++;
		return 0;
	}
	loading->label_bytes += bytes;
	return set;
}

/* Its index in the profile. */
static uint32_t load_waker_of(struct loading *loading, const struct layout_sample *sample)
{
	struct profile *profile = loading->profile;
	while (sample->waker && profile->wakers.len <= PROFILE_WAKER_INTERRUPT)
		vec_push(&profile->wakers, (struct profile_waker){0});
	if (sample->waker <= LAYOUT_WAKER_INTERRUPT)
		return sample->waker;
	bool added;
	struct profile_waker waker = {
		.thread = checked_thread(profile, sample->waker - 1),
		.user = checked_node(loading, sample->waker_user_stack),
		.kernel = checked_node(loading, sample->waker_kernel_stack),
	};
	uint64_t *stacks =
		map_put(&loading->waker_stacks, (uint64_t)waker.user << 32 | waker.kernel, &added);
	if (added)
		*stacks = loading->waker_stacks.len;
	uint64_t *index = map_put(&loading->wakers, *stacks << 32 | waker.thread, &added);
	if (added) {
		*index = profile->wakers.len;
		vec_push(&profile->wakers, waker);
	}
	return (uint32_t)*index;
}

/* Stacks of a large recording are all over its tables. */
static void load_on_sample_soon(void *context, const struct layout_sample *sample)
{
	const struct loading *loading = context;
	uint32_t user = sample->user_stack;
	if (user >= loading->plain_stacks.len)
		return;
	if (!sample->kernel_stack) {
		__builtin_prefetch(&loading->plain_stacks.data[user]);
		return;
	}
	__builtin_prefetch(&loading->node_depths.data[user]);
	map_prefetch(&loading->stack_index, loading_stack_key(user, sample->kernel_stack));
}

/*
 * What a file says of what is in use, or was freed, is of the time of the allocation, which may
 * have been in an earlier file: that is no time of this one.
 */
static bool is_of_allocation_before(const struct profile *profile, uint32_t event)
{
	const char *source = profile->events.data[event].source;
	return source && (strncmp(source, "heap-used", strlen("heap-used")) == 0 ||
				 strcmp(source, "heap-lifetime") == 0);
}

/* Behind what needs the very times: in views nothing is older than the recording. */
static void bring_to_beginning(struct profile *profile)
{
	vec_each(&profile->samples, sample)
		if (sample->time_ns < profile->first_ns)
			sample->time_ns = profile->first_ns;
}

static void load_on_sample(void *context, const struct layout_sample *sample)
{
	struct loading *loading = context;
	struct profile *profile = loading->profile;
	uint32_t event = checked_event(profile, sample->event);
	if (profile->events.data[event].is_second && !loading->options->with_second_samples) {
		profile->nr_second_samples++;
		return;
	}
	uint32_t thread = checked_thread(profile, sample->thread);
	struct profile_sample out = {
		.time_ns = sample->time_ns,
		.weight = checked_weight(loading, event, sample->weight),
		.thread = thread,
		.cpu = (uint16_t)sample->cpu,
		.event = event & (LAYOUT_MAX_EVENTS - 1),
		.is_estimate = sample->measured && sample->measured != sample->weight,
		.stack = stack_of_sample(loading, sample),
		.labels = load_labels_of(loading, thread, sample->labels),
	};
	if (sample->time_ns >= profile->first_ns || !is_of_allocation_before(profile, event))
		note_time(profile, sample->time_ns);
	if (sample->syscall || sample->waker)
		vec_push(&loading->calls, (struct loading_call){profile->samples.len,
						  sample->syscall, load_waker_of(loading, sample)});
	vec_push(&profile->samples, out);
}

static void load_on_symbol(void *context, const struct layout_symbol *symbol)
{
	struct profile *profile = profile_of(context);
	struct profile_symbol out = {
		.object = checked_object(profile, symbol->object),
		.offset = symbol->offset,
		.size = symbol->size,
		.name = load_string_at(profile, symbol->name),
	};
	vec_push(&profile->symbols, out);
}

static void load_on_code(void *context, const struct layout_code *code)
{
	struct profile *profile = profile_of(context);
	struct profile_code out = {
		.object = checked_object(profile, code->object),
		.order = (uint32_t)profile->codes.len,
		.offset = code->offset,
		.start = code->start,
		.time_ns = code->time_ns,
		.sure_ns = code->sure_ns,
		.name = load_string_at(profile, code->name),
		.file = code->file ? load_string_at(profile, code->file) : NULL,
		.line = code->line,
	};
	vec_push(&profile->codes, out);
}

static void load_on_unwound(void *context, const struct layout_unwound *unwound)
{
	struct loading *loading = context;
	uint32_t node = checked_node(loading, unwound->node);
	if (node)
		*map_put(&loading->archived_stacks, unwound->snapshot, NULL) = node;
}

static struct chain_map *load_on_chains(void *context, uint32_t object)
{
	struct profile *profile = profile_of(context);
	object = checked_object(profile, object);
	return object ? &profile->objects.data[object].chains : NULL;
}

static void load_on_counter(void *context, const struct layout_counter_value *value)
{
	struct loading *loading = context;
	if ((unsigned)value->counter >= LAYOUT_COUNTER_COUNT)
		return; /* of a later version */
	*map_put(&loading->counter_values, (uint64_t)value->counter << 32 | value->cpu, NULL) =
		value->value;
}

static void load_on_event_tally(void *context, const struct layout_event_tally *tally)
{
	struct loading *loading = context;
	uint64_t source = place_of_source(loading, tally->source);
	if (!source || (unsigned)tally->counter >= LAYOUT_EVENT_COUNTER_COUNT)
		return; /* of a later version */
	uint64_t key = source << 32 | (uint64_t)tally->counter << 16 | tally->cpu;
	uint64_t *place = map_put(&loading->tally_places, key, NULL);
	if (!*place) {
		vec_push(&loading->tallies, (struct layout_tally){0});
		*place = loading->tallies.len;
	}
	loading->tallies.data[*place - 1] = (struct layout_tally){tally->count, tally->sum};
}

static void load_on_clock(void *context, const struct layout_clock *clock)
{
	struct profile *profile = profile_of(context);
	if (!profile->first_clock.monotonic_ns)
		profile->first_clock = *clock;
	profile->last_clock = *clock;
	note_time(profile, clock->monotonic_ns);
}

static void load_on_end(void *context, const struct layout_end *end)
{
	struct profile *profile = profile_of(context);
	profile->end = *end;
	note_time(profile, end->time_ns);
}

static void load_on_progress(void *context, uint64_t file_bytes)
{
	const struct profile_options *options = ((struct loading *)context)->options;
	if (options->progress)
		options->progress(options->context, file_bytes);
}

static const struct reader_visitor visitor = {
	.meta = load_on_meta,
	.string = load_on_string,
	.event = load_on_event,
	.origin = load_on_origin,
	.object = load_on_object,
	.process = load_on_process,
	.thread = load_on_thread,
	.mapping = load_on_mapping,
	.frame = load_on_frame,
	.node = load_on_node,
	.snapshot = load_on_snapshot,
	.label = load_on_label,
	.sample = load_on_sample,
	.sample_soon = load_on_sample_soon,
	.symbol = load_on_symbol,
	.code = load_on_code,
	.unwound = load_on_unwound,
	.chains = load_on_chains,
	.counter = load_on_counter,
	.event_tally = load_on_event_tally,
	.thread_times = loading_on_thread_times,
	.clock = load_on_clock,
	.end = load_on_end,
	.progress = load_on_progress,
};

/* ---- once all was read ---- */

/* The node of the whole user stack: as it was archived, or as it is found here. */
static uint32_t join_snapshot(struct loading *loading, const struct snapshots_sample *sample)
{
	const uint64_t *archived = map_get(&loading->archived_stacks, sample->snapshot);
	if (archived)
		return (uint32_t)*archived;
	struct layout_unwound unwound = {
		.snapshot = sample->snapshot,
		.node = snapshots_join(loading->snapshots, sample),
	};
	if (unwound.node != sample->user)
		vec_push(&loading->profile->unwound, unwound);
	return unwound.node;
}

/* New nodes stand behind all that the file has, so their callers do come first. */
static void join_snapshots(struct loading *loading)
{
	struct profile *profile = loading->profile;
	if (!loading->snapshots)
		return;
	snapshots_finish(loading->snapshots);
	size_t count;
	const struct snapshots_sample *waiting = snapshots_deferred(loading->snapshots, &count);
	for (size_t i = 0; i < count; i++)
		profile->samples.data[waiting[i].index].stack = loading_add_stack(
			loading, join_snapshot(loading, &waiting[i]), waiting[i].kernel);
	snapshots_destroy(loading->snapshots);
	loading->snapshots = NULL;
}

/* Stacks whose code changed from sample to sample become several. */
static void split_stacks(struct loading *loading)
{
	struct profile *profile = loading->profile;
	struct code_versions *versions = code_versions_create(loading);
	for (size_t i = 0; versions && i < profile->samples.len; i++) {
		struct profile_sample *sample = &profile->samples.data[i];
		struct profile_stack stack = profile->stacks.data[sample->stack];
		bool is_stale;
		uint32_t user =
			code_versions_node(versions, stack.user, sample->time_ns, &is_stale);
		profile->nr_stale += is_stale;
		if (user != stack.user)
			sample->stack = loading_add_stack(loading, user, stack.kernel);
	}
	code_versions_destroy(versions);
}

/* Samples of different system calls, or wakers, have different stacks. */
static void tell_calls_apart(struct loading *loading)
{
	struct profile *profile = loading->profile;
	struct map known = {0};
	vec_each(&loading->calls, call) {
		uint32_t *stack = &profile->samples.data[call->sample].stack;
		bool added;
		uint32_t kind = call->waker ? call->waker | 1U << 31 : call->syscall;
		uint64_t *found = map_put(&known, (uint64_t)*stack << 32 | kind, &added);
		if (added) {
			struct profile_stack copy = profile->stacks.data[*stack];
			copy.syscall = call->syscall;
			copy.waker = call->waker;
			*found = profile->stacks.len;
			vec_push(&profile->stacks, copy);
		}
		*stack = (uint32_t)*found;
	}
	map_deinit(&known);
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

static void sum_counters(struct loading *loading)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&loading->counter_values, &cursor));)
		loading->profile->counters[slot->key >> 32] += slot->value;
	map_deinit(&loading->counter_values);
}

static void sum_tallies(struct loading *loading)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&loading->tally_places, &cursor));) {
		const struct layout_tally *tally = &loading->tallies.data[slot->value - 1];
		size_t source = (slot->key >> 32) - 1, counter = slot->key >> 16 & UINT16_MAX;
		struct layout_tally *sum = &loading->profile->sources.data[source].tallies[counter];
		sum->count += tally->count;
		sum->sum += tally->sum;
	}
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
static void reserve_tables(struct loading *loading, int fd)
{
	struct profile *profile = loading->profile;
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
	vec_reserve(&loading->node_depths, nr_nodes);
	vec_reserve(&loading->plain_stacks, nr_nodes);
}

/* Index 0 of each table: what "none" and damaged references lead to. */
static void add_placeholders(struct loading *loading)
{
	struct profile *profile = loading->profile;
	vec_push(&profile->strings, (struct profile_string){.bytes = ""});
	vec_push(&profile->events, (struct profile_event){.name = "samples", .unit = "count"});
	vec_push(&profile->objects, (struct profile_object){.path = "", .name = ""});
	vec_push(&profile->origins, (struct profile_origin){.name = ""});
	vec_push(&profile->processes, (struct profile_process){.cgroup = "", .container = ""});
	vec_push(&profile->threads, (struct profile_thread){.comm = PROFILE_DAMAGED});
	vec_push(&profile->frames, (struct profile_frame){.offset = LAYOUT_TRUNCATED_UNKNOWN});
	vec_push(&profile->labels, (struct profile_label){.key = "", .text = ""});
	vec_push(&loading->label_sets, (struct loading_labels){0});
	vec_push(&profile->nodes, (struct layout_node){0});
	vec_push(&loading->node_depths, 0);
	vec_push(&loading->plain_stacks, 0);
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
	vec_each(&profile->labels, label) {
		if (!label->key)
			*label = (struct profile_label){.key = PROFILE_DAMAGED, .text = ""};
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

/* What is made of the recording once all of it was read. */
static void complete(struct loading *loading)
{
	struct profile *profile = loading->profile;
	if (profile->first_ns > profile->last_ns) /* there was nothing that has a time */
		profile->first_ns = 0;
	vec_each(&profile->objects, object)
		object->nr_archived = chain_map_count(&object->chains);
	join_snapshots(loading);
	profile->nr_unwound_frames = profile->frames.len;
	profile->nr_unwound_nodes = profile->nodes.len;
	script_objects_join(profile);
	split_stacks(loading);
	tell_calls_apart(loading);
	fill_holes(profile);
	thread_entries_settle(profile);
	group_names_find(profile);
	file_names_find(profile);
	sum_counters(loading);
	sum_tallies(loading);
	if (!loading->options->as_recorded)
		heap_peak_find(profile);
	bring_to_beginning(profile);
	event_sums_find(profile);
	find_programs(profile);
	if (!loading->options->leaves_order)
		sample_order_sort(profile->samples.data, profile->samples.len);
}

static void loading_deinit(struct loading *loading)
{
	snapshots_destroy(loading->snapshots);
	map_deinit(&loading->stack_index);
	map_deinit(&loading->archived_stacks);
	map_deinit(&loading->counter_values);
	map_deinit(&loading->source_places);
	map_deinit(&loading->tally_places);
	vec_deinit(&loading->calls);
	map_deinit(&loading->waker_stacks);
	map_deinit(&loading->wakers);
	vec_deinit(&loading->tallies);
	vec_deinit(&loading->node_depths);
	vec_deinit(&loading->label_sets);
	map_deinit(&loading->label_uses);
	vec_deinit(&loading->plain_stacks);
}

struct err *profile_load(int fd, const struct profile_options *options, struct profile **ret)
{
	static const struct profile_options usual = {0};
	struct profile *profile = mem_zalloc(sizeof(*profile));
	struct loading loading = {.profile = profile, .options = options ? options : &usual};
	profile->first_ns = UINT64_MAX;
	reserve_tables(&loading, fd);
	add_placeholders(&loading);
	struct err *err = reader_read(fd, &visitor, &loading, &profile->file);
	if (err) {
		profile_destroy(profile);
	} else {
		complete(&loading);
		*ret = profile;
	}
	loading_deinit(&loading);
	return err;
}
