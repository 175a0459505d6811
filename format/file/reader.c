#include "format/file/reader.h"

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/file/chunk_ahead.h"

enum {
	/*
	 * What a consumer may have to keep of a recording: this much, and so many times the
	 * file's size. Without a limit a forged first id, or a well compressed table, would make
	 * it allocate gigabytes.
	 */
	KEPT_FLOOR = 32 << 20,
	KEPT_RATIO = 256,
	/* Roughly, of each entity. */
	KEPT_META = 64,
	KEPT_MAPPING = 64,
	KEPT_SAMPLE = 64,
	KEPT_SYMBOL = 48,
	KEPT_CODE = 96, /* with the nodes that it may split */
	KEPT_UNWOUND = 48,
	KEPT_SEGMENT = sizeof(struct layout_segment),
	KEPT_ANSWERED_BYTE = 10, /* a frame takes 6 in the file at least */
};

enum table {
	TABLE_STRINGS,
	TABLE_EVENTS,
	TABLE_OBJECTS,
	TABLE_PROCESSES,
	TABLE_THREADS,
	TABLE_FRAMES,
	TABLE_NODES,
	TABLE_SNAPSHOTS,
	TABLE_ORIGINS,
	TABLE_COUNT,
};

/* Roughly what a consumer keeps of an entity, or of a hole in its place. */
static const uint32_t kept_bytes[] = {
	[TABLE_STRINGS] = 40,
	[TABLE_EVENTS] = 64,
	[TABLE_OBJECTS] = 512,
	[TABLE_PROCESSES] = 160, /* with the maps that count them */
	[TABLE_THREADS] = 96,
	[TABLE_FRAMES] = 48, /* with the map that decodes them */
	[TABLE_NODES] = 16,
	[TABLE_SNAPSHOTS] = 64, /* they are unwound, not kept */
	[TABLE_ORIGINS] = 128,
};

struct reader {
	const struct reader_visitor *visitor;
	void *context;
	struct reader_result *result;
	uint32_t next_id[TABLE_COUNT];
	uint64_t kept; /* so far, in bytes */
	uint32_t nr_meta;
	const struct decoded_samples *samples; /* of the chunk, if it has some */
};

/* A decoder reads one payload; NULL when it was sound, else what is wrong with it. */
typedef const char *decode_fn(struct reader *reader, struct bytes_cursor *cursor);

static const char overrun[] = FAULT_OVERRUN;
static const char bad_ids[] = "ids out of order";
static const char bad_cpu[] = FAULT_CPU;
static const char too_much[] = "more entities than a recording of this size can hold";

/* Neither factor exceeds 32 bits. */
static bool keep(struct reader *reader, uint64_t count, uint64_t bytes_each)
{
	uint64_t limit = KEPT_FLOOR + reader->result->file_bytes * KEPT_RATIO;
	if (reader->kept + count * bytes_each > limit)
		return false;
	reader->kept += count * bytes_each;
	return true;
}

/* Reads "first id, count" of a table and checks that they continue it. */
static const char *get_ids(struct reader *reader, struct bytes_cursor *cursor, enum table table,
	uint32_t *first_id, uint32_t *count)
{
	uint64_t first = bytes_get_varint(cursor);
	uint64_t n = bytes_get_varint(cursor);
	uint32_t expected = reader->next_id[table];
	if (cursor->overrun || n > bytes_left(cursor)) /* every entity takes a byte at least */
		return overrun;
	if (first < expected || first > UINT32_MAX || first + n > UINT32_MAX)
		return bad_ids;
	if (table == TABLE_EVENTS && first + n > LAYOUT_MAX_EVENTS + 1)
		return "more events than allowed";
	if (!keep(reader, first - expected + n, kept_bytes[table]))
		return too_much;
	reader->next_id[table] = (uint32_t)(first + n);
	*first_id = (uint32_t)first;
	*count = (uint32_t)n;
	return NULL;
}

static const char *decode_meta(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		size_t key_len, len;
		const uint8_t *key = bytes_get_blob(cursor, &key_len);
		const uint8_t *value = bytes_get_blob(cursor, &len);
		if (cursor->overrun)
			return overrun;
		if (++reader->nr_meta > LAYOUT_MAX_META)
			return "more META entries than allowed";
		if (!keep(reader, 1, KEPT_META + key_len + len))
			return too_much;
		if (reader->visitor->meta)
			reader->visitor->meta(reader->context, (const char *)key, key_len,
				(const char *)value, len);
	}
	return NULL;
}

