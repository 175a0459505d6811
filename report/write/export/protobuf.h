/*
 * The wire format of Protocol Buffers, as far as writing needs it
 * (protobuf.dev/programming-guides/encoding): a message is a sequence of fields,
 * each a key (field number and wire type) and a varint, or a length and bytes.
 *
 * By hand, since a profile is a handful of message types, and generated code
 * would hold the whole tree of messages in memory before the first byte leaves.
 */
#ifndef EBPROF_PROTOBUF_H
#define EBPROF_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"

/* Puts nothing for 0, which is what a reader takes an absent field for. */
void protobuf_put_varint(struct bytes_buf *out, uint32_t field, uint64_t value);
/* The same, but a 0 is put: the members of a oneof are told apart by which one is there. */
void protobuf_put_present_varint(struct bytes_buf *out, uint32_t field, uint64_t value);
/* Puts nothing for 0. */
void protobuf_put_fixed64(struct bytes_buf *out, uint32_t field, uint64_t value);
/* Bytes, or text in valid UTF-8. Also when empty: a repeated field counts its elements. */
void protobuf_put_bytes(struct bytes_buf *out, uint32_t field, const void *bytes, size_t len);
/* What stands before `len` bytes of a message that are to follow. */
void protobuf_put_head(struct bytes_buf *out, uint32_t field, size_t len);
/* A message inside a message. Empties `message`, whose memory is kept for the next one. */
void protobuf_put_message(struct bytes_buf *out, uint32_t field, struct bytes_buf *message);
/* A repeated field of varints; nothing for none. */
void protobuf_put_packed(
	struct bytes_buf *out, uint32_t field, const uint64_t *values, size_t count);

#endif
