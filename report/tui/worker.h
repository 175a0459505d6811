/*
 * Reads, names and computes on threads of its own, so that the screen never waits. What it has made
 * is taken as whole models; the newest wish cancels the one before.
 */
#ifndef EBPROF_WORKER_H
#define EBPROF_WORKER_H

#include <time.h>

#include "format/base/err.h"
#include "report/analyse/filter.h"
#include "report/name/symbol/symbolize_options.h"
#include "report/tui/baseline.h"
#include "report/tui/model.h"

struct worker;

struct worker_options {
	int fd; /* of the recording; borrowed */
	/* Not NULL: opens it instead, on the worker's thread, and it is the worker's then. The
	 * first model has all names that this machine has, since one without them stands in its
	 * place. */
	struct err *(*open)(void *context, int *ret)ERR_MUST_CHECK;
	void *open_context;
	struct symbolize_options symbolize;
	struct filter filter;               /* what is not wanted is not even looked at */
	const struct diff_options *judging; /* see tui_options */
	baseline_import_fn *import;
};

struct err *worker_create(const struct worker_options *options, struct worker **ret) ERR_MUST_CHECK;
/*
 * Ends its threads and frees it, all models having been released. False: they could not be stopped
 * until then (of quiet_thread.h), and the options still are in use: leave the process.
 */
bool worker_destroy(struct worker *worker, const struct timespec *deadline);

/* The recording that the models are of, once there is one; borrowed. */
int worker_recording(const struct worker *worker);
/* Becomes readable when there is something to take. */
int worker_fd(const struct worker *worker);

struct worker_news {
	struct model *model; /* yours; NULL: none that is new */
	struct err *err;     /* yours: the recording could not be read, it is over */
	double loaded;       /* 0 to 1 */
	const char *busy;    /* static text; NULL: nothing is done */
	struct naming naming;
};

void worker_take(struct worker *worker, struct worker_news *ret);
/* Copies the wish. */
void worker_wish(struct worker *worker, const struct model_wish *wish);
/* Gives up what is being computed, and asks for no more symbols. */
void worker_cancel(struct worker *worker);

#endif