static const char *decode_strings(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_STRINGS, &id, &count);
	if (!fault && !keep(reader, 1, bytes_left(cursor)))
		fault = too_much;
	if (fault)
		return fault;
	struct bytes_cursor lens = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	for (uint32_t i = 0; i < count; i++) {
		size_t len = bytes_get_varint(&lens);
		const uint8_t *bytes = bytes_get(cursor, len);
		if (!bytes)
			return overrun;
		if (reader->visitor->string)
			reader->visitor->string(reader->context, id + i, (const char *)bytes, len);
	}
	return NULL;
}

static const char *decode_events(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_EVENTS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_event event = {0};
		event.name = bytes_get_u32_varint(&record);
		event.period = bytes_get_varint(&record);
		event.frequency_hz = bytes_get_u32_varint(&record);
		event.unit = bytes_get_u32_varint(&record);
		if (record.overrun)
			return overrun;
		if (reader->visitor->event)
			reader->visitor->event(reader->context, id + i, &event);
	}
	return fault;
}

static const char *decode_object(struct reader *reader, struct bytes_cursor *record, uint32_t id)
{
	struct layout_object object = {0};
	object.kind = bytes_get_u32_varint(record);
	object.flags = bytes_get_u32_varint(record);
	object.path = bytes_get_u32_varint(record);
	size_t build_id_len;
	const uint8_t *build_id = bytes_get_blob(record, &build_id_len);
	if (build_id_len > LAYOUT_BUILD_ID_MAX_BYTES)
		return "a build ID of more than 64 bytes";
	object.build_id_len = (uint32_t)build_id_len;
	for (size_t i = 0; i < build_id_len; i++)
		object.build_id[i] = build_id[i];
	object.base = bytes_get_varint(record);
	object.size_bytes = bytes_get_varint(record);
	object.inode = bytes_get_varint(record);
	object.mtime_ns = bytes_get_varint(record);
	object.device = bytes_get_u32_varint(record);
	object.nr_segments = bytes_get_u32_varint(record);
	if (object.nr_segments > LAYOUT_MAX_SEGMENTS)
		return "an object with too many segments";
	if (!keep(reader, object.nr_segments, KEPT_SEGMENT))
		return too_much;
	struct layout_segment segments[LAYOUT_MAX_SEGMENTS];
	for (uint32_t i = 0; i < object.nr_segments; i++) {
		segments[i].vaddr = bytes_get_varint(record);
		segments[i].offset = bytes_get_varint(record);
		segments[i].filesz = bytes_get_varint(record);
		segments[i].memsz = bytes_get_varint(record);
		segments[i].flags = bytes_get_u32_varint(record);
	}
	object.segments = segments;
	if (record->overrun)
		return overrun;
	if (reader->visitor->object)
		reader->visitor->object(reader->context, id, &object);
	return NULL;
}

static const char *decode_objects(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_OBJECTS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		fault = decode_object(reader, &record, id + i);
	}
	return fault;
}

static struct layout_text get_text(struct bytes_cursor *cursor)
{
	struct layout_text text;
	text.bytes = (const char *)bytes_get_blob(cursor, &text.len);
	return text;
}

static const char *decode_origin(struct reader *reader, struct bytes_cursor *record, uint32_t id)
{
	struct layout_origin origin = {.name = get_text(record)};
	origin.flags = bytes_get_u32_varint(record);
	origin.reason = bytes_get_u32_varint(record);
	origin.clock.monotonic_ns = bytes_get_varint(record);
	origin.clock.realtime_ns = bytes_get_varint(record);
	origin.shift_ns = bytes_get_varint(record);
	origin.nr_meta = bytes_get_u32_varint(record);
	if (origin.nr_meta > LAYOUT_MAX_META)
		return "an origin with too much META";
	if (!keep(reader, origin.nr_meta, KEPT_META) || !keep(reader, 1, bytes_left(record)))
		return too_much;
	struct layout_origin_meta meta[LAYOUT_MAX_META];
	for (uint32_t i = 0; i < origin.nr_meta; i++) {
		meta[i].key = get_text(record);
		meta[i].value = get_text(record);
	}
	origin.meta = meta;
	if (record->overrun)
		return overrun;
	if (reader->visitor->origin)
		reader->visitor->origin(reader->context, id, &origin);
	return NULL;
}

static const char *decode_origins(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_ORIGINS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		fault = decode_origin(reader, &record, id + i);
	}
	return fault;
}

