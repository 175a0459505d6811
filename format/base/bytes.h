/*
 * Bytes at rest: a growing buffer that is put to, and a cursor that is got
 * from and cannot overrun. All integers are little-endian on any host.
 *
 * A cursor that is asked for more than it holds returns zeros from then on
 * and remembers it (`overrun`), so a parser reads a whole record and checks once.
 */
#ifndef EBPROF_BYTES_H
#define EBPROF_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/base/vec.h"

/* ---- writing ---- */

struct bytes_buf {
	uint8_t *data;
	size_t len, cap;
};

void bytes_put(struct bytes_buf *buf, const void *bytes, size_t len);
void bytes_put_u8(struct bytes_buf *buf, uint8_t value);
void bytes_put_u16(struct bytes_buf *buf, uint16_t value);
void bytes_put_u32(struct bytes_buf *buf, uint32_t value);
void bytes_put_u64(struct bytes_buf *buf, uint64_t value);
/* LEB128, 1-10 bytes. */
void bytes_put_varint(struct bytes_buf *buf, uint64_t value);
/* A signed value as a varint: 0, -1, 1, -2, 2... become 0, 1, 2, 3, 4... */
void bytes_put_zigzag(struct bytes_buf *buf, int64_t value);
/* A varint length, then the bytes. */
void bytes_put_blob(struct bytes_buf *buf, const void *bytes, size_t len);
void bytes_buf_deinit(struct bytes_buf *buf);

/* ---- reading ---- */

struct bytes_cursor {
	const uint8_t *start, *pos, *end;
	bool overrun;
};

struct bytes_cursor bytes_cursor(const void *bytes, size_t len);

static inline size_t bytes_left(const struct bytes_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->pos);
}

/* Bytes consumed so far: where an error is to be placed. */
static inline size_t bytes_offset(const struct bytes_cursor *cursor)
{
	return (size_t)(cursor->pos - cursor->start);
}

/* `len` bytes inside the cursor's memory, NULL on overrun. */
static inline const uint8_t *bytes_get(struct bytes_cursor *cursor, size_t len)
{
	if (cursor->overrun || len > bytes_left(cursor)) {
		cursor->overrun = true;
		cursor->pos = cursor->end;
		return NULL;
	}
	const uint8_t *bytes = cursor->pos;
	cursor->pos += len;
	return bytes;
}

static inline uint8_t bytes_get_u8(struct bytes_cursor *cursor)
{
	const uint8_t *bytes = bytes_get(cursor, 1);
	return bytes ? *bytes : 0;
}

static inline uint16_t bytes_get_u16(struct bytes_cursor *cursor)
{
	uint16_t value = 0;
	const uint8_t *bytes = bytes_get(cursor, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

static inline uint32_t bytes_get_u32(struct bytes_cursor *cursor)
{
	uint32_t value = 0;
	const uint8_t *bytes = bytes_get(cursor, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t bytes_get_u64(struct bytes_cursor *cursor)
{
	uint64_t value = 0;
	const uint8_t *bytes = bytes_get(cursor, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

uint64_t bytes_get_long_varint(struct bytes_cursor *cursor);

/* A varint of more than 64 bits counts as an overrun. */
static inline uint64_t bytes_get_varint(struct bytes_cursor *cursor)
{
	if (cursor->pos < cursor->end && *cursor->pos < 0x80) /* most are short */
		return *cursor->pos++;
	return bytes_get_long_varint(cursor);
}

/* One of more than 32 bits is an overrun here. */
static inline uint32_t bytes_get_u32_varint(struct bytes_cursor *cursor)
{
	uint64_t value = bytes_get_varint(cursor);
	if (value <= UINT32_MAX)
		return (uint32_t)value;
	cursor->overrun = true;
	return 0;
}

static inline int64_t bytes_get_zigzag(struct bytes_cursor *cursor)
{
	uint64_t value = bytes_get_varint(cursor);
	return (int64_t)(value >> 1 ^ (value & 1 ? ~(uint64_t)0 : 0));
}

/* What bytes_put_blob() put; *len is 0 and the result NULL on overrun. */
const uint8_t *bytes_get_blob(struct bytes_cursor *cursor, size_t *len);
/* A cursor over the next `len` bytes, which this one skips. */
struct bytes_cursor bytes_get_cursor(struct bytes_cursor *cursor, size_t len);
/* As many as a varint ahead of them says. */
struct bytes_cursor bytes_get_record(struct bytes_cursor *cursor);

#endif
