#include "format/merge/merge_copy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"

enum {
	FLUSH_BYTES = 4 << 20, /* of what waits, so that each kind fits into a chunk */
};

static const char damaged[] = "[damaged]";

static void keep_id(struct merge_ids *ids, uint32_t id, uint32_t out)
{
	if (id >= ids->len)
		vec_resize(ids, (size_t)id + 1);
	ids->data[id] = out;
}

static uint32_t id_of(struct merge_copy *copy, const struct merge_ids *ids, uint32_t id)
{
	if (!id)
		return 0;
	uint32_t out = id < ids->len ? ids->data[id] : 0;
	copy->source->result->dangling += !out;
	return out;
}

/* Of an id in 64 bits; one that cannot be leads nowhere. */
static uint32_t merge_id_of_value(uint64_t value)
{
	return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint32_t merge_copy_string_of(struct merge_copy *copy, uint32_t id)
{
	uint32_t out = id_of(copy, &copy->strings, id);
	return id && !out ? writer_string(copy->writer, damaged, strlen(damaged)) : out;
}

static uint64_t time_of(const struct merge_copy *copy, uint64_t time_ns)
{
	return time_ns + copy->source->shift_ns;
}

static void note_end(struct merge_copy *copy, uint64_t time_ns)
{
	if (time_ns > copy->source->to_ns)
		time_ns = copy->source->to_ns;
	if (time_ns > copy->end_ns)
		copy->end_ns = time_ns;
}

static void merge_copy_flush_some(struct merge_copy *copy)
{
	if (writer_bytes_pending(copy->writer) <= FLUSH_BYTES)
		return;
	struct err *err = writer_flush(copy->writer); /* also after a failure: it drops things */
	if (copy->err)
		err_destroy(err);
	else
		copy->err = err;
}

/* Whether the bytes are new to the table; *id is theirs. */
static bool intern(struct strtab *table, const void *bytes, size_t len, uint32_t *id)
{
	size_t count = table->entries.len;
	*id = strtab_intern(table, bytes, len) + 1;
	return table->entries.len > count;
}

/* ---- entities ---- */

static void merge_copy_on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	struct merge_copy *copy = context;
	keep_id(&copy->strings, id, writer_string(copy->writer, len ? bytes : "", len));
	if (len == strlen(LAYOUT_UNIT_HITS) && memcmp(bytes, LAYOUT_UNIT_HITS, len) == 0)
		copy->unit_of_hits = id;
}

/* `source`: the event's, a string of the output. */
static uint32_t counted_as(
	const struct merge_copy *copy, const struct layout_event *event, uint32_t source)
{
	bool are_hits = event->unit && event->unit == copy->unit_of_hits;
	if (source)
		return MERGE_OTHER_SOURCE + source;
	return MERGE_FIRST_SOURCE + (are_hits ? FIRST_SOURCE_PROBE : FIRST_SOURCE_TIMER);
}

static void merge_copy_on_event(void *context, uint32_t id, const struct layout_event *event)
{
	struct merge_copy *copy = context;
	struct layout_event out = *event;
	out.name = merge_copy_string_of(copy, event->name);
	out.unit = merge_copy_string_of(copy, event->unit);
	out.source = merge_copy_string_of(copy, event->source);
	uint64_t key[] = {
		(uint64_t)out.name << 32 | out.unit, out.source, out.period, out.frequency_hz};
	uint32_t out_id;
	if (intern(&copy->events, key, sizeof(key), &out_id) && out_id <= LAYOUT_MAX_EVENTS)
		writer_event(copy->writer, &out);
	keep_id(&copy->source_events, id, out_id <= LAYOUT_MAX_EVENTS ? out_id : 0);
	keep_id(&copy->counted_as, id, counted_as(copy, event, out.source));
}

