#include "report/tui/name_thread.h"

#include <stdatomic.h>
#include <string.h>

#include "report/name/debugfile/debuginfod.h"
#include "report/tui/quiet_thread.h"

struct found {
	struct pending *pending;
	struct lookup_result result;
};

struct founds {
	struct found *data;
	size_t len, cap;
};

struct name_thread {
	struct name_thread_options options;
	pthread_t thread;
	atomic_bool is_cancelled;

	pthread_mutex_t mutex; /* guards what follows */
	struct founds found;   /* not applied yet */
	struct naming naming;
};

/* ---- lookups ---- */

static void name_thread_hand_over(struct name_thread *names, const struct found *found)
{
	pthread_mutex_lock(&names->mutex);
	vec_push(&names->found, *found);
	names->naming.named += found->result.is_last;
	pthread_mutex_unlock(&names->mutex);
	names->options.wake(names->options.context);
}

static void set_fetching(struct name_thread *names, bool is_fetching)
{
	pthread_mutex_lock(&names->mutex);
	bool is_news = names->naming.is_fetching != is_fetching;
	names->naming.is_fetching = is_fetching;
	pthread_mutex_unlock(&names->mutex);
	if (is_news)
		names->options.wake(names->options.context);
}

static void *name_thread_run(void *context)
{
	struct name_thread *names = context;
	symbolizer_prefetch(names->options.symbolizer);
	while (!atomic_load(&names->is_cancelled)) {
		bool waits;
		struct found found = {
			.pending = symbolizer_next(names->options.symbolizer, &waits)};
		if (!found.pending && !waits)
			break;
		set_fetching(names, !found.pending);
		if (!found.pending) {
			debuginfod_wait_a_moment(names->options.debuginfod);
			continue;
		}
		lookup_run(found.pending, &found.result);
		name_thread_hand_over(names, &found);
	}
	pthread_mutex_lock(&names->mutex);
	names->naming = (struct naming){0};
	pthread_mutex_unlock(&names->mutex);
	names->options.wake(names->options.context);
	return NULL;
}

static void name_thread_free(struct name_thread *names)
{
	vec_each(&names->found, found)
		lookup_result_deinit(&found->result);
	vec_deinit(&names->found);
	pthread_mutex_destroy(&names->mutex);
	mem_free(names);
}

struct name_thread *name_thread_create(const struct name_thread_options *options)
{
	unsigned to_name = 0;
	for (size_t i = 0; i < symbolizer_count(options->symbolizer); i++)
		to_name += symbolizer_pending(options->symbolizer, i)->next != LOOKUP_END;
	if (!to_name)
		return NULL;
	symbolizer_rank(options->symbolizer);
	struct name_thread *names = mem_zalloc(sizeof(*names));
	names->options = *options;
	names->naming.to_name = to_name;
	pthread_mutex_init(&names->mutex, NULL);
	if (quiet_thread_create(&names->thread, name_thread_run, names) == 0)
		return names;
	name_thread_free(names);
	return NULL;
}

/* ---- the others' side ---- */

bool name_thread_apply(struct name_thread *names)
{
	pthread_mutex_lock(&names->mutex);
	struct founds found = names->found;
	names->found = (struct founds){0};
	pthread_mutex_unlock(&names->mutex);
	vec_each(&found, it)
		pending_apply(it->pending, &it->result);
	bool has_any = found.len;
	vec_deinit(&found);
	return has_any;
}

struct naming name_thread_progress(struct name_thread *names)
{
	pthread_mutex_lock(&names->mutex);
	struct naming naming = names->naming;
	pthread_mutex_unlock(&names->mutex);
	return naming;
}

void name_thread_cancel(struct name_thread *names)
{
	atomic_store(&names->is_cancelled, true);
	if (names->options.debuginfod)
		debuginfod_cancel(names->options.debuginfod);
}

void name_thread_end(struct name_thread *names)
{
	if (!names)
		return;
	atomic_store(&names->is_cancelled, true);
	pthread_join(names->thread, NULL);
	name_thread_free(names);
}

bool name_thread_destroy(struct name_thread *names, const struct timespec *deadline)
{
	if (!names)
		return true;
	name_thread_cancel(names);
	if (!quiet_thread_join(names->thread, deadline))
		return false;
	name_thread_free(names);
	return true;
}
