/*
 * The recorder of `top`: a process of its own, `ebprof record --ring`, whose files are in memory
 * (tmpfs) and are gone when it ends. What there is of them at a time is one recording.
 */
#ifndef EBPROF_TOP_RECORDER_H
#define EBPROF_TOP_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"

struct top_recorder;

struct top_recorder_options {
	char *const *words;  /* of record, beginning with its target; ends with NULL */
	const char *keep;    /* its --keep: so much memory, and so much time */
	const char *switch_; /* its --switch: what goes at once when that is too much */
};

/* Starts it. */
struct err *top_recorder_start(
	const struct top_recorder_options *options, struct top_recorder **ret) ERR_MUST_CHECK;
/* Ends it, and removes what it wrote. NULL is safe. */
void top_recorder_stop(struct top_recorder *recorder);
/* The same where a thread may still read: nothing is freed. */
void top_recorder_end(struct top_recorder *recorder);

/*
 * What was recorded up to about now, as one recording in memory; waits for the first of it. An
 * error has what the recorder said when it could not begin. On any thread.
 */
struct err *top_recorder_open(struct top_recorder *recorder, int *ret) ERR_MUST_CHECK;
/* Whether it has ended by itself: the command or the processes have. On one thread. */
bool top_recorder_is_over(struct top_recorder *recorder);

#endif
