#include "report/load_visitor.h"

#include <string.h>

#include "report/profile.h"
#include "report/profile_stacks.h"
#include "report/unwind/snapshots.h"

/* Ids grow by one but for holes that damage tore: those become placeholders. */
#define put_at(vec, id, ...) \
	do { \
		if ((id) >= (vec)->len) \
			vec_resize((vec), (size_t)(id) + 1); \
		(vec)->data[id] = (__VA_ARGS__); \
	} while (0)

static const char *string_at(struct profile *profile, uint32_t id)
{
	if (!id)
		return "";
	if (id < profile->strings.len && profile->strings.data[id].bytes)
		return profile->strings.data[id].bytes;
	profile->dangling++;
	return PROFILE_DAMAGED;
}

/* An id that may be 0 or lead nowhere: behind the table's end, or into a hole. */
static uint32_t checked(struct profile *profile, uint32_t id, bool is_there)
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
	return checked(profile, id, is_there(&profile->events, id, name));
}

static uint32_t checked_object(struct profile *profile, uint32_t id)
{
	return checked(profile, id, is_there(&profile->objects, id, path));
}

static uint32_t checked_origin(struct profile *profile, uint32_t id)
{
	return checked(profile, id, is_there(&profile->origins, id, name));
}

static uint32_t checked_process(struct profile *profile, uint32_t id)
{
	return checked(profile, id, is_there(&profile->processes, id, cgroup));
}

static uint32_t checked_thread(struct profile *profile, uint32_t id)
{
	return checked(profile, id, is_there(&profile->threads, id, comm));
}

static uint32_t checked_frame(struct profile *profile, uint32_t id)
{
	bool is_read = id < profile->frames.len &&
		       (profile->frames.data[id].object || profile->frames.data[id].offset);
	return checked(profile, id, is_read);
}

static uint32_t checked_node(struct profile *profile, uint32_t id)
{
	bool is_read = id < profile->nodes.len && profile->node_depths.data[id];
	return checked(profile, id, !id || is_read);
}

static void note_time(struct profile *profile, uint64_t time_ns)
{
	if (time_ns < profile->first_ns)
		profile->first_ns = time_ns;
	if (time_ns > profile->last_ns)
		profile->last_ns = time_ns;
}

static void on_meta(void *context, const char *key, size_t key_len, const char *value, size_t len)
{
	struct profile *profile = context;
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

static void on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	struct profile *profile = context;
	struct profile_string string = {
		.bytes = arena_strndup(&profile->arena, bytes, len),
		.len = (uint32_t)len,
	};
	put_at(&profile->strings, id, string);
}

static void on_event(void *context, uint32_t id, const struct layout_event *event)
{
	struct profile *profile = context;
	struct profile_event out = {
		.name = string_at(profile, event->name),
		.unit = string_at(profile, event->unit),
		.period = event->period,
		.frequency_hz = event->frequency_hz,
	};
	out.is_second = strcmp(out.name, LAYOUT_EVENT_SECOND) == 0;
	put_at(&profile->events, id, out);
}

static const char *last_part(const char *path)
{
	const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
	return slash && slash[1] ? slash + 1 : path;
}

/* The recorder calls it as the kernel does; [heap] and the like stay. */
static bool is_generated_code(const struct profile_object *object)
{
	return object->info.kind == LAYOUT_OBJECT_ANONYMOUS &&
	       (strcmp(object->path, LAYOUT_ANONYMOUS_PATH) == 0 ||
		       strcmp(object->path, "//anon") == 0);
}

static void on_object(void *context, uint32_t id, const struct layout_object *object)
{
	struct profile *profile = context;
	struct profile_object out = {.info = *object, .path = string_at(profile, object->path)};
	size_t bytes = object->nr_segments * sizeof(*object->segments);
	out.info.segments = NULL;
	if (bytes)
		out.info.segments =
			memcpy(arena_alloc(&profile->arena, bytes), object->segments, bytes);
	if (is_generated_code(&out))
		out.path = PROFILE_GENERATED_CODE;
	out.name = last_part(out.path);
	put_at(&profile->objects, id, out);
}

