/*
 * Processes of `ci run`: none outlives it, and it hands on the signals that end it to all of
 * them.
 */
#ifndef EBPROF_CI_PROCESS_H
#define EBPROF_CI_PROCESS_H

#include <signal.h>

#include "format/base/err.h"

enum {
	CI_NR_ENDING_SIGNALS = 4,
};

struct ci_watch {
	struct sigaction old[CI_NR_ENDING_SIGNALS];
};

/* Until its end signals go to the process that runs, and only end us when we look for them. */
void ci_watch_begin(struct ci_watch *watch);
void ci_watch_end(const struct ci_watch *watch);
/* The first that came since it began; 0: none. */
int ci_watch_signal(void);

/* In the new process; what it returns is the exit code. */
typedef int ci_process_body(void *context);

/*
 * Runs it in a process of its own, which gets SIGTERM should we die. *ret is its status as wait(2)
 * has it; 0 where a signal came before it began.
 */
struct err *ci_process_run(ci_process_body *body, void *context, int *ret) ERR_MUST_CHECK;

/* Processes that are no business of ours: children of the process that executed this program. */
struct ci_strangers {
	int *data;
	size_t len, cap;
};

/* From now on, orphans below us become our children. */
void ci_adopt_begin(struct ci_strangers *strangers);
/* Ends all children, and theirs, but not the strangers. */
void ci_adopt_end(struct ci_strangers *strangers);

#endif
