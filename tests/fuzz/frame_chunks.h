/* Payloads of any bytes in sound chunks, so that the decoders behind the checksums are reached. */
#ifndef EBPROF_FRAME_CHUNKS_H
#define EBPROF_FRAME_CHUNKS_H

#include "format/base/bytes.h"
#include "format/file/chunk.h"

/*
 * The input is a sequence of (type: 1 byte, length: 2 bytes, payload); a length past the end takes
 * what is left. Of the type, the upper three bits say what else is odd: 1 skips a sequence number.
 */
static inline void frame_chunks(const uint8_t *bytes, size_t len, struct bytes_buf *file)
{
	struct bytes_cursor input = bytes_cursor(bytes, len);
	chunk_put_file_header(file);
	for (uint32_t sequence = 0; len && bytes_left(&input); sequence++) {
		uint8_t type = bytes_get_u8(&input);
		size_t payload_bytes = bytes_get_u16(&input);
		if (payload_bytes > bytes_left(&input))
			payload_bytes = bytes_left(&input);
		const uint8_t *payload = bytes_get(&input, payload_bytes);
		sequence += type >> 5 == 1;
		chunk_put(file, type & 0x1f, sequence, payload ? payload : bytes, payload_bytes);
	}
}

#endif