static const char *decode_processes(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_PROCESSES, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_process process = {0};
		process.pid = bytes_get_u32_varint(&record);
		process.ns_pid = bytes_get_u32_varint(&record);
		process.parent_pid = bytes_get_u32_varint(&record);
		process.start_ns = bytes_get_varint(&record);
		process.exe = bytes_get_u32_varint(&record);
		process.cgroup = bytes_get_u32_varint(&record);
		process.container = bytes_get_u32_varint(&record);
		if (bytes_left(&record))
			process.origin = bytes_get_u32_varint(&record);
		if (record.overrun)
			return overrun;
		if (reader->visitor->process)
			reader->visitor->process(reader->context, id + i, &process);
	}
	return fault;
}

static const char *decode_threads(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_THREADS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_thread thread = {0};
		thread.process = bytes_get_u32_varint(&record);
		thread.tid = bytes_get_u32_varint(&record);
		thread.comm = bytes_get_u32_varint(&record);
		if (record.overrun)
			return overrun;
		if (reader->visitor->thread)
			reader->visitor->thread(reader->context, id + i, &thread);
	}
	return fault;
}

static const char *decode_mappings(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_mapping mapping = {0};
		mapping.process = bytes_get_u32_varint(&record);
		mapping.object = bytes_get_u32_varint(&record);
		mapping.start = bytes_get_varint(&record);
		mapping.length = bytes_get_varint(&record);
		mapping.offset = bytes_get_varint(&record);
		mapping.time_ns = bytes_get_varint(&record);
		if (record.overrun)
			return overrun;
		if (!keep(reader, 1, KEPT_MAPPING))
			return too_much;
		if (reader->visitor->mapping)
			reader->visitor->mapping(reader->context, &mapping);
	}
	return NULL;
}

/* Columns that a chunk may have or not, until its end: (number, values). NULL or a fault. */
static const char *get_column(
	struct bytes_cursor *cursor, uint64_t *number, struct bytes_cursor *values)
{
	*number = bytes_get_varint(cursor);
	*values = bytes_get_record(cursor);
	return cursor->overrun ? overrun : NULL;
}

/* One cursor a column of FRAMES. */
struct frame_columns {
	struct bytes_cursor objects, offsets, flags;
};

static const char *get_frame_columns(
	struct bytes_cursor *cursor, uint32_t count, struct frame_columns *ret)
{
	ret->objects = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	ret->offsets = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	if (cursor->overrun)
		return overrun;
	while (bytes_left(cursor)) {
		uint64_t number;
		struct bytes_cursor values;
		const char *fault = get_column(cursor, &number, &values);
		if (fault)
			return fault;
		if (number == LAYOUT_FRAME_COLUMN_FLAGS) /* others are of a later version */
			ret->flags = values;
	}
	return NULL;
}

static const char *decode_frames(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_FRAMES, &id, &count);
	struct frame_columns columns = {0};
	if (!fault)
		fault = get_frame_columns(cursor, count, &columns);
	struct map last_offset = {0};
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct layout_frame frame = {.object = bytes_get_u32_varint(&columns.objects)};
		uint64_t *last = map_put(&last_offset, frame.object, NULL);
		*last += (uint64_t)bytes_get_zigzag(&columns.offsets);
		frame.offset = *last;
		if (columns.flags.start)
			frame.flags = bytes_get_u32_varint(&columns.flags);
		if (columns.objects.overrun || columns.flags.overrun)
			fault = overrun;
		else if (reader->visitor->frame)
			reader->visitor->frame(reader->context, id + i, &frame);
	}
	map_deinit(&last_offset);
	return fault;
}

static const char *decode_stacks(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_NODES, &id, &count);
	if (fault)
		return fault;
	struct bytes_cursor parents = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	uint64_t frame = 0;
	for (uint32_t i = 0; i < count; i++, id++) {
		uint64_t back = bytes_get_varint(&parents);
		frame += (uint64_t)bytes_get_zigzag(cursor);
		if (cursor->overrun)
			return overrun;
		if (back >= id || frame > UINT32_MAX) /* below 0 counts as far above */
			return "a stack whose caller or frame is out of range";
		struct layout_node node = {
			.parent = back ? id - (uint32_t)back : 0,
			.frame = (uint32_t)frame,
		};
		if (reader->visitor->node)
			reader->visitor->node(reader->context, id, &node);
	}
	return NULL;
}

static void visit_samples(struct reader *reader, const struct layout_sample *samples, size_t count)
{
	if (!reader->visitor->sample)
		return;
	for (size_t i = 0; i < count; i++)
		reader->visitor->sample(reader->context, &samples[i]);
}