static const char *copy_text(struct profile *profile, const struct layout_text *text)
{
	return arena_strndup(&profile->arena, text->len ? text->bytes : "", text->len);
}

static void on_origin(void *context, uint32_t id, const struct layout_origin *origin)
{
	struct profile *profile = context;
	struct profile_meta *meta =
		arena_alloc(&profile->arena, (origin->nr_meta + 1) * sizeof(*meta));
	for (uint32_t i = 0; i < origin->nr_meta; i++) {
		meta[i].key = copy_text(profile, &origin->meta[i].key);
		meta[i].value = copy_text(profile, &origin->meta[i].value);
	}
	struct profile_origin out = {
		.name = copy_text(profile, &origin->name), .info = *origin, .meta = meta};
	out.info.name = (struct layout_text){0};
	out.info.meta = NULL;
	put_at(&profile->origins, id, out);
}

static void on_process(void *context, uint32_t id, const struct layout_process *process)
{
	struct profile *profile = context;
	struct profile_process out = {
		.info = *process,
		.cgroup = string_at(profile, process->cgroup),
		.container = string_at(profile, process->container),
	};
	out.info.exe = checked_object(profile, process->exe);
	out.info.origin = checked_origin(profile, process->origin);
	put_at(&profile->processes, id, out);
}

static void on_thread(void *context, uint32_t id, const struct layout_thread *thread)
{
	struct profile *profile = context;
	struct profile_thread out = {
		.process = checked_process(profile, thread->process),
		.tid = thread->tid,
		.comm = string_at(profile, thread->comm),
	};
	out.pid = profile->processes.data[out.process].info.pid;
	put_at(&profile->threads, id, out);
}

static void on_mapping(void *context, const struct layout_mapping *mapping)
{
	struct profile *profile = context;
	struct layout_mapping out = *mapping;
	out.process = checked_process(profile, mapping->process);
	out.object = checked_object(profile, mapping->object);
	vec_push(&profile->mappings, out);
}

