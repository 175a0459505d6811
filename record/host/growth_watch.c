#include "record/host/growth_watch.h"

#include <pthread.h>
#include <time.h>

#include "format/base/clock.h"
#include "format/base/mem.h"

enum {
	/* 1,000 looks a second take 0.6 % of a CPU, and most of it for waking up. */
	PAUSE_MIN_NS = 1000 * 1000,
	PAUSE_MAX_NS = 16 * 1000 * 1000,
};

struct growth_watch {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, is_over;
	VEC(struct watched {
		struct file_growth *growth;
		int fd;
	}) files;
};

struct growth_watch *growth_watch_create(void)
{
	struct growth_watch *watch = mem_zalloc(sizeof(*watch));
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&watch->mutex, NULL);
	return watch;
}

void growth_watch_destroy(struct growth_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	watch->is_over = true;
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->mutex);
	if (watch->has_thread)
		pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->mutex);
	vec_deinit(&watch->files);
	mem_free(watch);
}

/* True when one has grown. */
static bool look_at_all(struct growth_watch *watch)
{
	bool has_grown = false;
	vec_each(&watch->files, file)
		has_grown |= file_growth_look(file->growth, file->fd);
	return has_grown;
}

/* Or until something else is to be done. */
static void pause_for(struct growth_watch *watch, uint64_t pause_ns)
{
	struct timespec until = clock_to_timespec(clock_now_ns() + pause_ns);
	pthread_cond_timedwait(&watch->changed, &watch->mutex, &until);
}

static void *watch_files(void *context)
{
	struct growth_watch *watch = context;
	uint64_t pause_ns = PAUSE_MIN_NS;
	pthread_mutex_lock(&watch->mutex);
	while (!watch->is_over) {
		if (!watch->files.len) {
			pthread_cond_wait(&watch->changed, &watch->mutex);
			continue;
		}
		if (look_at_all(watch))
			pause_ns = PAUSE_MIN_NS;
		else if (pause_ns < PAUSE_MAX_NS)
			pause_ns += pause_ns / 8;
		pause_for(watch, pause_ns);
	}
	pthread_mutex_unlock(&watch->mutex);
	return NULL;
}

void growth_watch_add(struct growth_watch *watch, struct file_growth *growth, int fd)
{
	file_growth_look(growth, fd);
	pthread_mutex_lock(&watch->mutex);
	vec_push(&watch->files, (struct watched){growth, fd});
	if (!watch->has_thread)
		watch->has_thread = !pthread_create(&watch->thread, NULL, watch_files, watch);
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->mutex);
}

void growth_watch_remove(struct growth_watch *watch, const struct file_growth *growth)
{
	pthread_mutex_lock(&watch->mutex);
	for (size_t i = 0; i < watch->files.len; i++)
		if (watch->files.data[i].growth == growth)
			watch->files.data[i] = watch->files.data[--watch->files.len];
	pthread_mutex_unlock(&watch->mutex);
}