/* What tells apart things that have equal paths: the boot, or no more than the file itself. */
static void put_whence(const struct merge_copy *copy, uint32_t id,
	const struct layout_object *object, struct bytes_buf *key)
{
	const struct merge_source *source = copy->source;
	bool is_of_source = object->kind == LAYOUT_OBJECT_ANONYMOUS;
	bool is_of_boot = object->kind == LAYOUT_OBJECT_BPF;
	if (!object->build_id_len) {
		is_of_boot = true;
		is_of_source |= !object->mtime_ns && object->kind != LAYOUT_OBJECT_KERNEL &&
				object->kind != LAYOUT_OBJECT_MODULE &&
				object->kind != LAYOUT_OBJECT_BPF;
		bytes_put_varint(key, object->inode);
		bytes_put_varint(key, object->mtime_ns);
		bytes_put_varint(key, object->device);
	}
	if (is_of_boot && source->boot)
		bytes_put_blob(key, source->boot->bytes, source->boot->len);
	else if (is_of_boot)
		is_of_source = true;
	if (is_of_source) {
		bytes_put_varint(key, source->number);
		bytes_put_varint(key, id); /* it may have been merged of several */
	}
}

/*
 * The same code: the same kind, flags, path, build ID and segments. Without a build ID the file's
 * times have to be the same, and the boot; where there is nothing to compare, for the code of JIT
 * compilers, of which each program image has its own, and for scripts, whose functions each
 * recorder numbers for itself, no object is another.
 */
static void merge_copy_put_identity(const struct merge_copy *copy, uint32_t id,
	const struct layout_object *object, struct bytes_buf *key)
{
	bytes_put_varint(key, object->kind);
	bytes_put_varint(key, object->flags);
	bytes_put_varint(key, object->path);
	bytes_put_blob(key, object->build_id, object->build_id_len);
	bytes_put_varint(key, object->base);
	bytes_put_varint(key, object->size_bytes);
	for (uint32_t i = 0; i < object->nr_segments; i++) {
		bytes_put_varint(key, object->segments[i].vaddr);
		bytes_put_varint(key, object->segments[i].offset);
		bytes_put_varint(key, object->segments[i].filesz);
		bytes_put_varint(key, object->segments[i].memsz);
		bytes_put_varint(key, object->segments[i].flags);
	}
	put_whence(copy, id, object, key);
}

static void merge_copy_on_object(void *context, uint32_t id, const struct layout_object *object)
{
	struct merge_copy *copy = context;
	struct layout_object out = *object;
	struct bytes_buf key = {0};
	uint32_t out_id;
	out.path = merge_copy_string_of(copy, object->path);
	merge_copy_put_identity(copy, id, &out, &key);
	if (intern(&copy->objects, key.data, key.len, &out_id))
		writer_object(copy->writer, &out);
	keep_id(&copy->source_objects, id, out_id);
	bytes_buf_deinit(&key);
}

static uint32_t merge_copy_origin_of(const struct merge_source *source, uint32_t id)
{
	size_t first = 0, end = source->origins.len; /* in ascending order */
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (source->origins.data[middle].id < id)
			first = middle + 1;
		else
			end = middle;
	}
	if (first < source->origins.len && source->origins.data[first].id == id)
		return source->origins.data[first].out_id;
	return source->origins.len ? 0 : source->self.out_id;
}

/* Whether what is equal in two pieces stands in the output already. */
static bool is_joined(const struct merge_copy *copy, const struct layout_process *process)
{
	return copy->are_pieces && process->start_ns;
}

static uint32_t write_process(struct merge_copy *copy, const struct layout_process *out)
{
	if (!is_joined(copy, out))
		return writer_process(copy->writer, out);
	uint64_t key[] = {(uint64_t)out->pid << 32 | out->ns_pid, out->start_ns,
		(uint64_t)out->parent_pid << 32 | out->exe,
		(uint64_t)out->cgroup << 32 | out->container, out->origin};
	uint32_t place;
	if (intern(&copy->joined_processes, key, sizeof(key), &place))
		vec_push(&copy->joined_process_ids, writer_process(copy->writer, out));
	return copy->joined_process_ids.data[place - 1];
}

