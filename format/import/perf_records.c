#include "format/import/perf_records.h"

#include <stdlib.h>
#include <string.h>

#include "format/import/perf_sample.h"
#include "format/import/zstd_stream.h"

enum {
	HEADER_BYTES = 8,
	WINDOW_BYTES = 1 << 20,
	MAX_UNPACKED_BYTES = 1 << 30,
	MAX_RECORDS = 1 << 28,
};

/* ---- which event ---- */

static const struct perf_event *event_by_id(const struct perf_header *header, uint64_t id)
{
	const uint64_t *index = map_get(&header->events_by_id, id);
	return index && *index < header->events.len ? &header->events.data[*index] : NULL;
}

static uint64_t word_at(const uint8_t *body, size_t len, size_t word)
{
	struct bytes_cursor cursor = bytes_cursor(body, len);
	bytes_get(&cursor, word * sizeof(uint64_t));
	return bytes_get_u64(&cursor);
}

/* With several events, all have their ids at one place: perf sees to that. */
const struct perf_event *perf_records_event(const struct perf_header *header,
	enum perf_record_type type, const uint8_t *body, size_t len)
{
	size_t word;
	if (!header->events.len)
		return NULL;
	const struct perf_event *first = header->events.data;
	if (header->events.len == 1 || (type != PERF_TYPE_SAMPLE && !first->has_sample_ids))
		return first;
	if (type == PERF_TYPE_SAMPLE)
		return perf_sample_id_place(first, &word)
			       ? event_by_id(header, word_at(body, len, word))
			       : first;
	if (!(first->sample_type & PERF_HAS_IDENTIFIER) || len < sizeof(uint64_t))
		return first;
	const struct perf_event *event =
		event_by_id(header, word_at(body, len, len / sizeof(uint64_t) - 1));
	return event ? event : first;
}

/* ---- reading ---- */

/* `len` bytes of the file, which are there until the next call. The file has them. */
static struct err *perf_records_look(
	struct perf_records *records, uint64_t offset, size_t len, const uint8_t **ret)
{
	uint64_t start = records->window_offset, end = start + records->window.len;
	if (offset < start || offset > end || len > end - offset) {
		uint64_t left = records->file->bytes - offset;
		uint64_t wanted = left < WINDOW_BYTES ? left : WINDOW_BYTES;
		records->window_offset = offset;
		try(import_file_read(
			records->file, offset, wanted, "its records", &records->window));
	}
	*ret = records->window.data + (offset - records->window_offset);
	return NULL;
}

struct raw_record {
	uint32_t type;
	uint16_t misc, bytes;
	const uint8_t *body;
	size_t len;
};

/* Of a record's first bytes. */
static struct raw_record get_raw_header(const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, HEADER_BYTES);
	struct raw_record record = {.type = bytes_get_u32(&cursor)};
	record.misc = bytes_get_u16(&cursor);
	record.bytes = bytes_get_u16(&cursor);
	return record;
}

/* ---- records that tell of all others ---- */

static void take_attr_record(struct perf_header *header, struct bytes_cursor *body)
{
	size_t left = bytes_left(body);
	struct bytes_cursor peek = *body;
	bytes_get_u32(&peek);
	uint32_t bytes = bytes_get_u32(&peek);
	if (bytes > left || header->events.len >= LAYOUT_MAX_EVENTS - 1)
		return;
	struct bytes_cursor attr = bytes_get_cursor(body, bytes);
	if (perf_header_add_event(header, &attr))
		perf_header_add_ids(header, header->events.len - 1, body);
}

/* Only what an event is called; units and scales are those of counters. */
static void take_event_update(struct perf_header *header, struct bytes_cursor *body)
{
	enum {
		UPDATE_NAME = 2,
	};
	uint64_t kind = bytes_get_u64(body);
	const uint64_t *index = map_get(&header->events_by_id, bytes_get_u64(body));
	size_t left = bytes_left(body);
	const char *name = (const char *)bytes_get(body, left);
	if (kind != UPDATE_NAME || !index || *index >= header->events.len || !left)
		return;
	struct perf_event *event = &header->events.data[*index];
	mem_free(event->name);
	event->name = mem_strndup(name, strnlen(name, left));
}

