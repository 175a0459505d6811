/*
 * Three forms, all of ranges of code in their order with the lines counted on
 * from the first line of the function.
 *
 * Sources: Objects/lnotab_notes.txt of CPython 3.9 and 3.10, Objects/locations.md of 3.11.
 */
#include "record/vm/python_lines.h"

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

static uint32_t checked(int64_t line)
{
	return line > 0 && line < MAX_LINE ? (uint32_t)line : 0;
}

/* Until 3.9. Places are bytes. */
static uint32_t line_by_increments(struct bytes_cursor *cursor, int64_t line, uint32_t place)
{
	uint32_t at = 0;
	while (bytes_left(cursor) >= 2) {
		at += bytes_get_u8(cursor);
		if (at > place)
			break;
		line += (int8_t)bytes_get_u8(cursor);
	}
	return checked(line);
}

/* 3.10. Lengths are bytes, places instructions of two. */
static uint32_t line_by_pairs(struct bytes_cursor *cursor, int64_t line, uint32_t place)
{
	uint64_t end = 0;
	while (bytes_left(cursor) >= 2) {
		end += bytes_get_u8(cursor);
		int8_t delta = (int8_t)bytes_get_u8(cursor);
		bool has_line = delta != NO_LINE_DELTA;
		line += has_line ? delta : 0;
		if (end > (uint64_t)place * 2)
			return has_line ? checked(line) : 0;
	}
	return 0;
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
static uint32_t line_by_locations(struct bytes_cursor *cursor, int64_t line, uint32_t place)
{
	uint64_t end = 0;
	while (bytes_left(cursor)) {
		uint8_t head = bytes_get_u8(cursor);
		unsigned kind = head >> 3 & 15;
		if (!(head & 0x80))
			return 0;
		line += get_delta(cursor, kind);
		end += (head & 7U) + 1;
		if (end > place)
			return cursor->overrun || kind == NO_LOCATION ? 0 : checked(line);
	}
	return 0;
}

uint32_t python_line_of(const struct vm_lines *lines, uint32_t place)
{
	struct bytes_cursor cursor = bytes_cursor(lines->bytes, lines->len);
	if (lines->version <= 9)
		return line_by_increments(&cursor, lines->first_line, place);
	if (lines->version == 10)
		return line_by_pairs(&cursor, lines->first_line, place);
	return line_by_locations(&cursor, lines->first_line, place);
}
