#include "format/file/reader.h"

#include "format/file/chunk_ahead.h"
#include "format/file/decode.h"

static const char *decode_counters(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_counter_value value = {0};
		value.counter = bytes_get_u32_varint(cursor);
		value.cpu = bytes_get_u32_varint(cursor);
		value.value = bytes_get_varint(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (value.cpu >= LAYOUT_MAX_CPUS)
			return FAULT_CPU;
		if (reader->visitor->counter)
			reader->visitor->counter(reader->context, &value);
	}
	return NULL;
}

static const char *decode_event_counters(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_event_tally tally = {0};
		tally.source = bytes_get_u32_varint(cursor);
		tally.counter = bytes_get_u32_varint(cursor);
		tally.cpu = bytes_get_u32_varint(cursor);
		tally.count = bytes_get_varint(cursor);
		tally.sum = bytes_get_varint(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (tally.cpu >= LAYOUT_MAX_CPUS)
			return FAULT_CPU;
		if (!decode_keep(reader, 1, KEPT_TALLY))
			return DECODE_TOO_MUCH;
		if (reader->visitor->event_tally)
			reader->visitor->event_tally(reader->context, &tally);
	}
	return NULL;
}

static const char *decode_thread_times(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_thread_times times = {0};
		times.thread = bytes_get_u32_varint(cursor);
		times.life_ns = bytes_get_varint(cursor);
		times.queued_ns = bytes_get_varint(cursor);
		times.blocked_ns = bytes_get_varint(cursor);
		times.has_kernel = bytes_get_varint(cursor) & 1;
		times.kernel_on_ns = bytes_get_varint(cursor);
		times.kernel_queued_ns = bytes_get_varint(cursor);
		times.voluntary = bytes_get_varint(cursor);
		times.involuntary = bytes_get_varint(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (times.queued_ns > times.life_ns ||
			times.blocked_ns > times.life_ns - times.queued_ns)
			return "a thread waited longer than it lived";
		if (!decode_keep(reader, 1, KEPT_THREAD_TIMES))
			return DECODE_TOO_MUCH;
		if (reader->visitor->thread_times)
			reader->visitor->thread_times(reader->context, &times);
	}
	return NULL;
}

static const char *decode_clocks(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_clock clock = {0};
		clock.monotonic_ns = bytes_get_varint(cursor);
		clock.realtime_ns = bytes_get_varint(cursor);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (reader->visitor->clock)
			reader->visitor->clock(reader->context, &clock);
	}
	return NULL;
}

static const char *decode_end(struct reader *reader, struct bytes_cursor *cursor)
{
	struct layout_end end = {0};
	end.reason = bytes_get_u32_varint(cursor);
	end.time_ns = bytes_get_varint(cursor);
	if (cursor->overrun)
		return FAULT_OVERRUN;
	reader->result->ended = true;
	if (reader->visitor->end)
		reader->visitor->end(reader->context, &end);
	return NULL;
}

static decode_fn *const decoders[] = {
	[LAYOUT_CHUNK_META] = decode_meta,
	[LAYOUT_CHUNK_STRINGS] = decode_strings,
	[LAYOUT_CHUNK_OBJECTS] = decode_objects,
	[LAYOUT_CHUNK_PROCESSES] = decode_processes,
	[LAYOUT_CHUNK_THREADS] = decode_threads,
	[LAYOUT_CHUNK_MAPPINGS] = decode_mappings,
	[LAYOUT_CHUNK_FRAMES] = decode_frames,
	[LAYOUT_CHUNK_STACKS] = decode_stacks,
	[LAYOUT_CHUNK_SAMPLES] = decode_samples,
	[LAYOUT_CHUNK_SYMBOLS] = decode_symbols,
	[LAYOUT_CHUNK_COUNTERS] = decode_counters,
	[LAYOUT_CHUNK_EVENTS] = decode_events,
	[LAYOUT_CHUNK_CLOCKS] = decode_clocks,
	[LAYOUT_CHUNK_END] = decode_end,
	[LAYOUT_CHUNK_SNAPSHOTS] = decode_snapshots,
	[LAYOUT_CHUNK_CODE] = decode_code,
	[LAYOUT_CHUNK_CHAINS] = decode_chains,
	[LAYOUT_CHUNK_UNWOUND] = decode_unwound,
	[LAYOUT_CHUNK_ORIGINS] = decode_origins,
	[LAYOUT_CHUNK_VALUES] = decode_samples,
	[LAYOUT_CHUNK_EVENT_COUNTERS] = decode_event_counters,
	[LAYOUT_CHUNK_THREAD_TIMES] = decode_thread_times,
	[LAYOUT_CHUNK_LABELS] = decode_labels,
};

static void decode_chunk(struct reader *reader, const struct chunk *chunk)
{
	struct reader_result *result = reader->result;
	size_t nr_decoders = sizeof(decoders) / sizeof(*decoders);
	if (chunk->type >= nr_decoders || !decoders[chunk->type]) {
		result->unknown_chunks++;
		return;
	}
	struct bytes_cursor cursor = bytes_cursor(chunk->payload, chunk->payload_bytes);
	const char *fault = decoders[chunk->type](reader, &cursor);
	if (!fault)
		return;
	if (!result->bad_chunks++) {
		result->bad_what = fault;
		result->bad_offset = chunk->offset;
	}
}

struct err *reader_read(
	int fd, const struct reader_visitor *visitor, void *context, struct reader_result *ret)
{
	*ret = (struct reader_result){0};
	struct reader reader = {.visitor = visitor, .context = context, .result = ret};
	for (int table = 0; table < TABLE_COUNT; table++)
		reader.next_id[table] = 1;
	struct chunk_ahead *chunks = NULL;
	struct err *err = chunk_ahead_create(fd, visitor->sample, &chunks);
	if (err)
		return err;
	uint32_t next_sequence = 0;
	for (bool more = true; !err && more;) {
		struct chunk chunk;
		uint64_t offset;
		err = chunk_ahead_next(chunks, &chunk, &offset, &more);
		if (err || !more)
			break;
		ret->chunks++;
		if (chunk.sequence > next_sequence)
			ret->missing_chunks += chunk.sequence - next_sequence;
		next_sequence = chunk.sequence + 1;
		ret->file_bytes = offset;
		if (visitor->progress)
			visitor->progress(context, ret->file_bytes);
		reader.samples = chunk_ahead_samples(chunks);
		decode_chunk(&reader, &chunk);
	}
	chunk_ahead_end(chunks, &ret->file_bytes, &ret->damage);
	ret->end = (struct layout_position){.frame = reader.next_id[TABLE_FRAMES],
		.node = reader.next_id[TABLE_NODES],
		.sequence = next_sequence};
	chunk_ahead_destroy(chunks);
	return err;
}