static void on_frame(void *context, uint32_t id, const struct layout_frame *frame)
{
	struct profile *profile = context;
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

static void on_node(void *context, uint32_t id, const struct layout_node *node)
{
	struct profile *profile = context;
	struct layout_node out = {
		.parent = checked_node(profile, node->parent),
		.frame = checked_frame(profile, node->frame),
	};
	uint32_t depth = profile->node_depths.data[out.parent] + 1;
	if (depth > LAYOUT_MAX_DEPTH) { /* a root that says: cut, for reasons unknown */
		profile->dangling++;
		out = (struct layout_node){0};
		depth = 1;
	}
	put_at(&profile->nodes, id, out);
	put_at(&profile->node_depths, id, (uint16_t)depth);
	put_at(&profile->plain_stacks, id, 0);
}

static void on_snapshot(void *context, uint32_t id, const struct layout_snapshot *snapshot)
{
	struct profile *profile = context;
	struct layout_snapshot out = *snapshot;
	out.process = checked_process(profile, snapshot->process);
	if (!profile->snapshots)
		profile->snapshots = snapshots_create(profile, profile->options);
	snapshots_take(profile->snapshots, id, &out);
}

/* False: there is no such snapshot. */
static bool defer_sample(struct profile *profile, uint32_t snapshot, uint32_t user, uint32_t kernel)
{
	struct snapshots_sample waiting = {
		.index = profile->samples.len,
		.user = user,
		.kernel = kernel,
	};
	if (profile->snapshots && snapshots_defer(profile->snapshots, snapshot, &waiting))
		return true;
	profile->dangling++;
	return false;
}

/* Most samples are of user code alone, and of stacks that were there before. */
static bool find_plain_stack(
	const struct profile *profile, const struct layout_sample *sample, uint32_t *ret)
{
	if (sample->kernel_stack || sample->snapshot ||
		sample->user_stack >= profile->plain_stacks.len ||
		!profile->plain_stacks.data[sample->user_stack])
		return false;
	*ret = profile->plain_stacks.data[sample->user_stack] - 1;
	return true;
}

/* The stack of a snapshot is made once all is read: see join_snapshots(). */
static uint32_t stack_of_sample(struct profile *profile, const struct layout_sample *sample)
{
	uint32_t stack;
	if (find_plain_stack(profile, sample, &stack))
		return stack;
	uint32_t user = checked_node(profile, sample->user_stack);
	uint32_t kernel = checked_node(profile, sample->kernel_stack);
	if (sample->snapshot && defer_sample(profile, sample->snapshot, user, kernel))
		return 0;
	return profile_add_stack(profile, user, kernel);
}

static void on_sample(void *context, const struct layout_sample *sample)
{
	struct profile *profile = context;
	uint32_t event = checked_event(profile, sample->event);
	if (profile->events.data[event].is_second && !profile->options->with_second_samples) {
		profile->nr_second_samples++;
		return;
	}
	struct profile_sample out = {
		.time_ns = sample->time_ns,
		.weight = sample->weight,
		.thread = checked_thread(profile, sample->thread),
		.cpu = sample->cpu,
		.event = event,
		.stack = stack_of_sample(profile, sample),
	};
	note_time(profile, sample->time_ns);
	vec_push(&profile->samples, out);
}

static void on_symbol(void *context, const struct layout_symbol *symbol)
{
	struct profile *profile = context;
	struct profile_symbol out = {
		.object = checked_object(profile, symbol->object),
		.offset = symbol->offset,
		.size = symbol->size,
		.name = string_at(profile, symbol->name),
	};
	vec_push(&profile->symbols, out);
}

static void on_code(void *context, const struct layout_code *code)
{
	struct profile *profile = context;
	struct profile_code out = {
		.object = checked_object(profile, code->object),
		.order = (uint32_t)profile->codes.len,
		.offset = code->offset,
		.start = code->start,
		.time_ns = code->time_ns,
		.sure_ns = code->sure_ns,
		.name = string_at(profile, code->name),
		.file = code->file ? string_at(profile, code->file) : NULL,
		.line = code->line,
	};
	vec_push(&profile->codes, out);
}

static void on_unwound(void *context, const struct layout_unwound *unwound)
{
	struct profile *profile = context;
	uint32_t node = checked_node(profile, unwound->node);
	if (node)
		*map_put(&profile->archived_stacks, unwound->snapshot, NULL) = node;
}

static struct answers *on_answers(void *context, uint32_t object)
{
	struct profile *profile = context;
	object = checked_object(profile, object);
	return object ? &profile->objects.data[object].answers : NULL;
}

static void on_counter(void *context, const struct layout_counter_value *value)
{
	struct profile *profile = context;
	if ((unsigned)value->counter >= LAYOUT_COUNTER_COUNT)
		return; /* of a later version */
	*map_put(&profile->counter_values, (uint64_t)value->counter << 32 | value->cpu, NULL) =
		value->value;
}

static void on_clock(void *context, const struct layout_clock *clock)
{
	struct profile *profile = context;
	if (!profile->first_clock.monotonic_ns)
		profile->first_clock = *clock;
	profile->last_clock = *clock;
	note_time(profile, clock->monotonic_ns);
}

static void on_end(void *context, const struct layout_end *end)
{
	struct profile *profile = context;
	profile->end = *end;
	note_time(profile, end->time_ns);
}

static void on_progress(void *context, uint64_t file_bytes)
{
	const struct profile_options *options = ((struct profile *)context)->options;
	if (options->progress)
		options->progress(options->context, file_bytes);
}

const struct reader_visitor load_visitor = {
	.meta = on_meta,
	.string = on_string,
	.event = on_event,
	.origin = on_origin,
	.object = on_object,
	.process = on_process,
	.thread = on_thread,
	.mapping = on_mapping,
	.frame = on_frame,
	.node = on_node,
	.snapshot = on_snapshot,
	.sample = on_sample,
	.symbol = on_symbol,
	.code = on_code,
	.unwound = on_unwound,
	.answers = on_answers,
	.counter = on_counter,
	.clock = on_clock,
	.end = on_end,
	.progress = on_progress,
};
