#include "format/import/zstd_stream.h"

#if __has_include(<zstd.h>)

#include <zstd.h>

static size_t zstd_stream_grow(struct bytes_buf *out, size_t max_bytes)
{
	size_t room = ZSTD_DStreamOutSize();
	if (room > max_bytes - out->len)
		room = max_bytes - out->len;
	vec_reserve(out, room);
	return room;
}

struct err *zstd_stream_unpack(struct zstd_stream **stream, const uint8_t *packed, size_t len,
	size_t max_bytes, struct bytes_buf *out)
{
	if (!*stream)
		*stream = (struct zstd_stream *)ZSTD_createDStream();
	if (!*stream)
		return err_new(ERR_UNSUPPORTED, "zstd does not begin");
	ZSTD_inBuffer in = {.src = packed, .size = len};
	bool is_full;
	do {
		size_t room = zstd_stream_grow(out, max_bytes);
		ZSTD_outBuffer to = {.dst = out->data + out->len, .size = room};
		if (!room)
			return err_new(ERR_FORMAT,
				"its compressed records hold more than %zu MiB; \"perf inject -i "
				"FILE "
				"-o OTHER\" writes them uncompressed",
				max_bytes >> 20);
		size_t status = ZSTD_decompressStream((ZSTD_DStream *)*stream, &to, &in);
		if (ZSTD_isError(status))
			return err_new(ERR_FORMAT, "a compressed record is damaged: %s",
				ZSTD_getErrorName(status));
		out->len += to.pos;
		is_full = to.pos == room;
	} while (in.pos < in.size || is_full);
	return NULL;
}

void zstd_stream_destroy(struct zstd_stream *stream)
{
	ZSTD_freeDStream((ZSTD_DStream *)stream);
}

#else

struct err *zstd_stream_unpack(struct zstd_stream **stream, const uint8_t *packed, size_t len,
	size_t max_bytes, struct bytes_buf *out)
{
	(void)stream, (void)packed, (void)len, (void)max_bytes, (void)out;
	return err_new(ERR_UNSUPPORTED, "its records are compressed, and this ebprof was built "
					"without zstd; \"perf inject -i "
					"FILE -o OTHER\" writes them uncompressed");
}

void zstd_stream_destroy(struct zstd_stream *stream)
{
	(void)stream;
}

#endif
