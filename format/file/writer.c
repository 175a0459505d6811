#include "format/file/writer.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/file/chunk.h"
#include "format/file/columns.h"

enum {
	/* What waits leaves in pieces, far below what a chunk may hold: a reader keeps one. */
	PIECE_BYTES = 1 << 20,
	PIECE_ENTITIES = 128 * 1024,
};

/* A table whose ids are handed out one by one: what waits of it. */
struct pending_table {
	struct bytes_buf body;
	uint32_t next_id; /* of the next entity */
	uint32_t count;   /* waiting */
};

struct event_samples {
	uint64_t waiting, written;
};

struct writer {
	struct writer_sink sink;
	uint32_t sequence;
	uint64_t bytes_written, samples_written;
	bool failed;
	uint64_t max_bytes; /* 0: no limit */
	bool is_full;       /* something did not fit: only figures and the end still go out */

	struct strtab strings;
	uint32_t strings_written;

	struct bytes_buf meta;
	struct pending_table events, origins, objects, processes, threads, snapshots;
	struct bytes_buf mappings, symbols, code, unwound, counters, clocks;
	struct {
		VEC(struct layout_frame) waiting;
		uint32_t next_id;
	} frames;
	struct {
		VEC(struct layout_node) waiting;
		uint32_t next_id;
	} nodes;
	VEC(struct layout_sample) samples;
	VEC(struct event_samples) by_event; /* id - 1 */

	struct bytes_buf out, payload; /* reused by every flush */
};

struct writer *writer_create(struct writer_sink sink)
{
	struct writer *writer = mem_zalloc(sizeof(*writer));
	writer->sink = sink;
	writer->events.next_id = writer->origins.next_id = writer->objects.next_id = 1;
	writer->processes.next_id = writer->threads.next_id = 1;
	writer->frames.next_id = writer->nodes.next_id = writer->snapshots.next_id = 1;
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
		&writer->snapshots.body, &writer->mappings, &writer->symbols, &writer->code,
		&writer->unwound, &writer->counters, &writer->clocks, &writer->out,
		&writer->payload};
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
static uint32_t put_record(struct pending_table *table, struct bytes_buf *record)
{
	bytes_put_blob(&table->body, record->data, record->len);
	bytes_buf_deinit(record);
	table->count++;
	return table->next_id++;
}

uint32_t writer_event(struct writer *writer, const struct layout_event *event)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, event->name);
	bytes_put_varint(&record, event->period);
	bytes_put_varint(&record, event->frequency_hz);
	bytes_put_varint(&record, event->unit);
	return put_record(&writer->events, &record);
}

static void put_text(struct bytes_buf *record, const struct layout_text *text)
{
	bytes_put_blob(record, text->bytes, text->len);
}

uint32_t writer_origin(struct writer *writer, const struct layout_origin *origin)
{
	struct bytes_buf record = {0};
	put_text(&record, &origin->name);
	bytes_put_varint(&record, origin->flags);
	bytes_put_varint(&record, origin->reason);
	bytes_put_varint(&record, origin->clock.monotonic_ns);
	bytes_put_varint(&record, origin->clock.realtime_ns);
	bytes_put_varint(&record, origin->shift_ns);
	bytes_put_varint(&record, origin->nr_meta);
	for (uint32_t i = 0; i < origin->nr_meta; i++) {
		put_text(&record, &origin->meta[i].key);
		put_text(&record, &origin->meta[i].value);
	}
	return put_record(&writer->origins, &record);
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
	return put_record(&writer->objects, &record);
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
	return put_record(&writer->processes, &record);
}

uint32_t writer_thread(struct writer *writer, const struct layout_thread *thread)
{
	struct bytes_buf record = {0};
	bytes_put_varint(&record, thread->process);
	bytes_put_varint(&record, thread->tid);
	bytes_put_varint(&record, thread->comm);
	return put_record(&writer->threads, &record);
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
	return put_record(&writer->snapshots, &record);
}

void writer_sample(struct writer *writer, const struct layout_sample *sample)
{
	vec_push(&writer->samples, *sample);
	if (sample->event > writer->by_event.len && sample->event <= LAYOUT_MAX_EVENTS)
		vec_resize(&writer->by_event, sample->event);
	if (sample->event && sample->event <= writer->by_event.len)
		writer->by_event.data[sample->event - 1].waiting++;
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
		SAMPLE_BOUND_BYTES = 29,
		NODE_BOUND_BYTES = 10,
		FRAME_BOUND_BYTES = 15,
		CHUNKS_BOUND_BYTES = 15 * LAYOUT_CHUNK_HEADER_BYTES,
	};
	return CHUNKS_BOUND_BYTES + writer->meta.len + writer->events.body.len +
	       writer->origins.body.len + writer->unwound.len + writer->objects.body.len +
	       writer->processes.body.len + writer->threads.body.len + writer->snapshots.body.len +
	       writer->mappings.len + writer->symbols.len + writer->code.len +
	       writer->counters.len + writer->clocks.len +
	       writer->samples.len * SAMPLE_BOUND_BYTES +
	       writer->nodes.waiting.len * NODE_BOUND_BYTES +
	       writer->frames.waiting.len * FRAME_BOUND_BYTES;
}