static void take_feature_record(struct perf_header *header, struct bytes_cursor *body)
{
	uint64_t feature = bytes_get_u64(body);
	size_t left = bytes_left(body);
	if (!body->overrun && feature < UINT8_MAX)
		perf_header_add_feature(header, (unsigned)feature, bytes_get(body, left), left);
}

/* False: it is an event, in the order of times. */
static bool take_record_of_all(struct perf_header *header, const struct raw_record *record)
{
	struct bytes_cursor body = bytes_cursor(record->body, record->len);
	switch ((enum perf_record_type)record->type) {
	case PERF_TYPE_ATTR:
		take_attr_record(header, &body);
		return true;
	case PERF_TYPE_EVENT_UPDATE:
		take_event_update(header, &body);
		return true;
	case PERF_TYPE_FEATURE:
		take_feature_record(header, &body);
		return true;
	case PERF_TYPE_BUILD_ID:
		perf_header_add_build_id(header, record->misc, &body);
		return true;
	default:
		return false;
	}
}

/* Data that follow on a record without being one. */
static uint64_t bytes_behind(const struct raw_record *record)
{
	struct bytes_cursor body = bytes_cursor(record->body, record->len);
	if (record->type == PERF_TYPE_AUXTRACE)
		return bytes_get_u64(&body);
	if (record->type == PERF_TYPE_TRACING_DATA)
		return ((uint64_t)bytes_get_u32(&body) + 7) & ~7ULL;
	return 0;
}

/* ---- the list ---- */

static bool is_wanted_record(uint32_t type)
{
	switch ((enum perf_record_type)type) {
	case PERF_TYPE_MMAP:
	case PERF_TYPE_LOST:
	case PERF_TYPE_COMM:
	case PERF_TYPE_FORK:
	case PERF_TYPE_SAMPLE:
	case PERF_TYPE_MMAP2:
	case PERF_TYPE_LOST_SAMPLES:
	case PERF_TYPE_KSYMBOL:
		return true;
	default:
		return false;
	}
}

static uint64_t time_of_record(const struct perf_header *header, const struct raw_record *record)
{
	const struct perf_event *event = perf_records_event(
		header, (enum perf_record_type)record->type, record->body, record->len);
	struct perf_sample sample;
	if (!event)
		return 0;
	if (record->type != PERF_TYPE_SAMPLE)
		return perf_sample_time_of_other(event, record->body, record->len);
	struct bytes_cursor body = bytes_cursor(record->body, record->len);
	return perf_sample_read(event, &body, &sample) ? sample.time_ns : 0;
}

static struct err *list_record(struct perf_records *records, const struct raw_record *record,
	uint64_t offset, bool unpacked)
{
	if (take_record_of_all(records->header, record) || !is_wanted_record(record->type))
		return NULL;
	if (records->places.len == MAX_RECORDS)
		return err_new(ERR_FORMAT, "it has more than %d records", MAX_RECORDS);
	vec_push(&records->places, (struct perf_record_place){
					   .time_ns = time_of_record(records->header, record),
					   .offset = offset,
					   .bytes = record->bytes,
					   .type = (uint8_t)record->type,
					   .is_unpacked = unpacked,
				   });
	return NULL;
}

static struct err *bad_size(const struct raw_record *record, uint64_t offset, const char *where)
{
	return err_new(ERR_FORMAT, "the record at offset %llu%s says that it has %u bytes",
		(unsigned long long)offset, where, record->bytes);
}

