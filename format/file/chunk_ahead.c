#include "format/file/chunk_ahead.h"

#include <pthread.h>

#include "format/base/mem.h"

enum {
	/*
	 * The one that is decoded, and those that are ready: enough for the thread to be kept
	 * waiting for its processor now and then.
	 */
	SLOTS = 16,
	AHEAD_BYTES = 16 << 20, /* no more is read while there is so much */
	/* While fewer are ready the other thread, which might wait for this one, decodes itself. */
	SPARE_SLOTS = 8,
};

struct slot {
	struct chunk chunk;
	struct bytes_buf payload;       /* what the chunk's points to */
	struct decoded_samples samples; /* less than 1 MiB */
	uint64_t offset;
	bool more;
	struct err *err;
};

struct chunk_ahead {
	struct chunk_stream stream; /* the thread's, while there is one */
	pthread_t thread;
	bool has_thread, is_decoding; /* the oldest slot is in use */
	bool decodes_samples;

	pthread_mutex_t mutex; /* guards what follows, and hands slots over */
	pthread_cond_t changed;
	struct slot slots[SLOTS];
	size_t filled, emptied; /* so many, in turn */
	size_t bytes;           /* in those that are filled */
	bool is_given_up;
};

/* A payload that was unpacked changes hands; one that stands in the window is copied. */
static void keep_payload(struct slot *slot, struct chunk_stream *stream)
{
	if (slot->chunk.payload == stream->raw.data) {
		struct bytes_buf kept = slot->payload;
		slot->payload = stream->raw;
		stream->raw = kept;
	} else {
		slot->payload.len = 0;
		bytes_put(&slot->payload, slot->chunk.payload, slot->chunk.payload_bytes);
	}
	slot->chunk.payload = slot->payload.data;
}

static void chunk_ahead_fill(struct chunk_ahead *ahead, struct slot *slot, bool decodes_samples)
{
	struct chunk_stream *stream = &ahead->stream;
	slot->err = chunk_stream_next(stream, &slot->chunk, &slot->more);
	slot->offset = stream->window_offset + stream->pos;
	slot->samples.is_decoded = false;
	if (slot->err || !slot->more)
		return;
	keep_payload(slot, stream);
	uint16_t type = slot->chunk.type;
	if (decodes_samples && (type == LAYOUT_CHUNK_SAMPLES || type == LAYOUT_CHUNK_VALUES))
		decoded_samples_fill(
			&slot->samples, slot->chunk.payload, slot->chunk.payload_bytes);
}

static bool chunk_ahead_has_room(const struct chunk_ahead *ahead)
{
	return ahead->filled - ahead->emptied < SLOTS && ahead->bytes < AHEAD_BYTES;
}

/* False: the reader has ended. */
static bool wait_for_room(struct chunk_ahead *ahead, bool *has_time)
{
	pthread_mutex_lock(&ahead->mutex);
	while (!ahead->is_given_up && !chunk_ahead_has_room(ahead))
		pthread_cond_wait(&ahead->changed, &ahead->mutex);
	bool goes_on = !ahead->is_given_up;
	*has_time = ahead->filled - ahead->emptied >= SPARE_SLOTS;
	pthread_mutex_unlock(&ahead->mutex);
	return goes_on;
}

static void add_filled(struct chunk_ahead *ahead, const struct slot *slot)
{
	pthread_mutex_lock(&ahead->mutex);
	ahead->filled++;
	ahead->bytes += slot->payload.cap;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
}

static void add_emptied(struct chunk_ahead *ahead, struct slot *slot)
{
	size_t bytes = slot->payload.cap;
	if (bytes > AHEAD_BYTES / SLOTS) /* else all might become as large */
		bytes_buf_deinit(&slot->payload);
	pthread_mutex_lock(&ahead->mutex);
	ahead->emptied++;
	ahead->bytes -= ahead->has_thread ? bytes : 0;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
}

static void *chunk_ahead_run(void *context)
{
	struct chunk_ahead *ahead = context;
	bool has_time;
	for (bool more = true; more && wait_for_room(ahead, &has_time);) {
		struct slot *slot = &ahead->slots[ahead->filled % SLOTS];
		chunk_ahead_fill(ahead, slot, has_time && ahead->decodes_samples);
		more = slot->more && !slot->err;
		add_filled(ahead, slot);
	}
	return NULL;
}

struct err *chunk_ahead_create(int fd, bool decodes_samples, struct chunk_ahead **ret)
{
	struct chunk_ahead *ahead = mem_zalloc(sizeof(*ahead));
	ahead->decodes_samples = decodes_samples;
	struct err *err = chunk_stream_init(&ahead->stream, fd);
	pthread_mutex_init(&ahead->mutex, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (err) {
		chunk_ahead_destroy(ahead);
		return err;
	}
	ahead->has_thread = !pthread_create(&ahead->thread, NULL, chunk_ahead_run, ahead);
	*ret = ahead;
	return NULL;
}

static struct slot *oldest(struct chunk_ahead *ahead)
{
	struct slot *slot = &ahead->slots[ahead->emptied % SLOTS];
	if (!ahead->has_thread) {
		chunk_ahead_fill(ahead, slot, false);
		return slot;
	}
	pthread_mutex_lock(&ahead->mutex);
	while (ahead->filled == ahead->emptied)
		pthread_cond_wait(&ahead->changed, &ahead->mutex);
	pthread_mutex_unlock(&ahead->mutex);
	return slot;
}

struct err *chunk_ahead_next(
	struct chunk_ahead *ahead, struct chunk *ret, uint64_t *offset, bool *more)
{
	if (ahead->is_decoding)
		add_emptied(ahead, &ahead->slots[ahead->emptied % SLOTS]);
	ahead->is_decoding = true;
	struct slot *slot = oldest(ahead);
	*ret = slot->chunk;
	*offset = slot->offset;
	*more = slot->more;
	return steal_ptr(slot->err);
}

const struct decoded_samples *chunk_ahead_samples(const struct chunk_ahead *ahead)
{
	return &ahead->slots[ahead->emptied % SLOTS].samples;
}

static void chunk_ahead_join(struct chunk_ahead *ahead)
{
	if (ahead->has_thread)
		pthread_join(ahead->thread, NULL);
	ahead->has_thread = false;
}

void chunk_ahead_end(struct chunk_ahead *ahead, uint64_t *file_bytes, struct chunk_damage *damage)
{
	chunk_ahead_join(ahead);
	*file_bytes = ahead->stream.window_offset + ahead->stream.window.len;
	*damage = ahead->stream.damage;
}

void chunk_ahead_destroy(struct chunk_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->mutex);
	ahead->is_given_up = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	chunk_ahead_join(ahead);
	for (size_t i = 0; i < SLOTS; i++) {
		bytes_buf_deinit(&ahead->slots[i].payload);
		mem_free(ahead->slots[i].samples.data);
		err_destroy(ahead->slots[i].err);
	}
	chunk_stream_deinit(&ahead->stream);
	pthread_mutex_destroy(&ahead->mutex);
	pthread_cond_destroy(&ahead->changed);
	mem_free(ahead);
}
