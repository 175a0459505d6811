/* The thread that asks for names, while another one computes with those that it has already. */
#ifndef EBPROF_NAME_THREAD_H
#define EBPROF_NAME_THREAD_H

#include <time.h>

#include "report/name/symbol/symbolizer.h"
#include "report/tui/model.h"

struct name_thread;

struct name_thread_options {
	struct symbolizer *symbolizer;
	struct debuginfod *debuginfod; /* NULL: none */
	/* Called on the thread when there is something to apply, and before it ends. */
	void (*wake)(void *context);
	void *context;
};

/* Begins to ask. NULL when there is nothing to ask for, or can be no thread. */
struct name_thread *name_thread_create(const struct name_thread_options *options);

/* Names what has been found since. False: nothing was. On the thread that owns the profile. */
bool name_thread_apply(struct name_thread *names);

struct naming name_thread_progress(struct name_thread *names);

/* Asks no more. What is being asked for comes to its end, as does a wait for the network. */
void name_thread_cancel(struct name_thread *names);

/* Ends as soon as what is being asked for has come to its end, and leaves the network to others. */
void name_thread_end(struct name_thread *names);

/* Cancels. False: it could not be stopped until then (of quiet_thread.h), and nothing was freed. */
bool name_thread_destroy(struct name_thread *names, const struct timespec *deadline);

#endif