/* Records that were unpacked since; one may go on in the next piece. */
static struct err *list_unpacked(struct perf_records *records, uint64_t *offset)
{
	const struct bytes_buf *bytes = &records->unpacked;
	while (bytes->len - *offset >= HEADER_BYTES) {
		struct raw_record record = get_raw_header(bytes->data + *offset);
		if (record.bytes < HEADER_BYTES)
			return bad_size(&record, *offset, " of what was compressed");
		if (record.bytes > bytes->len - *offset)
			break;
		record.body = bytes->data + *offset + HEADER_BYTES;
		record.len = record.bytes - (size_t)HEADER_BYTES;
		try(list_record(records, &record, *offset, true));
		*offset += record.bytes;
	}
	return NULL;
}

static struct err *unpack_record(
	struct perf_records *records, const struct raw_record *record, uint64_t *unpacked_offset)
{
	struct bytes_cursor body = bytes_cursor(record->body, record->len);
	if (record->type == PERF_TYPE_COMPRESSED2) {
		uint64_t bytes = bytes_get_u64(&body);
		if (bytes < bytes_left(&body))
			body.end = body.pos + bytes; /* padding follows */
	}
	try(zstd_stream_unpack(&records->zstd, body.pos, bytes_left(&body), MAX_UNPACKED_BYTES,
		&records->unpacked));
	return list_unpacked(records, unpacked_offset);
}

static struct err *list_all(struct perf_records *records)
{
	uint64_t offset = records->header->data_offset, unpacked_offset = 0;
	uint64_t end = offset + records->header->data_bytes;
	while (offset < end) {
		const uint8_t *bytes;
		records->cut_offset = offset;
		if (end - offset < HEADER_BYTES)
			break;
		try(perf_records_look(records, offset, HEADER_BYTES, &bytes));
		struct raw_record record = get_raw_header(bytes);
		if (record.bytes < HEADER_BYTES)
			return bad_size(&record, offset, "");
		if (record.bytes > end - offset)
			break;
		try(perf_records_look(records, offset, record.bytes, &bytes));
		record.body = bytes + HEADER_BYTES;
		record.len = record.bytes - (size_t)HEADER_BYTES;
		if (record.type == PERF_TYPE_COMPRESSED || record.type == PERF_TYPE_COMPRESSED2)
			try(err_wrap(unpack_record(records, &record, &unpacked_offset),
				"offset %llu", (unsigned long long)offset));
		else
			try(list_record(records, &record, offset, false));
		uint64_t behind = bytes_behind(&record);
		offset += record.bytes;
		if (behind > end - offset)
			break;
		offset += behind;
	}
	records->is_cut = offset != end;
	return NULL;
}

static int compare_record_places(const void *a, const void *b)
{
	const struct perf_record_place *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->is_unpacked != y->is_unpacked)
		return x->is_unpacked ? 1 : -1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct err *perf_records_list(
	struct perf_records *records, const struct import_file *file, struct perf_header *header)
{
	*records = (struct perf_records){.file = file, .header = header};
	try(list_all(records));
	if (records->places.len)
		qsort(records->places.data, records->places.len, sizeof(*records->places.data),
			compare_record_places);
	return NULL;
}

struct err *perf_records_get(struct perf_records *records, size_t index, struct perf_record *ret)
{
	const struct perf_record_place *place = &records->places.data[index];
	const uint8_t *bytes;
	if (place->is_unpacked)
		bytes = records->unpacked.data + place->offset;
	else
		try(perf_records_look(records, place->offset, place->bytes, &bytes));
	struct raw_record record = get_raw_header(bytes);
	*ret = (struct perf_record){
		.type = (enum perf_record_type)place->type,
		.misc = record.misc,
		.time_ns = place->time_ns,
		.offset = place->offset,
		.body = bytes_cursor(bytes + HEADER_BYTES, place->bytes - (size_t)HEADER_BYTES),
	};
	return NULL;
}

void perf_records_deinit(struct perf_records *records)
{
	vec_deinit(&records->places);
	bytes_buf_deinit(&records->unpacked);
	bytes_buf_deinit(&records->window);
	zstd_stream_destroy(records->zstd);
}