static void merge_copy_on_process(void *context, uint32_t id, const struct layout_process *process)
{
	struct merge_copy *copy = context;
	struct layout_process out = *process;
	out.exe = id_of(copy, &copy->source_objects, process->exe);
	out.cgroup = merge_copy_string_of(copy, process->cgroup);
	out.container = merge_copy_string_of(copy, process->container);
	out.origin = merge_copy_origin_of(copy->source, process->origin);
	keep_id(&copy->processes, id, write_process(copy, &out));
	merge_copy_flush_some(copy);
}

/* So that a sample has its origin, though damage took its process or thread. */
static uint32_t lost_process(struct merge_copy *copy)
{
	struct layout_process process = {.origin = merge_source_origin(copy->source, 0)->out_id};
	if (!copy->lost_process)
		copy->lost_process = writer_process(copy->writer, &process);
	return copy->lost_process;
}

static uint32_t lost_thread(struct merge_copy *copy)
{
	if (copy->lost_thread)
		return copy->lost_thread;
	struct layout_thread thread = {
		.process = lost_process(copy),
		.comm = writer_string(copy->writer, damaged, strlen(damaged)),
	};
	copy->lost_thread = writer_thread(copy->writer, &thread);
	return copy->lost_thread;
}

/* A process that stands once has threads that do. */
static uint32_t write_thread(struct merge_copy *copy, const struct layout_thread *out)
{
	if (!copy->are_pieces)
		return writer_thread(copy->writer, out);
	uint64_t key[] = {(uint64_t)out->process << 32 | out->tid,
		(uint64_t)out->kernel_name << 32 | out->comm};
	uint32_t place;
	if (intern(&copy->joined_threads, key, sizeof(key), &place))
		vec_push(&copy->joined_thread_ids, writer_thread(copy->writer, out));
	return copy->joined_thread_ids.data[place - 1];
}

static void merge_copy_on_thread(void *context, uint32_t id, const struct layout_thread *thread)
{
	struct merge_copy *copy = context;
	struct layout_thread out = *thread;
	out.process = id_of(copy, &copy->processes, thread->process);
	if (!out.process)
		out.process = lost_process(copy);
	out.comm = merge_copy_string_of(copy, thread->comm);
	out.kernel_name = merge_copy_string_of(copy, thread->kernel_name);
	keep_id(&copy->threads, id, write_thread(copy, &out));
	merge_copy_flush_some(copy);
}

static void merge_copy_on_mapping(void *context, const struct layout_mapping *mapping)
{
	struct merge_copy *copy = context;
	struct layout_mapping out = *mapping;
	out.process = id_of(copy, &copy->processes, mapping->process);
	out.object = id_of(copy, &copy->source_objects, mapping->object);
	out.time_ns = time_of(copy, mapping->time_ns);
	writer_mapping(copy->writer, &out);
	merge_copy_flush_some(copy);
}

static void merge_copy_on_frame(void *context, uint32_t id, const struct layout_frame *frame)
{
	struct merge_copy *copy = context;
	struct layout_frame out = *frame;
	out.object = id_of(copy, &copy->source_objects, frame->object);
	if (frame->object && !out.object)
		out.offset = LAYOUT_TRUNCATED_UNKNOWN;
	uint64_t key[] = {out.object, out.offset, out.flags};
	uint32_t out_id;
	if (intern(&copy->frames, key, sizeof(key), &out_id))
		writer_frame(copy->writer, &out);
	keep_id(&copy->source_frames, id, out_id);
	merge_copy_flush_some(copy);
}

static void merge_copy_on_node(void *context, uint32_t id, const struct layout_node *node)
{
	struct merge_copy *copy = context;
	struct layout_node out = {
		.parent = id_of(copy, &copy->source_nodes, node->parent),
		.frame = id_of(copy, &copy->source_frames, node->frame),
	};
	bool added;
	uint64_t *out_id = map_put(&copy->nodes, (uint64_t)out.parent << 32 | out.frame, &added);
	if (added)
		*out_id = writer_node(copy->writer, &out);
	keep_id(&copy->source_nodes, id, (uint32_t)*out_id);
	merge_copy_flush_some(copy);
}

