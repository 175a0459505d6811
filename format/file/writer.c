#include "format/file/writer.h"

#include <string.h>

#include "format/file/chunk.h"
#include "format/file/writer_pending.h"

struct writer *writer_create(struct writer_sink sink)
{
	struct writer *writer = mem_zalloc(sizeof(*writer));
	writer->sink = sink;
	writer->events.next_id = writer->origins.next_id = writer->objects.next_id = 1;
	writer->processes.next_id = writer->threads.next_id = 1;
	writer->frames.next_id = writer->nodes.next_id = writer->snapshots.next_id = 1;
	writer->labels.next_id = 1;
	chunk_put_file_header(&writer->out);
	return writer;
}

struct writer *writer_create_behind(struct writer_sink sink, const struct layout_position *position)
{
	struct writer *writer = writer_create(sink);
	writer->out.len = 0; /* the recording has its header */
	writer->frames.next_id = position->frame;
	writer->nodes.next_id = position->node;
	writer->sequence = position->sequence;
	return writer;
}

void writer_limit(struct writer *writer, uint64_t max_bytes)
{
	writer->max_bytes = max_bytes;
}

bool writer_is_full(const struct writer *writer)
{
	return writer->is_full;
}

void writer_destroy(struct writer *writer)
{
	if (!writer)
		return;
	strtab_deinit(&writer->strings);
	struct bytes_buf *bufs[] = {&writer->meta, &writer->events.body, &writer->origins.body,
		&writer->objects.body, &writer->processes.body, &writer->threads.body,
		&writer->snapshots.body, &writer->labels.body, &writer->mappings, &writer->symbols,
		&writer->code, &writer->unwound, &writer->counters, &writer->event_counters,
		&writer->thread_times, &writer->clocks, &writer->out, &writer->payload};
	for (size_t i = 0; i < sizeof(bufs) / sizeof(*bufs); i++)
		bytes_buf_deinit(bufs[i]);
	vec_deinit(&writer->frames.waiting);
	vec_deinit(&writer->nodes.waiting);
	vec_deinit(&writer->by_event);
	vec_deinit(&writer->samples);
	mem_free(writer);
}

void writer_meta(struct writer *writer, const char *key, const char *value)
{
	bytes_put_blob(&writer->meta, key, strlen(key));
	bytes_put_blob(&writer->meta, value, strnlen(value, LAYOUT_MAX_TEXT_BYTES));
}

uint32_t writer_string(struct writer *writer, const char *bytes, size_t len)
{
	if (len > LAYOUT_MAX_TEXT_BYTES)
		len = LAYOUT_MAX_TEXT_BYTES;
	return len ? strtab_intern(&writer->strings, bytes, len) + 1 : 0;
}

/* Records are blobs, so that a later version can append fields that this one skips. */
static uint32_t writer_put_record(struct pending_table *table, struct bytes_buf *record)
{
	bytes_put_blob(&table->body, record->data, record->len);
	bytes_buf_deinit(record);
	table->count++;
	return table->next_id++;
}

/* Of an event, by its id; NULL: there can be no such event. Valid until the next call. */
static struct event_samples *writer_samples_of(struct writer *writer, uint32_t event)
{
	if (!event || event > LAYOUT_MAX_EVENTS)
		return NULL;
	if (event > writer->by_event.len)
		vec_resize(&writer->by_event, event);
	return &writer->by_event.data[event - 1];
}

uint32_t writer_event(struct writer *writer, const struct layout_event *event)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, event->name);
	bytes_put_varint(&record, event->period);
	bytes_put_varint(&record, event->frequency_hz);
	bytes_put_varint(&record, event->unit);
	if (event->source) /* the last field: most events do without */
		bytes_put_varint(&record, event->source);
	uint32_t id = writer_put_record(&writer->events, &record);
	struct event_samples *samples = writer_samples_of(writer, id);
	if (samples)
		samples->are_values = event->source;
	return id;
}

static void writer_put_text(struct bytes_buf *record, const struct layout_text *text)
{
	bytes_put_blob(record, text->bytes, text->len);
}

uint32_t writer_origin(struct writer *writer, const struct layout_origin *origin)
{
	struct bytes_buf record = {0};
	writer_put_text(&record, &origin->name);
	bytes_put_varint(&record, origin->flags);
	bytes_put_varint(&record, origin->reason);
	bytes_put_varint(&record, origin->clock.monotonic_ns);
	bytes_put_varint(&record, origin->clock.realtime_ns);
	bytes_put_varint(&record, origin->shift_ns);
	bytes_put_varint(&record, origin->nr_meta);
	for (uint32_t i = 0; i < origin->nr_meta; i++) {
		writer_put_text(&record, &origin->meta[i].key);
		writer_put_text(&record, &origin->meta[i].value);
	}
	return writer_put_record(&writer->origins, &record);
}

