/*
 * Sources: src/java/share/code/compressedStream.{hpp,cpp}, utilities/unsigned5.hpp of JDK 11,
 * 17, 21, 25.
 */
#include "record/runtime/java/java_lines.h"

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "record/runtime/runtime_memory.h"

enum {
	LONG_PAIR = 0xff, /* both numbers follow */
	SHORT_LINE_BITS = 3,
	NUMBER_MAX_BYTES = 5,
	NUMBER_LAST = 192, /* bytes below are a number's last one */
	NUMBER_SHIFT = 6,
	WITHOUT_ZERO_SINCE = 20, /* from this Java on no byte of a number is 0 */
	MAX_LINE = 1 << 24,
	CHUNK_BYTES = 512,
	MAX_BYTES = 1 << 18,
};

uint32_t java_lines_number(struct bytes_cursor *cursor, uint8_t version)
{
	uint32_t number = 0, excluded = version >= WITHOUT_ZERO_SINCE;
	for (int i = 0; i < NUMBER_MAX_BYTES; i++) {
		uint32_t byte = bytes_get_u8(cursor);
		number += (byte - excluded) << i * NUMBER_SHIFT;
		if (byte < NUMBER_LAST)
			break;
	}
	return number;
}

static int32_t get_signed(struct bytes_cursor *cursor, uint8_t version)
{
	uint32_t number = java_lines_number(cursor, version);
	return (int32_t)(number >> 1 ^ -(number & 1));
}

/* False: that was the end. */
static bool get_line_pair(
	struct bytes_cursor *cursor, uint8_t version, int64_t *place_delta, int64_t *line_delta)
{
	uint8_t byte = bytes_get_u8(cursor);
	if (!byte || cursor->overrun)
		return false;
	*place_delta = byte >> SHORT_LINE_BITS;
	*line_delta = byte & ((1 << SHORT_LINE_BITS) - 1);
	if (byte == LONG_PAIR) {
		*place_delta = get_signed(cursor, version);
		*line_delta = get_signed(cursor, version);
	}
	return !cursor->overrun;
}

/* A pair says where its line begins: an entry is what lies ahead of it. The last has no end. */
bool java_lines_next(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	int64_t place_delta, line_delta;
	if (entry->end > UINT32_MAX || entry->next > lines->len)
		return false;
	struct bytes_cursor cursor =
		bytes_cursor(lines->bytes + entry->next, lines->len - entry->next);
	entry->line = entry->base > 0 && entry->base < MAX_LINE ? (uint32_t)entry->base : 0;
	if (!get_line_pair(&cursor, lines->version, &place_delta, &line_delta) || place_delta < 0) {
		entry->end = (uint64_t)UINT32_MAX + 1;
		return true;
	}
	entry->end += (uint64_t)place_delta;
	entry->base += line_delta;
	entry->next = lines->len - bytes_left(&cursor);
	return true;
}

/* Its length stands nowhere: to the end that it says. */
bool java_lines_read(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	uint64_t address = event->address[what];
	uint8_t chunk[CHUNK_BYTES];
	if (what != RUNTIME_TEXT_LINES)
		return false;
	while (bytes.len < MAX_BYTES) {
		int64_t place_delta, line_delta;
		/* Nothing may be mapped behind the end of a chunk that is not aligned. */
		size_t len = CHUNK_BYTES - (address + bytes.len) % CHUNK_BYTES;
		if (!runtime_read_process(event->pid, address + bytes.len, chunk, len))
			return false;
		bytes_put(&bytes, chunk, len);
		struct bytes_cursor cursor = bytes_cursor(bytes.data, bytes.len);
		while (get_line_pair(&cursor, event->version, &place_delta, &line_delta))
			;
		if (cursor.overrun)
			continue;
		ret->len = bytes.len - bytes_left(&cursor);
		ret->unit = 1;
		ret->data = mem_alloc(ret->len);
		memcpy(ret->data, bytes.data, ret->len);
		return true;
	}
	return false;
}
