/*
 * A recording that goes on while it is looked at. A worker reads the newest state of it beside the
 * one that is shown, gives it all its names and sees it through the same filters; then it takes the
 * other's place.
 */
#ifndef EBPROF_LIVE_H
#define EBPROF_LIVE_H

#include <stdint.h>

#include "report/tui/app_state.h"
#include "report/tui/tui.h"
#include "report/tui/worker.h"

struct live;

/* The options are for each worker, but for where the recording is opened. */
struct err *live_create(const struct tui_live *source, const struct worker_options *work,
	struct live **ret) ERR_MUST_CHECK;
/* False: a thread could not be stopped until then, see worker_destroy(). NULL is safe. */
bool live_destroy(struct live *live, const struct timespec *deadline);

/* For the first worker, whose it is from then on. */
struct worker_options live_worker_options(const struct live *live);

enum {
	LIVE_FDS = 2,
};
/* Become readable when live_step() has something to do; returns how many there are. */
size_t live_fds(const struct live *live, int fds[LIVE_FDS]);
/*
 * A newer state takes the place of the one that is shown where it is whole, unless the application
 * is paused or held: then *worker is another one, and the older is gone with all of its models.
 * *is_left: it could not be stopped. An error says why there can be no newer one.
 */
struct err *live_step(struct live *live, struct app *app, struct worker **worker,
	struct code_reader *code, bool *is_left) ERR_MUST_CHECK;
/* Writes what is shown to app->to_save, if that is wanted, and says what came of it. */
void live_save(const struct live *live, struct app *app, const struct worker *worker);

#endif