uint32_t writer_object(struct writer *writer, const struct layout_object *object)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, object->kind);
	bytes_put_varint(&record, object->flags);
	bytes_put_varint(&record, object->path);
	bytes_put_blob(&record, object->build_id, object->build_id_len);
	bytes_put_varint(&record, object->base);
	bytes_put_varint(&record, object->size_bytes);
	bytes_put_varint(&record, object->inode);
	bytes_put_varint(&record, object->mtime_ns);
	bytes_put_varint(&record, object->device);
	bytes_put_varint(&record, object->nr_segments);
	for (uint32_t i = 0; i < object->nr_segments; i++) {
		const struct layout_segment *segment = &object->segments[i];
		bytes_put_varint(&record, segment->vaddr);
		bytes_put_varint(&record, segment->offset);
		bytes_put_varint(&record, segment->filesz);
		bytes_put_varint(&record, segment->memsz);
		bytes_put_varint(&record, segment->flags);
	}
	return writer_put_record(&writer->objects, &record);
}

uint32_t writer_process(struct writer *writer, const struct layout_process *process)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, process->pid);
	bytes_put_varint(&record, process->ns_pid);
	bytes_put_varint(&record, process->parent_pid);
	bytes_put_varint(&record, process->start_ns);
	bytes_put_varint(&record, process->exe);
	bytes_put_varint(&record, process->cgroup);
	bytes_put_varint(&record, process->container);
	if (process->origin) /* the last field: most recordings do without */
		bytes_put_varint(&record, process->origin);
	return writer_put_record(&writer->processes, &record);
}

uint32_t writer_thread(struct writer *writer, const struct layout_thread *thread)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, thread->process);
	bytes_put_varint(&record, thread->tid);
	bytes_put_varint(&record, thread->comm);
	if (thread->kernel_name) /* the last field: few have one */
		bytes_put_varint(&record, thread->kernel_name);
	return writer_put_record(&writer->threads, &record);
}

void writer_mapping(struct writer *writer, const struct layout_mapping *mapping)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, mapping->process);
	bytes_put_varint(&record, mapping->object);
	bytes_put_varint(&record, mapping->start);
	bytes_put_varint(&record, mapping->length);
	bytes_put_varint(&record, mapping->offset);
	bytes_put_varint(&record, mapping->time_ns);
	bytes_put_blob(&writer->mappings, record.data, record.len);
	bytes_buf_deinit(&record);
}

uint32_t writer_frame(struct writer *writer, const struct layout_frame *frame)
{
	vec_push(&writer->frames.waiting, *frame);
	return writer->frames.next_id++;
}

uint32_t writer_node(struct writer *writer, const struct layout_node *node)
{
	vec_push(&writer->nodes.waiting, *node);
	return writer->nodes.next_id++;
}

/*
 * Registers and stack stand as they were in memory: most registers point into the stack, where
 * zlib finds the same bytes again.
 */
uint32_t writer_snapshot(struct writer *writer, const struct layout_snapshot *snapshot)
{
	struct bytes_buf record = {0};
	uint64_t known = snapshot->known & LAYOUT_REGISTERS_MASK;
	uint32_t stack_bytes = snapshot->stack_bytes;
	if (stack_bytes > LAYOUT_MAX_SNAPSHOT_BYTES)
		stack_bytes = LAYOUT_MAX_SNAPSHOT_BYTES;
	bytes_put_varint(&record, snapshot->process);
	bytes_put_varint(&record, snapshot->time_ns);
	bytes_put_varint(&record, snapshot->is_exact ? LAYOUT_SNAPSHOT_EXACT : 0);
	bytes_put_varint(&record, snapshot->stack_address);
	bytes_put_varint(&record, known);
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		if (known >> i & 1)
			bytes_put_u64(&record, snapshot->registers[i]);
	bytes_put_blob(&record, snapshot->stack, stack_bytes);
	return writer_put_record(&writer->snapshots, &record);
}

uint32_t writer_label(struct writer *writer, const struct layout_label *label)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, label->rest);
	bytes_put_varint(&record, label->key);
	bytes_put_varint(&record, label->kind);
	bytes_put_varint(&record, label->value);
	return writer_put_record(&writer->labels, &record);
}

