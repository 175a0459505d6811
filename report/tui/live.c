#include "report/tui/live.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "report/tui/quiet_thread.h"

enum {
	FAREWELL_MS = 5000, /* the older state's threads have nothing to do any more */
	AGAIN_NS = 50000000,
	REST_PARTS = 4, /* of the time that a newer state took, there is none for so long */
};

struct live {
	struct tui_live source;
	struct worker_options work;
	struct worker *next; /* reads a newer state; NULL: none */
	struct model *model; /* held: the newest of it */
	unsigned wished;     /* serial of the newest wish that it has */
	bool is_over;        /* there is no newer state than the one that is shown */
	int timer_fd;        /* when the next one is to be read */
	uint64_t begun_ns;   /* when this one was begun */
};

static void set_timer(const struct live *live, uint64_t after_ns)
{
	struct itimerspec when = {.it_value = clock_to_timespec(after_ns ? after_ns : 1)};
	timerfd_settime(live->timer_fd, 0, &when, NULL);
}

struct err *live_create(
	const struct tui_live *source, const struct worker_options *work, struct live **ret)
{
	struct live *live = mem_zalloc(sizeof(*live));
	live->source = *source;
	live->work = *work;
	live->work.open = source->open;
	live->work.open_context = source->context;
	live->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (live->timer_fd < 0) {
		mem_free(live);
		return err_sys(errno, "timerfd_create");
	}
	set_timer(live, source->interval_ns);
	*ret = live;
	return NULL;
}

static bool forget_next(struct live *live, const struct timespec *deadline)
{
	model_release(live->model);
	live->model = NULL;
	bool is_gone = !live->next || worker_destroy(live->next, deadline);
	live->next = NULL;
	return is_gone;
}

bool live_destroy(struct live *live, const struct timespec *deadline)
{
	if (!live)
		return true;
	if (!forget_next(live, deadline))
		return false;
	mem_close_fd(&live->timer_fd);
	mem_free(live);
	return true;
}

struct worker_options live_worker_options(const struct live *live)
{
	return live->work;
}

size_t live_fds(const struct live *live, int fds[LIVE_FDS])
{
	fds[0] = live->timer_fd;
	if (live->next)
		fds[1] = worker_fd(live->next);
	return live->next ? 2 : 1;
}

/* ---- a newer state ---- */

static struct err *begin_next(struct live *live, const struct app *app)
{
	uint64_t expirations;
	bool is_due = read(live->timer_fd, &expirations, sizeof(expirations)) > 0;
	if (!is_due || live->is_over)
		return NULL;
	if (app->is_paused || app_is_held(app) || !app->model || app->model->is_flat) {
		set_timer(live, live->source.interval_ns);
		return NULL;
	}
	live->is_over = live->source.is_over(live->source.context);
	live->begun_ns = clock_now_ns();
	live->wished = 0;
	return worker_create(&live->work, &live->next);
}

static struct err *take_next(struct live *live)
{
	struct worker_news news;
	worker_take(live->next, &news);
	if (news.model) {
		model_release(live->model);
		live->model = news.model;
	}
	return news.err;
}

/* However long it takes, most of the time nothing is read. */
static void plan_next(struct live *live)
{
	uint64_t took_ns = clock_now_ns() - live->begun_ns;
	uint64_t rest_ns = live->source.interval_ns;
	if (took_ns * REST_PARTS > rest_ns)
		rest_ns = took_ns * REST_PARTS;
	set_timer(live, rest_ns);
}

static void replace_worker(
	struct live *live, struct app *app, struct worker **worker, bool *is_left)
{
	struct timespec deadline = quiet_thread_deadline(FAREWELL_MS);
	struct worker *older = *worker;
	app_renew(app, live->model);
	live->model = NULL;
	*worker = live->next;
	live->next = NULL;
	*is_left |= !worker_destroy(older, &deadline);
	plan_next(live);
}

/* Of one that was begun before the person paused. */
static void drop_next(struct live *live, bool *is_left)
{
	struct timespec deadline = quiet_thread_deadline(FAREWELL_MS);
	*is_left |= !forget_next(live, &deadline);
	live->is_over = false;
	plan_next(live);
}

/* Once: a wish cancels what is being computed for the one before, and so for the same. */
static void wish_for_same(struct live *live, const struct app *app)
{
	struct model_wish wish;
	if (live->wished == app->wish.serial)
		return;
	app_renewed_wish(app, live->model, &wish);
	worker_wish(live->next, &wish);
	live->wished = wish.serial;
	model_wish_deinit(&wish);
}

static void look_at_it_later(const struct live *live)
{
	uint64_t expirations;
	(void)!read(live->timer_fd, &expirations, sizeof(expirations));
	set_timer(live, AGAIN_NS);
}

struct err *live_step(struct live *live, struct app *app, struct worker **worker,
	struct code_reader *code, bool *is_left)
{
	app->live_words = app->is_paused     ? "PAUSED"
			  : app_is_held(app) ? "HELD while source is shown"
			  : live->source.is_over(live->source.context) ? "ENDED"
								       : live->source.words;
	if (!live->next)
		return begin_next(live, app);
	try(take_next(live));
	if (!live->model)
		return NULL;
	if (app->is_paused || app_is_held(app)) {
		drop_next(live, is_left);
		return NULL;
	}
	if (live->model->wish_serial != app->wish.serial)
		wish_for_same(live, app);
	else if (code_reader_is_idle(code))
		replace_worker(live, app, worker, is_left);
	else /* what it reads is of the older state */
		look_at_it_later(live);
	return NULL;
}

void live_save(const struct live *live, struct app *app, const struct worker *worker)
{
	if (!app->to_save)
		return;
	bool is_kept = access(app->to_save, F_OK) == 0;
	struct err *err =
		live->source.save(live->source.context, worker_recording(worker), app->to_save);
	if (err)
		app_warn(app, "%s", err_message(err));
	else if (is_kept)
		app_say(app, "written: %s; what it was before is %s.old now", app->to_save,
			app->to_save);
	else
		app_say(app, "written: %s", app->to_save);
	err_destroy(err);
	mem_free(app->to_save);
	app->to_save = NULL;
}
