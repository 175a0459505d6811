/*
 * A second recording, which the first is compared with. It belongs to the thread that loads it;
 * what comes of it is a part of models.
 */
#ifndef EBPROF_BASELINE_H
#define EBPROF_BASELINE_H

#include "report/analyse/filter.h"
#include "report/name/symbol/symbolize_options.h"
#include "report/tui/model.h"
#include "report/tui/name_thread.h"

struct baseline;

/*
 * If what is open at *fd is a file of another profiler, *fd becomes that of a recording that is
 * made of it; what is lost or guessed by that is added to the notes, a line each.
 */
typedef struct err *baseline_import_fn(int *fd, struct str *notes) ERR_MUST_CHECK;

/*
 * Reads and names it. Never fails: why it could not be read stands in each comparison. Names come
 * from this machine's files; servers are asked by baseline_begin_naming(). The options' files stay
 * in use. Of the
 * filter what has a meaning for another recording is applied: comms, dsos, symbols.
 * `import` NULL: files of other profilers are refused.
 */
struct baseline *baseline_load(const char *path, const struct symbolize_options *options,
	const struct filter *filter, baseline_import_fn *import);
/* Of a profile that is symbolized already, which it takes over. */
struct baseline *baseline_create(const char *path, struct profile *profile);
/* By these options from now on, which must stay; NULL: see compare_judge(). */
void baseline_judge_by(struct baseline *baseline, const struct diff_options *judging);
/*
 * Begins to ask servers for the names that are missing, in the background: when no other thread
 * uses the session. NULL: there is nothing to ask for, or that was done. The thread is the
 * baseline's.
 */
struct name_thread *baseline_begin_naming(
	struct baseline *baseline, void (*wake)(void *context), void *context);
/* Names what has come since. False: nothing has. NULL is safe. */
bool baseline_apply_names(struct baseline *baseline);

/* False: its thread could not be stopped until then (of quiet_thread.h). NULL is safe. */
bool baseline_stop(struct baseline *baseline, const struct timespec *deadline);
/* Waits for its thread. NULL is safe. */
void baseline_destroy(struct baseline *baseline);

/*
 * Adds to a model that no other thread has yet how it compares, through the same filters as far as
 * they are of names. False: it was cancelled, and what is added is of no use. Needs the model's
 * profile to be as it was when the names were made.
 */
bool baseline_compare(struct baseline *baseline, struct model *model, const struct model_wish *wish,
	const atomic_bool *is_cancelled);

#endif