void writer_sample(struct writer *writer, const struct layout_sample *sample)
{
	struct event_samples *samples = writer_samples_of(writer, sample->event);
	vec_push(&writer->samples, *sample);
	if (!samples)
		return;
	samples->waiting.count++;
	samples->waiting.sum += layout_sample_measured(sample);
}

void writer_symbol(struct writer *writer, const struct layout_symbol *symbol)
{
	bytes_put_varint(&writer->symbols, symbol->object);
	bytes_put_varint(&writer->symbols, symbol->offset);
	bytes_put_varint(&writer->symbols, symbol->size);
	bytes_put_varint(&writer->symbols, symbol->name);
}

void writer_code(struct writer *writer, const struct layout_code *code)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, code->object);
	bytes_put_varint(&record, code->offset);
	bytes_put_zigzag(&record, (int64_t)(code->offset - code->start));
	bytes_put_varint(&record, code->time_ns);
	bytes_put_varint(&record, code->name);
	bytes_put_varint(&record, code->file);
	bytes_put_varint(&record, code->line);
	if (code->sure_ns)
		bytes_put_varint(&record, code->sure_ns);
	bytes_put_blob(&writer->code, record.data, record.len);
	bytes_buf_deinit(&record);
}

void writer_unwound(struct writer *writer, const struct layout_unwound *unwound)
{
	bytes_put_varint(&writer->unwound, unwound->snapshot);
	bytes_put_varint(&writer->unwound, unwound->node);
}

void writer_counter(struct writer *writer, const struct layout_counter_value *value)
{
	bytes_put_varint(&writer->counters, value->counter);
	bytes_put_varint(&writer->counters, value->cpu);
	bytes_put_varint(&writer->counters, value->value);
}

void writer_event_tally(struct writer *writer, const struct layout_event_tally *tally)
{
	bytes_put_varint(&writer->event_counters, tally->source);
	bytes_put_varint(&writer->event_counters, tally->counter);
	bytes_put_varint(&writer->event_counters, tally->cpu);
	bytes_put_varint(&writer->event_counters, tally->count);
	bytes_put_varint(&writer->event_counters, tally->sum);
}

void writer_thread_times(struct writer *writer, const struct layout_thread_times *times)
{
	const uint64_t numbers[] = {times->thread, times->life_ns, times->queued_ns,
		times->blocked_ns, times->has_kernel, times->kernel_on_ns, times->kernel_queued_ns,
		times->voluntary, times->involuntary};
	_Static_assert(sizeof(numbers) / sizeof(*numbers) == WRITER_THREAD_TIMES_NUMBERS,
		"chunks are cut between records");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		bytes_put_varint(&writer->thread_times, numbers[i]);
}

void writer_clock(struct writer *writer, const struct layout_clock *clock)
{
	bytes_put_varint(&writer->clocks, clock->monotonic_ns);
	bytes_put_varint(&writer->clocks, clock->realtime_ns);
}

uint64_t writer_bytes_written(const struct writer *writer)
{
	return writer->bytes_written;
}

uint64_t writer_bytes_pending(const struct writer *writer)
{
	enum {
		SAMPLE_BOUND_BYTES = 34,
		NODE_BOUND_BYTES = 10,
		FRAME_BOUND_BYTES = 15,
		CHUNKS_BOUND_BYTES = 19 * LAYOUT_CHUNK_HEADER_BYTES,
	};
	return CHUNKS_BOUND_BYTES + writer->meta.len + writer->events.body.len +
	       writer->origins.body.len + writer->unwound.len + writer->objects.body.len +
	       writer->processes.body.len + writer->threads.body.len + writer->snapshots.body.len +
	       writer->labels.body.len + writer->mappings.len + writer->symbols.len +
	       writer->code.len + writer->counters.len + writer->event_counters.len +
	       writer->thread_times.len + writer->clocks.len +
	       writer->samples.len * SAMPLE_BOUND_BYTES +
	       writer->nodes.waiting.len * NODE_BOUND_BYTES +
	       writer->frames.waiting.len * FRAME_BOUND_BYTES;
}

uint64_t writer_samples_written(const struct writer *writer)
{
	return writer->samples_written;
}

struct layout_tally writer_event_samples_written(const struct writer *writer, uint32_t event)
{
	bool is_known = event && event <= writer->by_event.len;
	return is_known ? writer->by_event.data[event - 1].written : (struct layout_tally){0};
}
