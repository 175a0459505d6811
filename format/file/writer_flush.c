/* Each function turns what waits into the payload of one chunk, or of several. */
#include "format/base/map.h"
#include "format/file/chunk.h"
#include "format/file/columns.h"
#include "format/file/writer_pending.h"

enum {
	/* What waits leaves in pieces, far below what a chunk may hold: a reader keeps one. */
	PIECE_BYTES = 1 << 20,
	PIECE_ENTITIES = 128 * 1024,
};

static void put_chunk(struct writer *writer, enum layout_chunk_type type, struct bytes_buf *payload)
{
	if (payload->len)
		chunk_put(&writer->out, (uint16_t)type, writer->sequence++, payload->data,
			payload->len);
	payload->len = 0;
}

void writer_chains(struct writer *writer, uint32_t object, const struct chain_map *chains)
{
	struct bytes_buf *payload = &writer->payload;
	for (size_t next = 0; next < chain_map_count(chains);) {
		bytes_put_varint(payload, object);
		next = chain_map_encode(chains, next, payload);
		put_chunk(writer, LAYOUT_CHUNK_CHAINS, payload);
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

static void writer_flush_put_strings(struct writer *writer)
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

static void writer_flush_put_table(
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

/* Records without ids: blobs. */
static void put_blobs(struct writer *writer, enum layout_chunk_type type, struct bytes_buf *records)
{
	struct bytes_cursor body = bytes_cursor(records->data, records->len);
	while (bytes_left(&body)) {
		uint32_t count;
		struct bytes_cursor piece = get_piece(&body, &count);
		bytes_put(&writer->payload, piece.pos, bytes_left(&piece));
		put_chunk(writer, type, &writer->payload);
	}
	records->len = 0;
}

/* Records of so many numbers each. */
static void writer_flush_put_numbers(struct writer *writer, enum layout_chunk_type type,
	unsigned numbers, struct bytes_buf *records)
{
	struct bytes_cursor body = bytes_cursor(records->data, records->len);
	while (bytes_left(&body)) {
		const uint8_t *start = body.pos;
		while (bytes_left(&body) && body.pos - start < PIECE_BYTES)
			for (unsigned i = 0; i < numbers; i++)
				bytes_get_varint(&body);
		bytes_put(&writer->payload, start, (size_t)(body.pos - start));
		put_chunk(writer, type, &writer->payload);
	}
	records->len = 0;
}

static size_t writer_flush_piece_of(size_t left)
{
	return left < PIECE_ENTITIES ? left : PIECE_ENTITIES;
}

static void writer_flush_put_frames(struct writer *writer)
{
	size_t count = writer->frames.waiting.len;
	uint32_t first_id = writer->frames.next_id - (uint32_t)count;
	for (size_t i = 0; i < count; i += PIECE_ENTITIES) {
		columns_put_frames(&writer->payload, first_id + (uint32_t)i,
			writer->frames.waiting.data + i, writer_flush_piece_of(count - i));
		put_chunk(writer, LAYOUT_CHUNK_FRAMES, &writer->payload);
	}
	writer->frames.waiting.len = 0;
}

static void writer_flush_put_nodes(struct writer *writer)
{
	size_t count = writer->nodes.waiting.len;
	uint32_t first_id = writer->nodes.next_id - (uint32_t)count;
	for (size_t i = 0; i < count; i += PIECE_ENTITIES) {
		columns_put_nodes(&writer->payload, first_id + (uint32_t)i,
			writer->nodes.waiting.data + i, writer_flush_piece_of(count - i));
		put_chunk(writer, LAYOUT_CHUNK_STACKS, &writer->payload);
	}
	writer->nodes.waiting.len = 0;
}

static enum layout_chunk_type chunk_of_event(const struct writer *writer, uint32_t event)
{
	bool is_known = event && event <= writer->by_event.len;
	bool are_values = is_known && writer->by_event.data[event - 1].are_values;
	return are_values ? LAYOUT_CHUNK_VALUES : LAYOUT_CHUNK_SAMPLES;
}

/* A chunk holds samples of one event: collects those of each. */
static void writer_flush_put_samples(struct writer *writer)
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
			columns_put_samples(&writer->payload, group.data + i,
				writer_flush_piece_of(group.len - i));
			put_chunk(writer, chunk_of_event(writer, sample->event), &writer->payload);
		}
	}
	vec_deinit(&group);
	map_deinit(&events);
}