static const char *decode_samples(struct reader *reader, struct bytes_cursor *cursor)
{
	struct sample_decoder decoder;
	const char *fault = sample_decoder_init(&decoder, cursor);
	if (fault)
		return fault;
	if (!keep(reader, decoder.left, KEPT_SAMPLE))
		return too_much;
	if (reader->samples->is_decoded) {
		visit_samples(reader, reader->samples->data, reader->samples->len);
		return reader->samples->fault;
	}
	while (!fault && decoder.left) {
		struct layout_sample some[64];
		size_t count;
		fault = sample_decoder_take(&decoder, some, sizeof(some) / sizeof(*some), &count);
		visit_samples(reader, some, count);
	}
	return fault;
}

static const char *decode_snapshot(struct bytes_cursor *record, struct layout_snapshot *ret)
{
	size_t stack_bytes;
	ret->process = bytes_get_u32_varint(record);
	ret->time_ns = bytes_get_varint(record);
	ret->is_exact = bytes_get_varint(record) & LAYOUT_SNAPSHOT_EXACT;
	ret->stack_address = bytes_get_varint(record);
	ret->known = bytes_get_varint(record);
	if (ret->known & ~LAYOUT_REGISTERS_MASK)
		return "a register that cannot be";
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		if (ret->known >> i & 1)
			ret->registers[i] = bytes_get_u64(record);
	ret->stack = bytes_get_blob(record, &stack_bytes);
	if (record->overrun)
		return overrun;
	if (stack_bytes > LAYOUT_MAX_SNAPSHOT_BYTES)
		return "a snapshot with too much of a stack";
	ret->stack_bytes = (uint32_t)stack_bytes;
	return NULL;
}

static const char *decode_snapshots(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = get_ids(reader, cursor, TABLE_SNAPSHOTS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_snapshot snapshot = {0};
		fault = decode_snapshot(&record, &snapshot);
		if (!fault && reader->visitor->snapshot)
			reader->visitor->snapshot(reader->context, id + i, &snapshot);
	}
	return fault;
}

static const char *decode_symbols(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_symbol symbol = {0};
		symbol.object = bytes_get_u32_varint(cursor);
		symbol.offset = bytes_get_varint(cursor);
		symbol.size = bytes_get_varint(cursor);
		symbol.name = bytes_get_u32_varint(cursor);
		if (cursor->overrun)
			return overrun;
		if (!keep(reader, 1, KEPT_SYMBOL))
			return too_much;
		if (reader->visitor->symbol)
			reader->visitor->symbol(reader->context, &symbol);
	}
	return NULL;
}

static const char *decode_code(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_code code = {0};
		code.object = bytes_get_u32_varint(&record);
		code.offset = bytes_get_varint(&record);
		code.start = code.offset - (uint64_t)bytes_get_zigzag(&record);
		code.time_ns = bytes_get_varint(&record);
		code.name = bytes_get_u32_varint(&record);
		code.file = bytes_get_u32_varint(&record);
		code.line = bytes_get_u32_varint(&record);
		if (record.overrun)
			return overrun;
		if (!keep(reader, 1, KEPT_CODE))
			return too_much;
		if (reader->visitor->code)
			reader->visitor->code(reader->context, &code);
	}
	return NULL;
}

static const char *decode_unwound(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_unwound unwound = {0};
		unwound.snapshot = bytes_get_u32_varint(cursor);
		unwound.node = bytes_get_u32_varint(cursor);
		if (cursor->overrun)
			return overrun;
		if (!keep(reader, 1, KEPT_UNWOUND))
			return too_much;
		if (reader->visitor->unwound)
			reader->visitor->unwound(reader->context, &unwound);
	}
	return NULL;
}

static const char *decode_answers(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t object = bytes_get_u32_varint(cursor);
	if (cursor->overrun)
		return overrun;
	struct answers *answers = NULL;
	if (reader->visitor->answers)
		answers = reader->visitor->answers(reader->context, object);
	if (!answers)
		return NULL;
	if (!keep(reader, bytes_left(cursor), KEPT_ANSWERED_BYTE))
		return too_much;
	return answers_decode(answers, cursor);
}

static const char *decode_counters(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		struct layout_counter_value value = {0};
		value.counter = bytes_get_u32_varint(cursor);
		value.cpu = bytes_get_u32_varint(cursor);
		value.value = bytes_get_varint(cursor);
		if (cursor->overrun)
			return overrun;
		if (value.cpu >= LAYOUT_MAX_CPUS)
			return bad_cpu;
		if (reader->visitor->counter)
			reader->visitor->counter(reader->context, &value);
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
			return overrun;
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
		return overrun;
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
	[LAYOUT_CHUNK_ANSWERS] = decode_answers,
	[LAYOUT_CHUNK_UNWOUND] = decode_unwound,
	[LAYOUT_CHUNK_ORIGINS] = decode_origins,
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