/* ---- samples ---- */

static void merge_copy_on_snapshot(
	void *context, uint32_t id, const struct layout_snapshot *snapshot)
{
	struct merge_copy *copy = context;
	struct layout_snapshot out = *snapshot;
	out.process = id_of(copy, &copy->processes, snapshot->process);
	out.time_ns = time_of(copy, snapshot->time_ns);
	keep_id(&copy->snapshots, id, writer_snapshot(copy->writer, &out));
	merge_copy_flush_some(copy);
}

/* False: it is of a later version, and may refer to what has another id in the output. */
static bool merge_copy_label_value(struct merge_copy *copy, struct layout_label *label)
{
	switch (label->kind) {
	case LAYOUT_LABEL_TEXT:
		label->value = merge_copy_string_of(copy, merge_id_of_value(label->value));
		return true;
	case LAYOUT_LABEL_PLACE:
		label->value = id_of(copy, &copy->source_frames, merge_id_of_value(label->value));
		return label->value != 0;
	case LAYOUT_LABEL_NUMBER:
		return true;
	}
	return false;
}

static void merge_copy_on_label(void *context, uint32_t id, const struct layout_label *label)
{
	struct merge_copy *copy = context;
	struct layout_label out = *label;
	out.rest = id_of(copy, &copy->source_labels, label->rest);
	out.key = merge_copy_string_of(copy, label->key);
	if (!merge_copy_label_value(copy, &out)) {
		keep_id(&copy->source_labels, id, out.rest);
		return;
	}
	uint64_t key[] = {(uint64_t)out.rest << 32 | out.key, out.kind, out.value};
	uint32_t out_id;
	if (intern(&copy->labels, key, sizeof(key), &out_id))
		writer_label(copy->writer, &out);
	keep_id(&copy->source_labels, id, out_id);
	merge_copy_flush_some(copy);
}

static void count_sample(
	struct merge_copy *copy, const struct layout_sample *sample, struct merge_samples *counted)
{
	const struct merge_ids *ids = &copy->counted_as;
	uint32_t known = sample->event < ids->len ? ids->data[sample->event] : 0;
	uint32_t source = known ? known : MERGE_FIRST_SOURCE + FIRST_SOURCE_TIMER;
	if (source >= counted->len)
		vec_resize(counted, (size_t)source + 1);
	struct layout_tally *samples = &counted->data[source];
	samples->count++;
	samples->sum += source < MERGE_OTHER_SOURCE ? 0 : layout_sample_measured(sample);
}

static void merge_copy_on_sample(void *context, const struct layout_sample *sample)
{
	struct merge_copy *copy = context;
	struct layout_sample out = *sample;
	out.time_ns = time_of(copy, sample->time_ns);
	if (out.time_ns < copy->source->from_ns || out.time_ns >= copy->source->to_ns) {
		count_sample(copy, sample, &copy->left_out);
		return;
	}
	out.event = id_of(copy, &copy->source_events, sample->event);
	out.thread = id_of(copy, &copy->threads, sample->thread);
	if (!out.thread)
		out.thread = lost_thread(copy);
	out.user_stack = id_of(copy, &copy->source_nodes, sample->user_stack);
	out.kernel_stack = id_of(copy, &copy->source_nodes, sample->kernel_stack);
	out.snapshot = id_of(copy, &copy->snapshots, sample->snapshot);
	out.labels = id_of(copy, &copy->source_labels, sample->labels);
	if (sample->waker > LAYOUT_WAKER_INTERRUPT) {
		uint32_t waker = id_of(copy, &copy->threads, sample->waker - 1);
		out.waker = waker ? waker + 1 : LAYOUT_WAKER_UNKNOWN;
	}
	out.waker_user_stack = id_of(copy, &copy->source_nodes, sample->waker_user_stack);
	out.waker_kernel_stack = id_of(copy, &copy->source_nodes, sample->waker_kernel_stack);
	writer_sample(copy->writer, &out);
	count_sample(copy, sample, &copy->samples);
	copy->source->result->samples++;
	note_end(copy, out.time_ns);
	merge_copy_flush_some(copy);
}