static void put_entities(struct writer *writer)
{
	enum {
		SYMBOL_NUMBERS = 4, /* as writer_symbol() and writer_unwound() put them */
		UNWOUND_NUMBERS = 2,
	};
	put_chunk(writer, LAYOUT_CHUNK_META, &writer->meta);
	writer_flush_put_strings(writer);
	writer_flush_put_table(writer, LAYOUT_CHUNK_EVENTS, &writer->events);
	writer_flush_put_table(writer, LAYOUT_CHUNK_ORIGINS, &writer->origins);
	writer_flush_put_table(writer, LAYOUT_CHUNK_OBJECTS, &writer->objects);
	writer_flush_put_table(writer, LAYOUT_CHUNK_PROCESSES, &writer->processes);
	writer_flush_put_table(writer, LAYOUT_CHUNK_THREADS, &writer->threads);
	put_blobs(writer, LAYOUT_CHUNK_MAPPINGS, &writer->mappings);
	writer_flush_put_table(writer, LAYOUT_CHUNK_SNAPSHOTS, &writer->snapshots);
	writer_flush_put_numbers(writer, LAYOUT_CHUNK_SYMBOLS, SYMBOL_NUMBERS, &writer->symbols);
	put_blobs(writer, LAYOUT_CHUNK_CODE, &writer->code);
	writer_flush_put_frames(writer);
	writer_flush_put_nodes(writer);
	writer_flush_put_numbers(writer, LAYOUT_CHUNK_UNWOUND, UNWOUND_NUMBERS, &writer->unwound);
	writer_flush_put_table(writer, LAYOUT_CHUNK_LABELS, &writer->labels);
	writer_flush_put_samples(writer);
	writer_flush_put_numbers(writer, LAYOUT_CHUNK_THREAD_TIMES, WRITER_THREAD_TIMES_NUMBERS,
		&writer->thread_times);
}

static void put_figures(struct writer *writer)
{
	put_chunk(writer, LAYOUT_CHUNK_CLOCKS, &writer->clocks);
	put_chunk(writer, LAYOUT_CHUNK_COUNTERS, &writer->counters);
	put_chunk(writer, LAYOUT_CHUNK_EVENT_COUNTERS, &writer->event_counters);
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
static void writer_flush_count_samples(struct writer *writer, size_t count, bool is_taken)
{
	writer->samples_written += is_taken ? count : 0;
	vec_each(&writer->by_event, event) {
		event->written.count += is_taken ? event->waiting.count : 0;
		event->written.sum += is_taken ? event->waiting.sum : 0;
		event->waiting = (struct layout_tally){0};
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
		writer_flush_count_samples(writer, nr_samples, false);
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
	writer_flush_count_samples(writer, nr_samples, !err);
	return err;
}

/* What waits besides the figures is dropped; a full disk often has room left for those. */
static void put_figures_alone(struct writer *writer)
{
	size_t nr_samples = writer->samples.len;
	put_entities(writer);
	writer->samples.len = 0;
	writer->out.len = 0;
	writer_flush_count_samples(writer, nr_samples, false);
	put_figures(writer);
}

struct err *writer_finish(struct writer *writer, const struct layout_end *end)
{
	struct err *err = NULL;
	if (writer->failed) {
		put_figures_alone(writer);
		err = err_new(ERR_IO, "the output failed before");
	} else {
		err = writer_flush(writer);
	}
	struct bytes_buf *payload = &writer->payload;
	bytes_put_varint(payload, end->reason);
	bytes_put_varint(payload, end->time_ns);
	put_chunk(writer, LAYOUT_CHUNK_END, payload);
	size_t len = writer->out.len;
	writer->out.len = 0;
	/* Even after a failure: it says so, and what was lost. */
	struct err *end_err = writer->sink.write(writer->sink.context, writer->out.data, len);
	if (!end_err)
		writer->bytes_written += len;
	if (!err)
		return end_err;
	err_destroy(end_err);
	return err;
}
