#include "format/base/inflate.h"

#if __has_include(<libdeflate.h>)

#include <libdeflate.h>

typedef enum libdeflate_result unpack_fn(struct libdeflate_decompressor *decompressor,
	const void *in, size_t in_bytes, void *out, size_t out_bytes, size_t *done);

static bool inflate_by(
	unpack_fn *unpack, const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	if (!decompressor)
		return false;
	size_t done = 0;
	enum libdeflate_result result = unpack(decompressor, packed, packed_bytes, out, len, &done);
	libdeflate_free_decompressor(decompressor);
	return result == LIBDEFLATE_SUCCESS && done == len;
}

bool inflate_zlib(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	return inflate_by(libdeflate_zlib_decompress, packed, packed_bytes, out, len);
}

bool inflate_raw(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	return inflate_by(libdeflate_deflate_decompress, packed, packed_bytes, out, len);
}

#else

#include <limits.h>
#include <zlib.h>

/* zlib counts in unsigned int, so it gets its input and room piece by piece. */
static uInt inflate_piece_of(size_t len)
{
	return len > UINT_MAX ? UINT_MAX : (uInt)len;
}

static bool inflate_window(
	int window_bits, const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	/* Input is only read. */
	z_stream stream = {.next_in = (uint8_t *)packed, .next_out = out};
	if (inflateInit2(&stream, window_bits) != Z_OK)
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

bool inflate_zlib(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	return inflate_window(MAX_WBITS, packed, packed_bytes, out, len);
}

bool inflate_raw(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len)
{
	return inflate_window(-MAX_WBITS, packed, packed_bytes, out, len);
}

#endif
