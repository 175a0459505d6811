/*
 * Three forms, all of ranges of code in their order with the lines counted on
 * from the first line of the function.
 *
 * Sources: Objects/lnotab_notes.txt of CPython 3.9 and 3.10, Objects/locations.md of 3.11.
 */
#include "record/runtime/python/python_lines.h"

#include "format/base/bytes.h"

enum {
	MAX_LINE = 1 << 24,

	NO_LINE_DELTA = -128, /* 3.10 */

	/* An entry's kind, 3.11 and later. */
	SHORT_LAST = 9, /* columns in one more byte; the line stays */
	ONE_LINE_FIRST = 10,
	ONE_LINE_LAST = 12, /* two bytes of columns; so many lines on */
	NO_COLUMNS = 13,
	LONG = 14,
	NO_LOCATION = 15,
};

static uint32_t python_lines_checked(int64_t line)
{
	return line > 0 && line < MAX_LINE ? (uint32_t)line : 0;
}

/*
 * Until 3.9. Places are bytes. A pair says where the next range begins and its line: an entry is
 * what lies ahead of that. The last range has no end.
 */
static bool next_increment(struct bytes_cursor *cursor, struct runtime_line_entry *entry)
{
	if (entry->end > UINT32_MAX)
		return false;
	entry->line = python_lines_checked(entry->base);
	if (bytes_left(cursor) < 2) {
		entry->end = (uint64_t)UINT32_MAX + 1;
		return true;
	}
	entry->end += bytes_get_u8(cursor);
	entry->base += (int8_t)bytes_get_u8(cursor);
	return true;
}

/* 3.10. Lengths are bytes, places instructions of two. */
static bool python_lines_next_pair(struct bytes_cursor *cursor, struct runtime_line_entry *entry)
{
	if (bytes_left(cursor) < 2)
		return false;
	entry->end += bytes_get_u8(cursor) / 2; /* all are even */
	int8_t delta = (int8_t)bytes_get_u8(cursor);
	bool has_line = delta != NO_LINE_DELTA;
	entry->base += has_line ? delta : 0;
	entry->line = has_line ? python_lines_checked(entry->base) : 0;
	return true;
}

/* Six bits a byte, the lowest first. */
static uint32_t get_varint(struct bytes_cursor *cursor)
{
	uint32_t value = 0;
	uint8_t byte = 0x40;
	for (unsigned shift = 0; byte & 0x40 && shift < 32; shift += 6) {
		byte = bytes_get_u8(cursor);
		value |= (uint32_t)(byte & 0x3f) << shift;
	}
	return value;
}

static int64_t get_signed_varint(struct bytes_cursor *cursor)
{
	uint32_t value = get_varint(cursor);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* How many lines on the entry is; the cursor goes behind it. */
static int64_t get_delta(struct bytes_cursor *cursor, unsigned kind)
{
	int64_t delta = 0;
	if (kind <= SHORT_LAST) {
		bytes_get_u8(cursor);
	} else if (kind <= ONE_LINE_LAST) {
		delta = kind - ONE_LINE_FIRST;
		bytes_get_u16(cursor);
	} else if (kind == NO_COLUMNS) {
		delta = get_signed_varint(cursor);
	} else if (kind == LONG) {
		delta = get_signed_varint(cursor);
		for (int i = 0; i < 3; i++) /* the last line, and two columns */
			get_varint(cursor);
	}
	return delta;
}

/* From 3.11 on. Lengths and places are instructions. */
static bool next_location(struct bytes_cursor *cursor, struct runtime_line_entry *entry)
{
	if (!bytes_left(cursor))
		return false;
	uint8_t head = bytes_get_u8(cursor);
	unsigned kind = head >> 3 & 15;
	if (!(head & 0x80))
		return false;
	entry->base += get_delta(cursor, kind);
	entry->end += (head & 7U) + 1;
	entry->line = kind == NO_LOCATION ? 0 : python_lines_checked(entry->base);
	return !cursor->overrun;
}

bool python_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	struct bytes_cursor cursor =
		bytes_cursor(lines->bytes + entry->next, lines->len - entry->next);
	bool is_next = lines->version <= 9    ? next_increment(&cursor, entry)
		       : lines->version == 10 ? python_lines_next_pair(&cursor, entry)
					      : next_location(&cursor, entry);
	entry->next += bytes_offset(&cursor);
	return is_next;
}