uint64_t writer_samples_written(const struct writer *writer)
{
	return writer->samples_written;
}

uint64_t writer_event_samples_written(const struct writer *writer, uint32_t event)
{
	bool is_known = event && event <= writer->by_event.len;
	return is_known ? writer->by_event.data[event - 1].written : 0;
}

/* ---- flushing: each function turns what waits into the payload of one chunk ---- */

static void put_chunk(struct writer *writer, enum layout_chunk_type type, struct bytes_buf *payload)
{
	if (payload->len)
		chunk_put(&writer->out, (uint16_t)type, writer->sequence++, payload->data,
			payload->len);
	payload->len = 0;
}

void writer_answers(struct writer *writer, uint32_t object, const struct answers *answers)
{
	struct bytes_buf *payload = &writer->payload;
	for (size_t next = 0; next < answers_count(answers);) {
		bytes_put_varint(payload, object);
		next = answers_encode(answers, next, payload);
		put_chunk(writer, LAYOUT_CHUNK_ANSWERS, payload);
	}
}

/* As many strings as a piece takes, at least one. */
static void put_some_strings(struct writer *writer)
{
	struct bytes_buf *payload = &writer->payload;
	const struct strtab_entry *first = writer->strings.entries.data + writer->strings_written;
	size_t left = writer->strings.entries.len - writer->strings_written, count = 0;
	for (size_t bytes = 0; count < left && bytes < PIECE_BYTES; count++)
		bytes += first[count].len;
	bytes_put_varint(payload, writer->strings_written + 1);
	bytes_put_varint(payload, count);
	for (size_t i = 0; i < count; i++)
		bytes_put_varint(payload, first[i].len);
	for (size_t i = 0; i < count; i++)
		bytes_put(payload, first[i].bytes, first[i].len);
	writer->strings_written += (uint32_t)count;
	put_chunk(writer, LAYOUT_CHUNK_STRINGS, payload);
}

static void put_strings(struct writer *writer)
{
	while (writer->strings_written < writer->strings.entries.len)
		put_some_strings(writer);
}

/* The next records that fit a piece, at least one; they are blobs. */
static struct bytes_cursor get_piece(struct bytes_cursor *body, uint32_t *count)
{
	struct bytes_cursor piece = *body;
	size_t len;
	for (*count = 0; bytes_left(body) && body->pos - piece.pos < PIECE_BYTES; ++*count)
		bytes_get_blob(body, &len);
	piece.end = body->pos;
	return piece;
}

static void put_table(
	struct writer *writer, enum layout_chunk_type type, struct pending_table *table)
{
	struct bytes_buf *payload = &writer->payload;
	struct bytes_cursor body = bytes_cursor(table->body.data, table->body.len);
	uint32_t id = table->next_id - table->count, count;
	for (; bytes_left(&body); id += count) {
		struct bytes_cursor piece = get_piece(&body, &count);
		bytes_put_varint(payload, id);
		bytes_put_varint(payload, count);
		bytes_put(payload, piece.pos, bytes_left(&piece));
		put_chunk(writer, type, payload);
	}
	table->count = 0;
	table->body.len = 0;
}

static void put_mappings(struct writer *writer)
{
	struct bytes_cursor body = bytes_cursor(writer->mappings.data, writer->mappings.len);
	while (bytes_left(&body)) {
		uint32_t count;
		struct bytes_cursor piece = get_piece(&body, &count);
		bytes_put(&writer->payload, piece.pos, bytes_left(&piece));
		put_chunk(writer, LAYOUT_CHUNK_MAPPINGS, &writer->payload);
	}
	writer->mappings.len = 0;
}

static size_t piece_of(size_t left)
{
	return left < PIECE_ENTITIES ? left : PIECE_ENTITIES;
}

static void put_frames(struct writer *writer)
{
	size_t count = writer->frames.waiting.len;
	uint32_t first_id = writer->frames.next_id - (uint32_t)count;
	for (size_t i = 0; i < count; i += PIECE_ENTITIES) {
		columns_put_frames(&writer->payload, first_id + (uint32_t)i,
			writer->frames.waiting.data + i, piece_of(count - i));
		put_chunk(writer, LAYOUT_CHUNK_FRAMES, &writer->payload);
	}
	writer->frames.waiting.len = 0;
}