static void merge_copy_on_unwound(void *context, const struct layout_unwound *unwound)
{
	struct merge_copy *copy = context;
	struct layout_unwound out = {
		.snapshot = id_of(copy, &copy->snapshots, unwound->snapshot),
		.node = id_of(copy, &copy->source_nodes, unwound->node),
	};
	if (out.snapshot && out.node)
		writer_unwound(copy->writer, &out);
	merge_copy_flush_some(copy);
}

/* ---- names ---- */

static void merge_copy_on_symbol(void *context, const struct layout_symbol *symbol)
{
	struct merge_copy *copy = context;
	struct layout_symbol out = *symbol;
	out.object = id_of(copy, &copy->source_objects, symbol->object);
	out.name = merge_copy_string_of(copy, symbol->name);
	uint64_t key[] = {(uint64_t)out.object << 32 | out.name, out.offset, out.size};
	uint32_t number;
	if (out.object && intern(&copy->symbols, key, sizeof(key), &number))
		writer_symbol(copy->writer, &out);
	merge_copy_flush_some(copy);
}

static void merge_copy_on_code(void *context, const struct layout_code *code)
{
	struct merge_copy *copy = context;
	struct layout_code out = *code;
	out.object = id_of(copy, &copy->source_objects, code->object);
	out.time_ns = code->time_ns ? time_of(copy, code->time_ns) : 0;
	bool has_end = code->sure_ns && code->sure_ns != UINT64_MAX;
	out.sure_ns = has_end ? time_of(copy, code->sure_ns) : code->sure_ns;
	out.name = merge_copy_string_of(copy, code->name);
	out.file = merge_copy_string_of(copy, code->file);
	if (out.object)
		writer_code(copy->writer, &out);
	merge_copy_flush_some(copy);
}

static struct chain_map *merge_copy_on_chains(void *context, uint32_t object)
{
	struct merge_copy *copy = context;
	object = id_of(copy, &copy->source_objects, object);
	return object ? merge_chains_of(&copy->chains, object) : NULL;
}

/* ---- figures ---- */

static void merge_copy_on_clock(void *context, const struct layout_clock *clock)
{
	struct merge_copy *copy = context;
	struct layout_clock out = {time_of(copy, clock->monotonic_ns), clock->realtime_ns};
	if (out.monotonic_ns < copy->source->from_ns || out.monotonic_ns >= copy->source->to_ns)
		return;
	writer_clock(copy->writer, &out);
	note_end(copy, out.monotonic_ns);
	merge_copy_flush_some(copy);
}

static void merge_copy_on_end(void *context, const struct layout_end *end)
{
	note_end(context, time_of(context, end->time_ns));
}

static void merge_copy_on_counter(void *context, const struct layout_counter_value *value)
{
	struct merge_copy *copy = context;
	merge_counters_set_value(&copy->source_counters, value);
}

static void merge_copy_on_event_tally(void *context, const struct layout_event_tally *tally)
{
	struct merge_copy *copy = context;
	struct merge_counter out = {
		.source = MERGE_OTHER_SOURCE + merge_copy_string_of(copy, tally->source),
		.counter = tally->counter,
		.cpu = tally->cpu,
		.tally = {tally->count, tally->sum},
	};
	merge_counters_set(&copy->source_counters, &out);
}

static void merge_copy_on_thread_times(void *context, const struct layout_thread_times *times)
{
	struct merge_copy *copy = context;
	struct layout_thread_times out = *times;
	out.thread = id_of(copy, &copy->threads, times->thread);
	if (!out.thread)
		out.thread = lost_thread(copy);
	writer_thread_times(copy->writer, &out);
	merge_copy_flush_some(copy);
}

