#include "format/base/inflate.h"

#if __has_include(<libdeflate.h>)

#include <libdeflate.h>

bool inflate_zlib(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	if (!decompressor)
		return false;
	size_t done = 0;
	enum libdeflate_result result =
		libdeflate_zlib_decompress(decompressor, packed, packed_bytes, out, len, &done);
	libdeflate_free_decompressor(decompressor);
	return result == LIBDEFLATE_SUCCESS && done == len;
}

#else

#include <limits.h>
#include <zlib.h>

/* zlib counts in unsigned int, so it gets its input and room piece by piece. */
static uInt inflate_piece_of(size_t len)
{
	return len > UINT_MAX ? UINT_MAX : (uInt)len;
}

bool inflate_zlib(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	/* Input is only read. */
	z_stream stream = {.next_in = (uint8_t *)packed, .next_out = out};
	if (inflateInit(&stream) != Z_OK)
		return false;
	int status;
	do {
		stream.avail_in =
			inflate_piece_of((size_t)(packed + packed_bytes - stream.next_in));
		stream.avail_out = inflate_piece_of(len - (size_t)(stream.next_out - out));
		status = inflate(&stream, Z_NO_FLUSH);
	} while (status == Z_OK);
	inflateEnd(&stream);
	return status == Z_STREAM_END && (size_t)(stream.next_out - out) == len;
}

#endif
