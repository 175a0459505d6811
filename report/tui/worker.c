#include "report/tui/worker.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "format/base/err.h"

struct worker {
	struct worker_options options;
	pthread_t thread;
	int event_fd;
	atomic_bool is_cancelled; /* the computation under way is not wanted any more */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	bool is_over;
	struct model_wish wish; /* the newest */
	struct worker_news news;

	/* The thread's own: */
	struct profile *profile;
	struct model_names *names;
	struct info_stacks stacks;
	unsigned symbols_serial;
};

static void ring(struct worker *worker)
{
	uint64_t one = 1;
	(void)!write(worker->event_fd, &one, sizeof(one));
}

static void set_busy(struct worker *worker, const char *busy)
{
	pthread_mutex_lock(&worker->mutex);
	worker->news.busy = busy;
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
}

/* NULL is a computation that was cancelled. */
static void publish(struct worker *worker, struct model *model)
{
	pthread_mutex_lock(&worker->mutex);
	if (model) {
		model_release(worker->news.model);
		worker->news.model = model;
	}
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
}

static void refresh_names(struct worker *worker, bool hides_inlined)
{
	struct model_names *old = worker->names;
	if (old && old->serial == worker->symbols_serial && old->hides_inlined == hides_inlined)
		return;
	worker->names = model_names_create(worker->profile, worker->symbols_serial, hides_inlined);
	model_names_release(old);
}

static void fulfil(struct worker *worker, const struct model_wish *wish)
{
	refresh_names(worker, wish->hides_inlined);
	struct model *model =
		model_create(worker->profile, worker->names, wish, &worker->is_cancelled);
	if (model)
		model->stacks = worker->stacks;
	publish(worker, model);
}

static bool load(struct worker *worker)
{
	struct profile_options options = {.files = &worker->options.symbolize.files};
	struct err *err = profile_load(worker->options.fd, &options, &worker->profile);
	if (!err) {
		filter_samples(worker->profile, &worker->options.filter);
		worker->stacks = info_count_stacks(worker->profile);
		return true;
	}
	pthread_mutex_lock(&worker->mutex);
	worker->news.err = err;
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
	return false;
}

/* Waits for another wish than that of `serial`. False: it is over. */
static bool next_wish(struct worker *worker, unsigned serial, struct model_wish *ret)
{
	pthread_mutex_lock(&worker->mutex);
	while (!worker->is_over && worker->wish.serial == serial)
		pthread_cond_wait(&worker->changed, &worker->mutex);
	bool goes_on = !worker->is_over;
	if (goes_on) {
		model_wish_deinit(ret);
		model_wish_copy(ret, &worker->wish);
		atomic_store(&worker->is_cancelled, false);
	}
	pthread_mutex_unlock(&worker->mutex);
	return goes_on;
}

static void *run(void *context)
{
	struct worker *worker = context;
	if (!load(worker))
		return NULL;
	set_busy(worker, "naming");
	symbolize(worker->profile, &worker->options.symbolize);
	filter_stacks(worker->profile, &worker->options.filter);
	worker->symbols_serial++;
	struct model_wish wish = {.serial = UINT32_MAX};
	while (next_wish(worker, wish.serial, &wish)) {
		set_busy(worker, "computing");
		fulfil(worker, &wish);
		set_busy(worker, NULL);
	}
	model_wish_deinit(&wish);
	return NULL;
}

static void worker_free(struct worker *worker)
{
	model_release(worker->news.model);
	err_destroy(worker->news.err);
	model_wish_deinit(&worker->wish);
	model_names_release(worker->names);
	profile_destroy(worker->profile);
	mem_close_fd(&worker->event_fd);
	pthread_mutex_destroy(&worker->mutex);
	pthread_cond_destroy(&worker->changed);
	mem_free(worker);
}

struct err *worker_create(const struct worker_options *options, struct worker **ret)
{
	struct worker *worker = mem_zalloc(sizeof(*worker));
	worker->options = *options;
	worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->changed, NULL);
	worker->news.busy = "reading";
	int error =
		worker->event_fd < 0 ? errno : pthread_create(&worker->thread, NULL, run, worker);
	if (error) {
		worker_free(worker);
		return err_sys(error, "cannot start a thread");
	}
	*ret = worker;
	return NULL;
}

void worker_destroy(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	worker->is_over = true;
	atomic_store(&worker->is_cancelled, true);
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
	pthread_join(worker->thread, NULL);
	worker_free(worker);
}

int worker_fd(const struct worker *worker)
{
	return worker->event_fd;
}

void worker_take(struct worker *worker, struct worker_news *ret)
{
	uint64_t count;
	(void)!read(worker->event_fd, &count, sizeof(count));
	pthread_mutex_lock(&worker->mutex);
	*ret = worker->news;
	worker->news.model = NULL;
	worker->news.err = NULL;
	pthread_mutex_unlock(&worker->mutex);
}

void worker_wish(struct worker *worker, const struct model_wish *wish)
{
	pthread_mutex_lock(&worker->mutex);
	model_wish_deinit(&worker->wish);
	model_wish_copy(&worker->wish, wish);
	atomic_store(&worker->is_cancelled, true);
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

void worker_cancel(struct worker *worker)
{
	atomic_store(&worker->is_cancelled, true);
}