static const struct reader_visitor visitor = {
	.string = merge_copy_on_string,
	.event = merge_copy_on_event,
	.object = merge_copy_on_object,
	.process = merge_copy_on_process,
	.thread = merge_copy_on_thread,
	.mapping = merge_copy_on_mapping,
	.frame = merge_copy_on_frame,
	.node = merge_copy_on_node,
	.snapshot = merge_copy_on_snapshot,
	.label = merge_copy_on_label,
	.sample = merge_copy_on_sample,
	.symbol = merge_copy_on_symbol,
	.code = merge_copy_on_code,
	.unwound = merge_copy_on_unwound,
	.chains = merge_copy_on_chains,
	.counter = merge_copy_on_counter,
	.event_tally = merge_copy_on_event_tally,
	.thread_times = merge_copy_on_thread_times,
	.clock = merge_copy_on_clock,
	.end = merge_copy_on_end,
};

static void merge_copy_add_counters(struct merge_copy *copy)
{
	struct merge_input_result *result = copy->source->result;
	merge_counters_leave_out(&copy->source_counters, &copy->left_out);
	if (merge_source_is_damaged(copy->source))
		result->mended += merge_counters_add_mended(
			&copy->counters, &copy->source_counters, &copy->samples);
	else
		merge_counters_add(&copy->counters, &copy->source_counters);
}

static void end_source(struct merge_copy *copy)
{
	struct merge_ids *ids[] = {&copy->strings, &copy->source_events, &copy->counted_as,
		&copy->source_objects, &copy->processes, &copy->threads, &copy->source_frames,
		&copy->source_nodes, &copy->snapshots, &copy->source_labels};
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		ids[i]->len = 0;
	copy->lost_process = copy->lost_thread = 0;
	copy->unit_of_hits = 0;
	copy->samples.len = copy->left_out.len = 0;
	merge_counters_clear(&copy->source_counters);
	merge_chains_end_source(&copy->chains);
}

void merge_copy_source(struct merge_copy *copy, struct merge_source *source)
{
	if (copy->err)
		return;
	copy->source = source;
	int fd = source->input->fd;
	struct err *err = NULL;
	if (lseek(fd, 0, SEEK_SET) < 0)
		err = err_sys(errno, "seeking");
	else
		err = reader_read(fd, &visitor, copy, &source->result->file);
	if (copy->err)
		err_destroy(err);
	else
		copy->err = err_wrap(err, "%s", source->input->name);
	merge_copy_add_counters(copy);
	end_source(copy);
}

struct err *merge_copy_finish(struct merge_copy *copy)
{
	if (copy->err)
		return steal_ptr(copy->err);
	try(writer_flush(copy->writer)); /* the objects, before what is known of them */
	try(merge_chains_write(&copy->chains, copy->writer));
	merge_counters_write(&copy->counters, copy->writer);
	struct layout_end end = {LAYOUT_END_MERGED, copy->end_ns};
	return writer_finish(copy->writer, &end);
}

void merge_copy_deinit(struct merge_copy *copy)
{
	struct merge_ids *ids[] = {&copy->strings, &copy->source_events, &copy->counted_as,
		&copy->source_objects, &copy->processes, &copy->threads, &copy->source_frames,
		&copy->source_nodes, &copy->snapshots, &copy->source_labels};
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		vec_deinit(ids[i]);
	strtab_deinit(&copy->events);
	strtab_deinit(&copy->objects);
	strtab_deinit(&copy->frames);
	strtab_deinit(&copy->labels);
	strtab_deinit(&copy->symbols);
	map_deinit(&copy->nodes);
	strtab_deinit(&copy->joined_processes);
	strtab_deinit(&copy->joined_threads);
	vec_deinit(&copy->joined_process_ids);
	vec_deinit(&copy->joined_thread_ids);
	vec_deinit(&copy->samples);
	vec_deinit(&copy->left_out);
	merge_counters_deinit(&copy->counters);
	merge_counters_deinit(&copy->source_counters);
	merge_chains_deinit(&copy->chains);
	err_destroy(copy->err);
}
