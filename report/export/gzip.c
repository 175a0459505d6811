#include "report/export/gzip.h"

#include <zlib.h>

#include "format/base/mem.h"

enum {
	GZIP_WINDOW_BITS = 15 + 16, /* zlib: + 16 asks for a gzip header, its time left 0 */
	GZIP_MEMORY_LEVEL = 8,
	/* As small as what pprof writes, within 5 %; level 6 takes twice as long and saves 4 %. */
	GZIP_LEVEL = 4,
	GZIP_LARGEST_INPUT = 1 << 30, /* zlib counts in unsigned int */
};

struct gzip {
	z_stream stream;
	struct export_sink sink;
	bool is_refused; /* by a zlib of another version than the one compiled against */
	unsigned char out[EXPORT_PIECE_BYTES];
};

/* Memory that runs out aborts in mem.c, as everywhere. */
static void *allocate(void *opaque, unsigned count, unsigned bytes)
{
	(void)opaque;
	return mem_zalloc_array(count, bytes);
}

static void release(void *opaque, void *block)
{
	(void)opaque;
	mem_free(block);
}

struct gzip *gzip_create(struct export_sink sink)
{
	struct gzip *gzip = mem_zalloc(sizeof(*gzip));
	gzip->sink = sink;
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = sizeof(gzip->out);
	gzip->stream.zalloc = allocate;
	gzip->stream.zfree = release;
	gzip->is_refused = deflateInit2(&gzip->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
				   GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK;
	return gzip;
}

void gzip_destroy(struct gzip *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->stream);
	mem_free(gzip);
}

static struct err *check(const struct gzip *gzip)
{
	return gzip->is_refused ? err_new(ERR_UNSUPPORTED,
					  "zlib %s cannot compress for this program", zlibVersion())
				: NULL;
}

static struct err *drain(struct gzip *gzip)
{
	size_t len = sizeof(gzip->out) - gzip->stream.avail_out;
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = sizeof(gzip->out);
	return len ? gzip->sink.write(gzip->sink.context, gzip->out, len) : NULL;
}

struct err *gzip_write(struct gzip *gzip, const void *bytes, size_t len)
{
	try(check(gzip));
	const unsigned char *at = bytes;
	while (len) {
		size_t piece = len < GZIP_LARGEST_INPUT ? len : GZIP_LARGEST_INPUT;
		gzip->stream.next_in = (unsigned char *)at; /* zlib only reads it */
		gzip->stream.avail_in = (unsigned)piece;
		while (gzip->stream.avail_in) {
			deflate(&gzip->stream, Z_NO_FLUSH);
			if (!gzip->stream.avail_out)
				try(drain(gzip));
		}
		at += piece;
		len -= piece;
	}
	return NULL;
}

struct err *gzip_finish(struct gzip *gzip)
{
	try(check(gzip));
	while (deflate(&gzip->stream, Z_FINISH) != Z_STREAM_END)
		try(drain(gzip));
	return drain(gzip);
}

static struct err *sink_write(void *context, const void *bytes, size_t len)
{
	return gzip_write(context, bytes, len);
}

struct export_sink gzip_sink(struct gzip *gzip)
{
	return (struct export_sink){.write = sink_write, .context = gzip};
}
