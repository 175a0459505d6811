/*
 * A bytes_cursor read the fast way: a symbolizer goes over hundreds of
 * megabytes, byte by byte, and a call for each would be what it spends its time
 * on. The contract is that of bytes.h: what is not there reads as 0 and sets `overrun`.
 */
#ifndef EBPROF_DWARF_CURSOR_H
#define EBPROF_DWARF_CURSOR_H

#include <endian.h>
#include <string.h>

#include "format/base/bytes.h"

/* Borrowed bytes; data may be NULL when len is 0. */
struct dwarf_span {
	const uint8_t *data;
	uint64_t len;
};

/* Never over NULL, to which not even 0 may be added before C2y. */
static inline struct bytes_cursor dwarf_cursor(struct dwarf_span span)
{
	static const uint8_t nothing[1];
	return bytes_cursor(span.data ? span.data : nothing, span.data ? (size_t)span.len : 0);
}

static inline struct bytes_cursor dwarf_cursor_at(struct dwarf_span span, uint64_t offset)
{
	struct bytes_cursor cursor = dwarf_cursor(span);
	if (offset < span.len)
		cursor.start = cursor.pos = cursor.pos + offset;
	else
		cursor.start = cursor.pos = cursor.end;
	cursor.overrun = offset >= span.len;
	return cursor;
}

static inline void dwarf_overrun(struct bytes_cursor *cursor)
{
	cursor->overrun = true;
	cursor->pos = cursor->end;
}

static inline bool dwarf_has(const struct bytes_cursor *cursor, uint64_t len)
{
	return len <= (uint64_t)(cursor->end - cursor->pos);
}

static inline void dwarf_skip(struct bytes_cursor *cursor, uint64_t len)
{
	if (dwarf_has(cursor, len))
		cursor->pos += len;
	else
		dwarf_overrun(cursor);
}

static inline uint8_t dwarf_u8(struct bytes_cursor *cursor)
{
	if (cursor->pos < cursor->end)
		return *cursor->pos++;
	cursor->overrun = true;
	return 0;
}

static inline uint16_t dwarf_u16(struct bytes_cursor *cursor)
{
	uint16_t value = 0;
	if (!dwarf_has(cursor, sizeof(value))) {
		dwarf_overrun(cursor);
		return 0;
	}
	memcpy(&value, cursor->pos, sizeof(value));
	cursor->pos += sizeof(value);
	return le16toh(value);
}

static inline uint32_t dwarf_u32(struct bytes_cursor *cursor)
{
	uint32_t value = 0;
	if (!dwarf_has(cursor, sizeof(value))) {
		dwarf_overrun(cursor);
		return 0;
	}
	memcpy(&value, cursor->pos, sizeof(value));
	cursor->pos += sizeof(value);
	return le32toh(value);
}

static inline uint64_t dwarf_u64(struct bytes_cursor *cursor)
{
	uint64_t value = 0;
	if (!dwarf_has(cursor, sizeof(value))) {
		dwarf_overrun(cursor);
		return 0;
	}
	memcpy(&value, cursor->pos, sizeof(value));
	cursor->pos += sizeof(value);
	return le64toh(value);
}

/* An address, an offset, an index: of 1, 2, 3, 4 or 8 bytes. */
static inline uint64_t dwarf_unsigned(struct bytes_cursor *cursor, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return dwarf_u8(cursor);
	case 2:
		return dwarf_u16(cursor);
	case 3: {
		uint64_t low = dwarf_u16(cursor);
		return low | (uint64_t)dwarf_u8(cursor) << 16;
	}
	case 4:
		return dwarf_u32(cursor);
	case 8:
		return dwarf_u64(cursor);
	default:
		dwarf_overrun(cursor);
		return 0;
	}
}

/* Nearly all are of one byte. Bits beyond the 64th are dropped, as other readers do. */
static inline uint64_t dwarf_uleb(struct bytes_cursor *cursor)
{
	if (cursor->pos < cursor->end && *cursor->pos < 0x80)
		return *cursor->pos++;
	uint64_t value = 0;
	for (unsigned shift = 0; cursor->pos < cursor->end; shift += 7) {
		uint8_t byte = *cursor->pos++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->overrun = true;
	return 0;
}

static inline int64_t dwarf_sleb(struct bytes_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; cursor->pos < cursor->end;) {
		uint8_t byte = *cursor->pos++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift < 64)
			value |= ~(uint64_t)0 << shift;
		return (int64_t)value;
	}
	cursor->overrun = true;
	return 0;
}

static inline void dwarf_skip_leb(struct bytes_cursor *cursor)
{
	while (cursor->pos < cursor->end)
		if (!(*cursor->pos++ & 0x80))
			return;
	cursor->overrun = true;
}

/* Text up to a NUL, which is consumed and not counted. */
static inline struct dwarf_span dwarf_text(struct bytes_cursor *cursor)
{
	const uint8_t *start = cursor->pos;
	const uint8_t *nul =
		start < cursor->end ? memchr(start, 0, (size_t)(cursor->end - start)) : NULL;
	if (!nul) {
		dwarf_overrun(cursor);
		return (struct dwarf_span){0};
	}
	cursor->pos = nul + 1;
	return (struct dwarf_span){start, (uint64_t)(nul - start)};
}

static inline struct dwarf_span dwarf_block(struct bytes_cursor *cursor, uint64_t len)
{
	const uint8_t *start = cursor->pos;
	dwarf_skip(cursor, len);
	struct dwarf_span block = {0};
	if (!cursor->overrun)
		block = (struct dwarf_span){start, len};
	return block;
}

/*
 * The length that starts a unit, a line program, a set of ranges: 4 bytes, or
 * 0xffffffff and 8 bytes, which makes the offsets in it 8 bytes long too
 * (DWARF 5, 7.4). A cursor over what follows, which `cursor` skips.
 */
static inline struct bytes_cursor dwarf_unit_body(
	struct bytes_cursor *cursor, uint8_t *offset_bytes)
{
	uint64_t len = dwarf_u32(cursor);
	*offset_bytes = 4;
	if (len >= 0xfffffff0) {
		if (len != 0xffffffff)
			dwarf_overrun(cursor);
		len = dwarf_u64(cursor);
		*offset_bytes = 8;
	}
	struct dwarf_span span = dwarf_block(cursor, len);
	struct bytes_cursor body = dwarf_cursor(span);
	body.overrun = cursor->overrun;
	return body;
}

#endif