static void put_nodes(struct writer *writer)
{
	size_t count = writer->nodes.waiting.len;
	uint32_t first_id = writer->nodes.next_id - (uint32_t)count;
	for (size_t i = 0; i < count; i += PIECE_ENTITIES) {
		columns_put_nodes(&writer->payload, first_id + (uint32_t)i,
			writer->nodes.waiting.data + i, piece_of(count - i));
		put_chunk(writer, LAYOUT_CHUNK_STACKS, &writer->payload);
	}
	writer->nodes.waiting.len = 0;
}

/* A chunk holds samples of one event: collects those of each. */
static void put_samples(struct writer *writer)
{
	struct map events = {0};
	VEC(struct layout_sample) group = {0};
	vec_each(&writer->samples, sample) {
		bool added;
		map_put(&events, sample->event, &added);
		if (!added)
			continue;
		group.len = 0;
		for (struct layout_sample *it = sample; it < sample_end_; it++)
			if (it->event == sample->event)
				vec_push(&group, *it);
		for (size_t i = 0; i < group.len; i += PIECE_ENTITIES) {
			columns_put_samples(
				&writer->payload, group.data + i, piece_of(group.len - i));
			put_chunk(writer, LAYOUT_CHUNK_SAMPLES, &writer->payload);
		}
	}
	vec_deinit(&group);
	map_deinit(&events);
}

static void put_entities(struct writer *writer)
{
	put_chunk(writer, LAYOUT_CHUNK_META, &writer->meta);
	put_strings(writer);
	put_table(writer, LAYOUT_CHUNK_EVENTS, &writer->events);
	put_table(writer, LAYOUT_CHUNK_ORIGINS, &writer->origins);
	put_table(writer, LAYOUT_CHUNK_OBJECTS, &writer->objects);
	put_table(writer, LAYOUT_CHUNK_PROCESSES, &writer->processes);
	put_table(writer, LAYOUT_CHUNK_THREADS, &writer->threads);
	put_mappings(writer);
	put_table(writer, LAYOUT_CHUNK_SNAPSHOTS, &writer->snapshots);
	put_chunk(writer, LAYOUT_CHUNK_SYMBOLS, &writer->symbols);
	put_chunk(writer, LAYOUT_CHUNK_CODE, &writer->code);
	put_frames(writer);
	put_nodes(writer);
	put_chunk(writer, LAYOUT_CHUNK_UNWOUND, &writer->unwound);
	put_samples(writer);
}

static void put_figures(struct writer *writer)
{
	put_chunk(writer, LAYOUT_CHUNK_CLOCKS, &writer->clocks);
	put_chunk(writer, LAYOUT_CHUNK_COUNTERS, &writer->counters);
}

/* What the limit keeps free for the last counters and the end. */
static uint64_t end_reserve(const struct writer *writer)
{
	enum {
		END_RESERVE_BYTES = 4096
	};
	uint64_t quarter = writer->max_bytes / 4;
	return quarter < END_RESERVE_BYTES ? quarter : END_RESERVE_BYTES;
}

static bool exceeds_limit(const struct writer *writer)
{
	return writer->max_bytes &&
	       writer->bytes_written + writer->out.len + end_reserve(writer) > writer->max_bytes;
}

/* What waited has left, and perhaps has been taken. */
static void count_samples(struct writer *writer, size_t count, bool is_taken)
{
	writer->samples_written += is_taken ? count : 0;
	vec_each(&writer->by_event, event) {
		event->written += is_taken ? event->waiting : 0;
		event->waiting = 0;
	}
}

struct err *writer_flush(struct writer *writer)
{
	size_t nr_samples = writer->samples.len;
	put_entities(writer);
	writer->samples.len = 0;
	if (writer->is_full || exceeds_limit(writer)) {
		writer->is_full = true;
		writer->out.len = writer->bytes_written ? 0 : LAYOUT_HEADER_BYTES;
		count_samples(writer, nr_samples, false);
		nr_samples = 0;
	}
	put_figures(writer);
	size_t len = writer->out.len;
	writer->out.len = 0; /* the bytes stay until the next flush */
	struct err *err = writer->failed ? err_new(ERR_IO, "the output failed before")
			  : len ? writer->sink.write(writer->sink.context, writer->out.data, len)
				: NULL;
	writer->failed |= err != NULL;
	writer->bytes_written += err ? 0 : len;
	count_samples(writer, nr_samples, !err);
	return err;
}

struct err *writer_finish(struct writer *writer, const struct layout_end *end)
{
	struct err *err = writer_flush(writer);
	struct bytes_buf *payload = &writer->payload;
	bytes_put_varint(payload, end->reason);
	bytes_put_varint(payload, end->time_ns);
	put_chunk(writer, LAYOUT_CHUNK_END, payload);
	size_t len = writer->out.len;
	writer->out.len = 0;
	/* Even after a failure: a full disk often has room left for the few bytes that say so. */
	struct err *end_err = writer->sink.write(writer->sink.context, writer->out.data, len);
	if (!end_err)
		writer->bytes_written += len;
	if (!err)
		return end_err;
	err_destroy(end_err);
	return err;
}
