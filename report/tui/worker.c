#include "report/tui/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/err.h"
#include "report/analyse/allocators.h"
#include "report/analyse/wait_reasons.h"
#include "report/load/load.h"
#include "report/model/main_event.h"
#include "report/model/sample_order.h"
#include "report/model/slice.h"
#include "report/name/symbol/symbolizer.h"
#include "report/tui/baseline.h"
#include "report/tui/name_thread.h"
#include "report/tui/quiet_thread.h"

enum {
	/* Names arrive in bundles: each makes a model, and models take their time. */
	BUNDLE_NS = 200000000,
	PROGRESS_NS = 50000000, /* each is a frame to draw */
};

struct worker {
	struct worker_options options;
	pthread_t thread;
	int event_fd;
	atomic_bool is_cancelled; /* the computation under way is not wanted any more */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	bool is_over;
	bool has_names; /* to be applied */
	bool is_naming_given_up;
	struct model_wish wish; /* the newest */
	struct worker_news news;
	struct name_thread *naming; /* NULL: it has not begun, or there is nothing to ask for */
	struct name_thread *base_naming; /* the same of the baseline, whose it is */

	/* The thread's own: */
	struct profile *profile;
	struct symbolizer *symbolizer;
	struct root_frames roots; /* of what samples were grouped by */
	struct model_names *names;
	struct model *sums; /* of the newest model */
	bool names_follow;  /* the same */
	unsigned symbols_serial;
	uint64_t file_bytes;
	uint64_t next_names_ns;    /* not before */
	uint64_t next_progress_ns; /* not before, too */
	struct baseline *baseline;
	unsigned baseline_serial; /* of the wish for it */
	unsigned retry_serial;    /* of the newest that was done */
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
static void worker_publish(struct worker *worker, struct model *model)
{
	pthread_mutex_lock(&worker->mutex);
	if (model) {
		model_release(worker->news.model);
		worker->news.model = model;
	}
	worker->news.busy = NULL;
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
}

/* ---- loading ---- */

static void worker_on_progress(void *context, uint64_t file_bytes)
{
	struct worker *worker = context;
	uint64_t at_ns = clock_now_ns();
	if (!worker->file_bytes || at_ns < worker->next_progress_ns)
		return;
	worker->next_progress_ns = at_ns + PROGRESS_NS;
	double loaded = (double)file_bytes / (double)worker->file_bytes;
	pthread_mutex_lock(&worker->mutex);
	worker->news.loaded = loaded < 1 ? loaded : 1;
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
}

static struct err *worker_open(struct worker *worker)
{
	return worker->options.open
		       ? worker->options.open(worker->options.open_context, &worker->options.fd)
		       : NULL;
}

static bool worker_load(struct worker *worker)
{
	struct stat st;
	struct err *err = worker_open(worker);
	if (!err && fstat(worker->options.fd, &st) == 0 && S_ISREG(st.st_mode))
		worker->file_bytes = (uint64_t)st.st_size;
	struct profile_options options = {
		.files = &worker->options.symbolize.files,
		.with_second_samples = filter_wants_second_samples(&worker->options.filter),
		.leaves_order = true,
		.progress = worker_on_progress,
		.context = worker,
	};
	if (!err)
		err = profile_load(worker->options.fd, &options, &worker->profile);
	if (!err) {
		filter_samples(worker->profile, &worker->options.filter);
		return true;
	}
	pthread_mutex_lock(&worker->mutex);
	worker->news.err = err;
	worker->news.busy = NULL;
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
	return false;
}

/* ---- samples ---- */

/*
 * What is done with the samples before the first table is shown, beside the naming of frames, which
 * does not touch them: they are sorted by time, and summed.
 */
struct sample_thread {
	pthread_t thread;
	bool is_running;
	struct profile *profile;
	struct slice slice; /* those of the main event, once it has ended */
};

static void *sample_thread_run(void *context)
{
	struct sample_thread *samples = context;
	struct profile *profile = samples->profile;
	sample_order_sort(profile->samples.data, profile->samples.len);
	slice_init_event(&samples->slice, profile, main_event_of(profile));
	return NULL;
}

/* Where there can be no thread it is done at once. */
static void sample_thread_begin(struct sample_thread *samples, struct profile *profile)
{
	*samples = (struct sample_thread){.profile = profile};
	samples->is_running =
		quiet_thread_create(&samples->thread, sample_thread_run, samples) == 0;
	if (!samples->is_running)
		sample_thread_run(samples);
}

/* Waits for the end; again is safe. */
static void sample_thread_end(struct sample_thread *samples)
{
	if (samples->is_running)
		pthread_join(samples->thread, NULL);
	samples->is_running = false;
}

static void sample_thread_deinit(struct sample_thread *samples)
{
	sample_thread_end(samples);
	slice_deinit(&samples->slice);
}

/* ---- names ---- */

static void on_names(void *context)
{
	struct worker *worker = context;
	pthread_mutex_lock(&worker->mutex);
	worker->has_names = true;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
}

static void begin_naming(struct worker *worker)
{
	struct name_thread_options options = {
		.symbolizer = worker->symbolizer,
		.debuginfod = worker->options.symbolize.files.debuginfod,
		.wake = on_names,
		.context = worker,
	};
	struct name_thread *naming = name_thread_create(&options);
	pthread_mutex_lock(&worker->mutex);
	worker->naming = naming;
	bool is_given_up = worker->is_naming_given_up;
	pthread_mutex_unlock(&worker->mutex);
	if (naming && is_given_up)
		name_thread_cancel(naming);
}

static bool is_naming(const struct worker *worker)
{
	return worker->naming && name_thread_progress(worker->naming).to_name;
}

/* False: there were none. */
static bool apply_names(struct worker *worker)
{
	bool has_any = worker->naming && name_thread_apply(worker->naming);
	worker->symbols_serial += has_any;
	return has_any;
}

static bool is_fetching_names(const struct worker *worker)
{
	return worker->naming && name_thread_progress(worker->naming).is_fetching;
}

/* All, or those that this machine has; or else it is over. */
static void await_names(struct worker *worker, bool are_all)
{
	begin_naming(worker);
	while (is_naming(worker) && (are_all || !is_fetching_names(worker))) {
		pthread_mutex_lock(&worker->mutex);
		while (!worker->is_over && !worker->has_names)
			pthread_cond_wait(&worker->changed, &worker->mutex);
		worker->has_names = false;
		bool is_over = worker->is_over;
		pthread_mutex_unlock(&worker->mutex);
		if (is_over)
			return;
		apply_names(worker);
	}
	apply_names(worker);
}

/* What filters by name drop is gone before a view shows it, and so are allocators. */
static void await_needed_names(struct worker *worker)
{
	bool are_all = worker->options.filter.symbols.len || worker->options.open;
	if (are_all || allocators_may_be_left_out(worker->profile))
		await_names(worker, are_all);
}

/*
 * As refine_stacks() makes stacks, with names in between: those of this machine, so that an
 * allocator whose name is fetched stays. Filters drop some.
 */
static void refine_slice(struct worker *worker, struct slice *slice)
{
	const struct filter *filter = &worker->options.filter;
	struct profile *profile = worker->profile;
	size_t nr_stacks = profile->stacks.len;
	bool is_filtered = filter->dsos.len || filter->symbols.len;
	wait_reasons_add(profile);
	model_reserve_groups(profile, &worker->roots);
	await_needed_names(worker);
	allocators_leave_out(profile);
	if (is_filtered)
		filter_stacks(profile, filter);
	if (profile->stacks.len == nr_stacks && !is_filtered)
		return;
	slice_deinit(slice);
	slice_init_event(slice, profile, main_event_of(profile));
}

/* ---- models ---- */

static void worker_refresh_names(struct worker *worker, const struct model_wish *wish)
{
	struct model_names *old = worker->names;
	if (old && old->serial == worker->symbols_serial &&
		model_names_are_for(worker->profile, old, wish) &&
		old->look.demangle == wish->look.demangle &&
		old->look.has_paths == wish->look.has_paths)
		return;
	worker->names = model_names_create_for(
		worker->profile, worker->symbols_serial, wish, &worker->roots);
	model_names_write(worker->names, &wish->look);
	model_names_release(old);
}

/*
 * The first table does not wait for the call tree: the model is one of functions alone, unless more
 * is wished for already.
 */
static void publish_flat(struct worker *worker, const struct model_wish *wish, struct slice *slice)
{
	struct model_names *names =
		model_names_create_flat(worker->profile, worker->symbols_serial);
	model_names_write(names, &wish->look);
	struct model *model = model_create_flat(worker->profile, names, wish, slice);
	model_names_release(names);
	if (!model)
		return;
	worker_publish(worker, model);
	set_busy(worker, "computing");
}

/*
 * Looks again on this machine. It is done here, since the thread that asks has ended: while it has
 * not, it may be at that object just then.
 */
static void retry_names(struct worker *worker, const struct model_wish *wish)
{
	bool is_idle = !is_naming(worker);
	if (worker->retry_serial == wish->retry_serial)
		return;
	worker->retry_serial = wish->retry_serial;
	apply_names(worker);
	for (size_t i = 0; is_idle && i < symbolizer_count(worker->symbolizer); i++) {
		struct pending *pending = symbolizer_pending(worker->symbolizer, i);
		if (pending->object != wish->retried)
			continue;
		struct lookup_result result;
		pending->next = LOOKUP_FILES;
		lookup_run(pending, &result);
		pending->next = LOOKUP_END;
		pending_apply(pending, &result);
		worker->symbols_serial++;
	}
}

static bool has_baseline(const struct worker *worker, const struct model_wish *wish)
{
	return worker->baseline && worker->baseline_serial == wish->baseline_serial;
}

static void fulfil(struct worker *worker, const struct model_wish *wish, bool is_new)
{
	uint64_t began_ns = clock_now_ns();
	bool names_follow = is_naming(worker); /* asked first: else what came meanwhile is missed */
	bool has_names = apply_names(worker);
	has_names |= baseline_apply_names(worker->baseline);
	if (!has_names && !is_new && names_follow == worker->names_follow)
		return;
	worker->names_follow = names_follow;
	worker_refresh_names(worker, wish);
	struct model *model = model_renew(
		worker->sums, worker->profile, worker->names, wish, &worker->is_cancelled);
	if (model) {
		model->names_follow = names_follow;
		model_release(worker->sums);
		worker->sums = model_hold(model->sums);
	}
	if (model && wish->baseline && has_baseline(worker, wish) &&
		!baseline_compare(worker->baseline, model, wish, &worker->is_cancelled)) {
		model_release(model);
		model = NULL;
	}
	worker_publish(worker, model);
	uint64_t ended_ns = clock_now_ns(), pause_ns = 2 * (ended_ns - began_ns);
	worker->next_names_ns = ended_ns + (pause_ns > BUNDLE_NS ? pause_ns : BUNDLE_NS);
}

static void set_base_naming(struct worker *worker, struct name_thread *naming)
{
	pthread_mutex_lock(&worker->mutex);
	worker->base_naming = naming;
	bool is_given_up = worker->is_naming_given_up;
	pthread_mutex_unlock(&worker->mutex);
	if (naming && is_given_up)
		name_thread_cancel(naming);
}

/* After the model without it, since it may take long. */
static void fulfil_baseline(struct worker *worker, const struct model_wish *wish)
{
	if (!wish->baseline || has_baseline(worker, wish))
		return;
	set_busy(worker, "reading the baseline");
	set_base_naming(worker, NULL);
	baseline_destroy(worker->baseline);
	worker->baseline = baseline_load(wish->baseline, &worker->options.symbolize,
		&worker->options.filter, worker->options.import);
	baseline_judge_by(worker->baseline, worker->options.judging);
	worker->baseline_serial = wish->baseline_serial;
	fulfil(worker, wish, true);
}

/* The network is the first recording's until it has all its names. */
static void name_baseline(struct worker *worker)
{
	if (!worker->baseline || is_naming(worker))
		return;
	struct name_thread *naming = baseline_begin_naming(worker->baseline, on_names, worker);
	if (naming)
		set_base_naming(worker, naming);
}

static bool is_time_for_names(const struct worker *worker)
{
	return worker->has_names && clock_now_ns() >= worker->next_names_ns;
}

/* Waits for another wish than that of `serial`, or for names. False: it is over. */
static bool next_wish(struct worker *worker, unsigned serial, struct model_wish *ret)
{
	pthread_mutex_lock(&worker->mutex);
	while (!worker->is_over && worker->wish.serial == serial && !is_time_for_names(worker)) {
		struct timespec deadline = clock_to_timespec(worker->next_names_ns);
		if (worker->has_names)
			pthread_cond_timedwait(&worker->changed, &worker->mutex, &deadline);
		else
			pthread_cond_wait(&worker->changed, &worker->mutex);
	}
	bool goes_on = !worker->is_over;
	if (goes_on) {
		if (worker->wish.serial != serial)
			worker->news.busy = "computing";
		model_wish_deinit(ret);
		model_wish_copy(ret, &worker->wish);
		worker->has_names = false;
		atomic_store(&worker->is_cancelled, false);
	}
	pthread_mutex_unlock(&worker->mutex);
	ring(worker);
	return goes_on;
}

static void worker_work(struct worker *worker)
{
	if (!worker_load(worker))
		return;
	set_busy(worker, "computing");
	struct sample_thread samples;
	sample_thread_begin(&samples, worker->profile);
	worker->symbolizer = symbolizer_create(worker->profile, &worker->options.symbolize);
	symbolizer_begin(worker->symbolizer);
	sample_thread_end(&samples);
	refine_slice(worker, &samples.slice);
	struct model_wish wish = {.serial = UINT32_MAX};
	/* Addresses come first: who asks for names would only slow that down. */
	bool goes_on = next_wish(worker, wish.serial, &wish);
	if (goes_on && !worker->options.open)
		publish_flat(worker, &wish, &samples.slice);
	sample_thread_deinit(&samples);
	if (!worker->naming)
		begin_naming(worker);
	if (goes_on)
		fulfil(worker, &wish, true);
	fulfil_baseline(worker, &wish);
	name_baseline(worker);
	for (unsigned serial = wish.serial; next_wish(worker, serial, &wish);
		serial = wish.serial) {
		retry_names(worker, &wish);
		fulfil(worker, &wish, wish.serial != serial);
		fulfil_baseline(worker, &wish);
		name_baseline(worker);
	}
	model_wish_deinit(&wish);
}

static void *worker_run(void *context)
{
	struct worker *worker = context;
	worker_work(worker);
	return NULL;
}

static void worker_free(struct worker *worker)
{
	model_release(worker->news.model);
	err_destroy(worker->news.err);
	model_wish_deinit(&worker->wish);
	model_release(worker->sums);
	model_names_release(worker->names);
	root_frames_deinit(&worker->roots);
	baseline_destroy(worker->baseline);
	symbolizer_destroy(worker->symbolizer);
	profile_destroy(worker->profile);
	if (worker->options.open)
		mem_close_fd(&worker->options.fd);
	mem_close_fd(&worker->event_fd);
	pthread_mutex_destroy(&worker->mutex);
	pthread_cond_destroy(&worker->changed);
	mem_free(worker);
}

/* Its deadlines are of CLOCK_MONOTONIC. */
static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct err *worker_create(const struct worker_options *options, struct worker **ret)
{
	struct worker *worker = mem_zalloc(sizeof(*worker));
	worker->options = *options;
	if (options->open)
		worker->options.fd = -1;
	worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&worker->mutex, NULL);
	init_condition(&worker->changed);
	worker->news.busy = "reading";
	int error = worker->event_fd < 0 ? errno
					 : quiet_thread_create(&worker->thread, worker_run, worker);
	if (error) {
		worker_free(worker);
		return err_sys(error, "cannot start a thread");
	}
	*ret = worker;
	return NULL;
}

