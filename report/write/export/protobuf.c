#include "report/write/export/protobuf.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_LEN = 2,
};

static void protobuf_put_key(struct bytes_buf *out, uint32_t field, enum wire_type type)
{
	bytes_put_varint(out, (uint64_t)field << 3 | type);
}

static size_t varint_len(uint64_t value)
{
	size_t len = 1;
	for (; value >= 0x80; value >>= 7)
		len++;
	return len;
}

void protobuf_put_varint(struct bytes_buf *out, uint32_t field, uint64_t value)
{
	if (value)
		protobuf_put_present_varint(out, field, value);
}

void protobuf_put_present_varint(struct bytes_buf *out, uint32_t field, uint64_t value)
{
	protobuf_put_key(out, field, WIRE_VARINT);
	bytes_put_varint(out, value);
}

void protobuf_put_fixed64(struct bytes_buf *out, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	protobuf_put_key(out, field, WIRE_FIXED64);
	bytes_put_u64(out, value);
}

void protobuf_put_head(struct bytes_buf *out, uint32_t field, size_t len)
{
	protobuf_put_key(out, field, WIRE_LEN);
	bytes_put_varint(out, len);
}

void protobuf_put_bytes(struct bytes_buf *out, uint32_t field, const void *bytes, size_t len)
{
	protobuf_put_head(out, field, len);
	bytes_put(out, bytes, len);
}

void protobuf_put_message(struct bytes_buf *out, uint32_t field, struct bytes_buf *message)
{
	protobuf_put_bytes(out, field, message->data, message->len);
	message->len = 0;
}

void protobuf_put_packed(
	struct bytes_buf *out, uint32_t field, const uint64_t *values, size_t count)
{
	if (!count)
		return;
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += varint_len(values[i]);
	protobuf_put_head(out, field, len);
	for (size_t i = 0; i < count; i++)
		bytes_put_varint(out, values[i]);
}
