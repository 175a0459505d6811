/*
 * What is written is collected, and compressed batch by batch by a thread, while the caller makes
 * the next one: of large exports either is about half of the work. One stream of zlib takes all
 * batches in turn, so the output is the same as without the thread.
 */
#include "report/export/gzip.h"

#include <pthread.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"

enum {
	GZIP_WINDOW_BITS = 15 + 16, /* zlib: + 16 asks for a gzip header, its time left 0 */
	GZIP_MEMORY_LEVEL = 8,
	/* As small as what pprof writes, within 5 %; level 6 takes twice as long and saves 4 %. */
	GZIP_LEVEL = 4,
	GZIP_BATCH_BYTES = 1 << 20,
};

struct gzip {
	z_stream stream;
	struct export_sink sink;
	bool is_refused; /* by a zlib of another version than the one compiled against */
	struct bytes_buf filling;
	bool was_started; /* the thread, or it could not be */
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t mutex; /* of all below; the stream is the thread's while it is busy */
	pthread_cond_t changed;
	struct bytes_buf batch;
	bool is_busy, is_over;
	struct err *err;
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
	pthread_mutex_init(&gzip->mutex, NULL);
	pthread_cond_init(&gzip->changed, NULL);
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = sizeof(gzip->out);
	gzip->stream.zalloc = allocate;
	gzip->stream.zfree = release;
	gzip->is_refused = deflateInit2(&gzip->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
				   GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK;
	return gzip;
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

/* Of at most a batch. */
static struct err *compress_batch(struct gzip *gzip, const struct bytes_buf *batch)
{
	gzip->stream.next_in = batch->data;
	gzip->stream.avail_in = (unsigned)batch->len;
	while (gzip->stream.avail_in) {
		deflate(&gzip->stream, Z_NO_FLUSH);
		if (!gzip->stream.avail_out)
			try(drain(gzip));
	}
	return NULL;
}

/* ---- the thread ---- */

static void *work(void *context)
{
	struct gzip *gzip = context;
	pthread_mutex_lock(&gzip->mutex);
	for (;;) {
		while (!gzip->is_busy && !gzip->is_over)
			pthread_cond_wait(&gzip->changed, &gzip->mutex);
		if (!gzip->is_busy)
			break;
		pthread_mutex_unlock(&gzip->mutex);
		struct err *err = compress_batch(gzip, &gzip->batch);
		pthread_mutex_lock(&gzip->mutex);
		gzip->err = err;
		gzip->is_busy = false;
		pthread_cond_signal(&gzip->changed);
	}
	pthread_mutex_unlock(&gzip->mutex);
	return NULL;
}

/* Returns what became of the batch before this one. */
static struct err *hand_over(struct gzip *gzip)
{
	pthread_mutex_lock(&gzip->mutex);
	while (gzip->is_busy)
		pthread_cond_wait(&gzip->changed, &gzip->mutex);
	struct err *err = gzip->err;
	gzip->err = NULL;
	struct bytes_buf empty = gzip->batch;
	gzip->batch = gzip->filling;
	gzip->filling = empty;
	gzip->is_busy = !err;
	pthread_cond_signal(&gzip->changed);
	pthread_mutex_unlock(&gzip->mutex);
	return err;
}

/* Without a thread the caller does the work. */
static struct err *pass_on(struct gzip *gzip)
{
	struct err *err;
	if (!gzip->was_started)
		gzip->has_thread = !pthread_create(&gzip->thread, NULL, work, gzip);
	gzip->was_started = true;
	if (gzip->has_thread)
		err = hand_over(gzip);
	else
		err = compress_batch(gzip, &gzip->filling);
	gzip->filling.len = 0;
	return err;
}

static struct err *join(struct gzip *gzip)
{
	if (gzip->has_thread) {
		pthread_mutex_lock(&gzip->mutex);
		gzip->is_over = true;
		pthread_cond_signal(&gzip->changed);
		pthread_mutex_unlock(&gzip->mutex);
		pthread_join(gzip->thread, NULL);
		gzip->has_thread = false;
	}
	struct err *err = gzip->err;
	gzip->err = NULL;
	return err;
}

void gzip_destroy(struct gzip *gzip)
{
	if (!gzip)
		return;
	err_destroy(join(gzip));
	deflateEnd(&gzip->stream);
	pthread_mutex_destroy(&gzip->mutex);
	pthread_cond_destroy(&gzip->changed);
	bytes_buf_deinit(&gzip->filling);
	bytes_buf_deinit(&gzip->batch);
	mem_free(gzip);
}

struct err *gzip_write(struct gzip *gzip, const void *bytes, size_t len)
{
	try(check(gzip));
	for (const unsigned char *at = bytes; len;) {
		size_t room = GZIP_BATCH_BYTES - gzip->filling.len;
		size_t piece = len < room ? len : room;
		bytes_put(&gzip->filling, at, piece);
		at += piece;
		len -= piece;
		if (gzip->filling.len == GZIP_BATCH_BYTES)
			try(pass_on(gzip));
	}
	return NULL;
}

struct err *gzip_finish(struct gzip *gzip)
{
	try(check(gzip));
	try(join(gzip));
	try(compress_batch(gzip, &gzip->filling));
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
