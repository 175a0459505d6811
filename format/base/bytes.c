#include "format/base/bytes.h"

#include <string.h>

void bytes_put(struct bytes_buf *buf, const void *bytes, size_t len)
{
	vec_append(buf, (const uint8_t *)bytes, len);
}

void bytes_put_u8(struct bytes_buf *buf, uint8_t value)
{
	vec_push(buf, value);
}

static void put_le(struct bytes_buf *buf, uint64_t value, size_t len)
{
	vec_reserve(buf, len);
	for (size_t i = 0; i < len; i++)
		buf->data[buf->len++] = (uint8_t)(value >> (8 * i));
}

void bytes_put_u16(struct bytes_buf *buf, uint16_t value)
{
	put_le(buf, value, 2);
}

void bytes_put_u32(struct bytes_buf *buf, uint32_t value)
{
	put_le(buf, value, 4);
}

void bytes_put_u64(struct bytes_buf *buf, uint64_t value)
{
	put_le(buf, value, 8);
}

void bytes_put_varint(struct bytes_buf *buf, uint64_t value)
{
	vec_reserve(buf, 10);
	for (; value >= 0x80; value >>= 7)
		buf->data[buf->len++] = (uint8_t)(value | 0x80);
	buf->data[buf->len++] = (uint8_t)value;
}

void bytes_put_zigzag(struct bytes_buf *buf, int64_t value)
{
	bytes_put_varint(buf, (uint64_t)value << 1 ^ (value < 0 ? ~(uint64_t)0 : 0));
}

void bytes_put_blob(struct bytes_buf *buf, const void *bytes, size_t len)
{
	bytes_put_varint(buf, len);
	bytes_put(buf, bytes, len);
}

void bytes_buf_deinit(struct bytes_buf *buf)
{
	vec_deinit(buf);
}

struct bytes_cursor bytes_cursor(const void *bytes, size_t len)
{
	const uint8_t *start = bytes;
	const uint8_t *end = len ? start + len : start; /* NULL + 0 is undefined before C2y */
	return (struct bytes_cursor){.start = start, .pos = start, .end = end};
}

uint64_t bytes_get_long_varint(struct bytes_cursor *cursor)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && cursor->pos < cursor->end; shift += 7) {
		uint8_t byte = *cursor->pos++;
		if (shift == 63 && byte > 1)
			break; /* bits beyond the 64th */
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->overrun = true;
	cursor->pos = cursor->end;
	return 0;
}

const uint8_t *bytes_get_blob(struct bytes_cursor *cursor, size_t *len)
{
	uint64_t want = bytes_get_varint(cursor);
	const uint8_t *bytes = bytes_get(cursor, want);
	*len = bytes ? (size_t)want : 0;
	return bytes;
}

struct bytes_cursor bytes_get_cursor(struct bytes_cursor *cursor, size_t len)
{
	const uint8_t *bytes = bytes_get(cursor, len);
	struct bytes_cursor inner = bytes_cursor(bytes ? bytes : cursor->end, bytes ? len : 0);
	inner.overrun = !bytes;
	return inner;
}

struct bytes_cursor bytes_get_record(struct bytes_cursor *cursor)
{
	return bytes_get_cursor(cursor, bytes_get_varint(cursor));
}
