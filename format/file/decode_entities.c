#include "format/file/decode.h"

const char *decode_meta(struct reader *reader, struct bytes_cursor *cursor)
{
	while (bytes_left(cursor)) {
		size_t key_len, len;
		const uint8_t *key = bytes_get_blob(cursor, &key_len);
		const uint8_t *value = bytes_get_blob(cursor, &len);
		if (cursor->overrun)
			return FAULT_OVERRUN;
		if (++reader->nr_meta > LAYOUT_MAX_META)
			return "more META entries than allowed";
		if (!decode_keep(reader, 1, KEPT_META + key_len + len))
			return DECODE_TOO_MUCH;
		if (reader->visitor->meta)
			reader->visitor->meta(reader->context, (const char *)key, key_len,
				(const char *)value, len);
	}
	return NULL;
}

const char *decode_strings(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_STRINGS, &id, &count);
	if (!fault && !decode_keep(reader, 1, bytes_left(cursor)))
		fault = DECODE_TOO_MUCH;
	if (fault)
		return fault;
	struct bytes_cursor lens = *cursor;
	for (uint32_t i = 0; i < count; i++)
		bytes_get_varint(cursor);
	for (uint32_t i = 0; i < count; i++) {
		size_t len = bytes_get_varint(&lens);
		const uint8_t *bytes = bytes_get(cursor, len);
		if (!bytes)
			return FAULT_OVERRUN;
		if (reader->visitor->string)
			reader->visitor->string(reader->context, id + i, (const char *)bytes, len);
	}
	return NULL;
}

const char *decode_events(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_EVENTS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_event event = {0};
		event.name = bytes_get_u32_varint(&record);
		event.period = bytes_get_varint(&record);
		event.frequency_hz = bytes_get_u32_varint(&record);
		event.unit = bytes_get_u32_varint(&record);
		if (bytes_left(&record)) /* since version 1.4 */
			event.source = bytes_get_u32_varint(&record);
		if (record.overrun)
			return FAULT_OVERRUN;
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
	if (!decode_keep(reader, object.nr_segments, KEPT_SEGMENT))
		return DECODE_TOO_MUCH;
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
		return FAULT_OVERRUN;
	if (reader->visitor->object)
		reader->visitor->object(reader->context, id, &object);
	return NULL;
}

const char *decode_objects(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_OBJECTS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		fault = decode_object(reader, &record, id + i);
	}
	return fault;
}

static struct layout_text decode_entities_get_text(struct bytes_cursor *cursor)
{
	struct layout_text text;
	text.bytes = (const char *)bytes_get_blob(cursor, &text.len);
	return text;
}

static const char *decode_origin(struct reader *reader, struct bytes_cursor *record, uint32_t id)
{
	struct layout_origin origin = {.name = decode_entities_get_text(record)};
	origin.flags = bytes_get_u32_varint(record);
	origin.reason = bytes_get_u32_varint(record);
	origin.clock.monotonic_ns = bytes_get_varint(record);
	origin.clock.realtime_ns = bytes_get_varint(record);
	origin.shift_ns = bytes_get_varint(record);
	origin.nr_meta = bytes_get_u32_varint(record);
	if (origin.nr_meta > LAYOUT_MAX_META)
		return "an origin with too much META";
	if (!decode_keep(reader, origin.nr_meta, KEPT_META) ||
		!decode_keep(reader, 1, bytes_left(record)))
		return DECODE_TOO_MUCH;
	struct layout_origin_meta meta[LAYOUT_MAX_META];
	for (uint32_t i = 0; i < origin.nr_meta; i++) {
		meta[i].key = decode_entities_get_text(record);
		meta[i].value = decode_entities_get_text(record);
	}
	origin.meta = meta;
	if (record->overrun)
		return FAULT_OVERRUN;
	if (reader->visitor->origin)
		reader->visitor->origin(reader->context, id, &origin);
	return NULL;
}

const char *decode_origins(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_ORIGINS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		fault = decode_origin(reader, &record, id + i);
	}
	return fault;
}

const char *decode_processes(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_PROCESSES, &id, &count);
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
			return FAULT_OVERRUN;
		if (reader->visitor->process)
			reader->visitor->process(reader->context, id + i, &process);
	}
	return fault;
}

const char *decode_threads(struct reader *reader, struct bytes_cursor *cursor)
{
	uint32_t id, count;
	const char *fault = decode_ids(reader, cursor, TABLE_THREADS, &id, &count);
	for (uint32_t i = 0; !fault && i < count; i++) {
		struct bytes_cursor record = bytes_get_record(cursor);
		struct layout_thread thread = {0};
		thread.process = bytes_get_u32_varint(&record);
		thread.tid = bytes_get_u32_varint(&record);
		thread.comm = bytes_get_u32_varint(&record);
		if (bytes_left(&record)) /* since version 1.9 */
			thread.kernel_name = bytes_get_u32_varint(&record);
		if (record.overrun)
			return FAULT_OVERRUN;
		if (reader->visitor->thread)
			reader->visitor->thread(reader->context, id + i, &thread);
	}
	return fault;
}

const char *decode_mappings(struct reader *reader, struct bytes_cursor *cursor)
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
			return FAULT_OVERRUN;
		if (!decode_keep(reader, 1, KEPT_MAPPING))
			return DECODE_TOO_MUCH;
		if (reader->visitor->mapping)
			reader->visitor->mapping(reader->context, &mapping);
	}
	return NULL;
}
