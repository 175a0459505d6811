#include "cmd/write_behind.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/fd.h"
#include "format/base/mem.h"

enum {
	BATCH_BYTES = 1 << 20 /* less than this is written without a thread */
};

struct write_behind {
	int fd;
	struct bytes_buf filling;
	bool was_started; /* the thread, or it could not be */
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t changed;
	struct bytes_buf batch; /* the thread's while it is busy, as is `bytes` */
	uint64_t bytes;
	bool is_busy, is_over;
	struct err *err;
};

struct write_behind *write_behind_create(int fd)
{
	struct write_behind *behind = mem_zalloc(sizeof(*behind));
	behind->fd = fd;
	pthread_mutex_init(&behind->mutex, NULL);
	pthread_cond_init(&behind->changed, NULL);
	return behind;
}

static struct err *write_behind_write_all(
	struct write_behind *behind, const struct bytes_buf *batch)
{
	try(fd_write_all(behind->fd, batch->data, batch->len));
	behind->bytes += batch->len;
	return NULL;
}

static void *write_behind_work(void *context)
{
	struct write_behind *behind = context;
	pthread_mutex_lock(&behind->mutex);
	for (;;) {
		while (!behind->is_busy && !behind->is_over)
			pthread_cond_wait(&behind->changed, &behind->mutex);
		if (!behind->is_busy)
			break;
		pthread_mutex_unlock(&behind->mutex);
		struct err *err = write_behind_write_all(behind, &behind->batch);
		pthread_mutex_lock(&behind->mutex);
		behind->err = err;
		behind->is_busy = false;
		pthread_cond_signal(&behind->changed);
	}
	pthread_mutex_unlock(&behind->mutex);
	return NULL;
}

/* Returns what became of the batch before this one. */
static struct err *write_behind_hand_over(struct write_behind *behind)
{
	pthread_mutex_lock(&behind->mutex);
	while (behind->is_busy)
		pthread_cond_wait(&behind->changed, &behind->mutex);
	struct err *err = steal_ptr(behind->err);
	struct bytes_buf done = behind->batch;
	behind->batch = behind->filling;
	behind->filling = done;
	behind->is_busy = !err;
	pthread_cond_signal(&behind->changed);
	pthread_mutex_unlock(&behind->mutex);
	return err;
}

static struct err *write_behind_pass_on(struct write_behind *behind)
{
	if (!behind->was_started)
		behind->has_thread =
			!pthread_create(&behind->thread, NULL, write_behind_work, behind);
	behind->was_started = true;
	struct err *err = behind->has_thread ? write_behind_hand_over(behind)
					     : write_behind_write_all(behind, &behind->filling);
	behind->filling.len = 0;
	return err;
}

struct err *write_behind_put(struct write_behind *behind, const void *bytes, size_t len)
{
	for (const uint8_t *at = bytes; len;) {
		size_t room = BATCH_BYTES - behind->filling.len;
		size_t piece = len < room ? len : room;
		bytes_put(&behind->filling, at, piece);
		at += piece;
		len -= piece;
		if (behind->filling.len == BATCH_BYTES)
			try(write_behind_pass_on(behind));
	}
	return NULL;
}

/* The thread ends with the batch it has. */
static struct err *write_behind_join(struct write_behind *behind)
{
	if (behind->has_thread) {
		pthread_mutex_lock(&behind->mutex);
		behind->is_over = true;
		pthread_cond_signal(&behind->changed);
		pthread_mutex_unlock(&behind->mutex);
		pthread_join(behind->thread, NULL);
		behind->has_thread = false;
	}
	return steal_ptr(behind->err);
}

struct err *write_behind_finish(struct write_behind *behind, uint64_t *bytes)
{
	try(write_behind_join(behind));
	try(write_behind_write_all(behind, &behind->filling));
	behind->filling.len = 0;
	*bytes = behind->bytes;
	return NULL;
}

void write_behind_destroy(struct write_behind *behind)
{
	if (!behind)
		return;
	err_destroy(write_behind_join(behind));
	pthread_mutex_destroy(&behind->mutex);
	pthread_cond_destroy(&behind->changed);
	bytes_buf_deinit(&behind->filling);
	bytes_buf_deinit(&behind->batch);
	mem_free(behind);
}