bool worker_destroy(struct worker *worker, const struct timespec *deadline)
{
	pthread_mutex_lock(&worker->mutex);
	worker->is_over = true;
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
	worker_cancel(worker); /* now: a wish that is begun after a cancel is not cancelled */
	if (!quiet_thread_join(worker->thread, deadline) ||
		!name_thread_destroy(worker->naming, deadline) ||
		!baseline_stop(worker->baseline, deadline))
		return false;
	worker_free(worker);
	return true;
}

int worker_recording(const struct worker *worker)
{
	return worker->options.fd;
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
	/* Under the lock, since it may go. */
	if (worker->base_naming)
		ret->naming = name_thread_progress(worker->base_naming);
	struct name_thread *naming = worker->naming;
	pthread_mutex_unlock(&worker->mutex);
	if (naming && !ret->naming.to_name)
		ret->naming = name_thread_progress(naming);
}

void worker_wish(struct worker *worker, const struct model_wish *wish)
{
	pthread_mutex_lock(&worker->mutex);
	model_wish_deinit(&worker->wish);
	model_wish_copy(&worker->wish, wish);
	atomic_store(&worker->is_cancelled, true);
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

void worker_cancel(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	struct name_thread *naming = worker->naming;
	worker->is_naming_given_up = true;
	atomic_store(&worker->is_cancelled, true);
	if (worker->base_naming)
		name_thread_cancel(worker->base_naming);
	pthread_mutex_unlock(&worker->mutex);
	if (naming)
		name_thread_cancel(naming);
}
