#include "report/tui/code_reader.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "format/base/err.h"
#include "report/tui/quiet_thread.h"

struct wanted { /* model NULL: nothing */
	struct model *model;
	bool is_intel;
};

struct code_reader {
	struct code_options options;
	pthread_t thread;
	int event_fd;
	atomic_bool is_cancelled;

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	bool is_over;
	struct wanted next, current;
	struct listing *done;
};

struct listing_request code_request(
	const struct code_options *options, const struct model *model, bool is_intel)
{
	return (struct listing_request){
		.profile = model->profile,
		.functions = model->names->functions.data,
		.objects = model->names->objects.data,
		.annotation = model->annotation,
		.files = &options->files,
		.source_dirs = &options->source_dirs,
		.demangle = options->demangle,
		.is_intel = is_intel,
	};
}

static void code_reader_forget(struct wanted *wanted)
{
	model_release(wanted->model);
	wanted->model = NULL;
}

/* False: it is over. */
static bool next_wanted(struct code_reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	code_reader_forget(&reader->current);
	while (!reader->is_over && !reader->next.model)
		pthread_cond_wait(&reader->changed, &reader->mutex);
	reader->current = reader->next;
	reader->next.model = NULL;
	bool goes_on = !reader->is_over;
	if (goes_on)
		atomic_store(&reader->is_cancelled, false);
	pthread_mutex_unlock(&reader->mutex);
	return goes_on;
}

static void code_reader_publish(struct code_reader *reader, struct listing *listing)
{
	uint64_t one = 1;
	pthread_mutex_lock(&reader->mutex);
	listing_release(reader->done);
	reader->done = listing;
	pthread_mutex_unlock(&reader->mutex);
	(void)!write(reader->event_fd, &one, sizeof(one));
}

static void *code_reader_run(void *context)
{
	struct code_reader *reader = context;
	while (next_wanted(reader)) {
		/* Only this thread changes `current`. */
		struct listing_request request = code_request(
			&reader->options, reader->current.model, reader->current.is_intel);
		request.is_cancelled = &reader->is_cancelled;
		struct listing *listing = listing_create(&request);
		if (listing)
			code_reader_publish(reader, listing);
	}
	return NULL;
}

static void reader_free(struct code_reader *reader)
{
	code_reader_forget(&reader->next);
	code_reader_forget(&reader->current);
	listing_release(reader->done);
	mem_close_fd(&reader->event_fd);
	pthread_mutex_destroy(&reader->mutex);
	pthread_cond_destroy(&reader->changed);
	mem_free(reader);
}

struct err *code_reader_create(const struct code_options *options, struct code_reader **ret)
{
	struct code_reader *reader = mem_zalloc(sizeof(*reader));
	reader->options = *options;
	reader->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&reader->mutex, NULL);
	pthread_cond_init(&reader->changed, NULL);
	int error = reader->event_fd < 0
			    ? errno
			    : quiet_thread_create(&reader->thread, code_reader_run, reader);
	if (error) {
		reader_free(reader);
		return err_sys(error, "cannot start a thread");
	}
	*ret = reader;
	return NULL;
}

bool code_reader_destroy(struct code_reader *reader, const struct timespec *deadline)
{
	pthread_mutex_lock(&reader->mutex);
	reader->is_over = true;
	atomic_store(&reader->is_cancelled, true);
	pthread_cond_signal(&reader->changed);
	pthread_mutex_unlock(&reader->mutex);
	if (!quiet_thread_join(reader->thread, deadline))
		return false;
	reader_free(reader);
	return true;
}

int code_reader_fd(const struct code_reader *reader)
{
	return reader->event_fd;
}

static bool code_reader_is_same(
	const struct code_reader *reader, const struct wanted *a, const struct wanted *b)
{
	if (!a->model || !b->model)
		return false;
	struct listing_request x = code_request(&reader->options, a->model, a->is_intel);
	struct listing_request y = code_request(&reader->options, b->model, b->is_intel);
	struct listing_identity of_x = listing_identity_of(&x), of_y = listing_identity_of(&y);
	return listing_identity_is_equal(&of_x, &of_y);
}

void code_reader_wish(struct code_reader *reader, struct model *model, bool is_intel)
{
	struct wanted wanted = {model, is_intel};
	pthread_mutex_lock(&reader->mutex);
	code_reader_forget(&reader->next);
	bool is_under_way = !atomic_load(&reader->is_cancelled) &&
			    code_reader_is_same(reader, &reader->current, &wanted);
	if (!is_under_way) {
		model_hold(model);
		reader->next = wanted;
		atomic_store(&reader->is_cancelled, true);
		pthread_cond_signal(&reader->changed);
	}
	pthread_mutex_unlock(&reader->mutex);
}

struct listing *code_reader_take(struct code_reader *reader)
{
	uint64_t count;
	(void)!read(reader->event_fd, &count, sizeof(count));
	pthread_mutex_lock(&reader->mutex);
	struct listing *listing = reader->done;
	reader->done = NULL;
	pthread_mutex_unlock(&reader->mutex);
	return listing;
}

bool code_reader_is_idle(struct code_reader *reader)
{
	pthread_mutex_lock(&reader->mutex);
	bool is_idle = !reader->next.model && !reader->current.model;
	pthread_mutex_unlock(&reader->mutex);
	return is_idle;
}

void code_reader_cancel(struct code_reader *reader)
{
	atomic_store(&reader->is_cancelled, true);
}
