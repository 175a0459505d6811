/*
 * A second recording, which the first is compared with. It belongs to the thread that loads it;
 * what comes of it is a part of models.
 */
#ifndef EBPROF_BASELINE_H
#define EBPROF_BASELINE_H

#include "report/filter.h"
#include "report/symbol/symbolize.h"
#include "report/tui/model.h"

struct baseline;

/*
 * Reads and names it. Never fails: why it could not be read stands in each comparison. Names come
 * from this machine's files alone, since the network is busy with the first recording's. Of the
 * filter what has a meaning for another recording is applied: comms, dsos, symbols.
 */
struct baseline *baseline_load(
	const char *path, const struct symbolize_options *options, const struct filter *filter);
/* Of a profile that is symbolized already, which it takes over. */
struct baseline *baseline_create(const char *path, struct profile *profile);
/* NULL is safe. */
void baseline_destroy(struct baseline *baseline);

/*
 * Adds to a model that nobody else has yet how it compares, through the same filters as far as
 * they are of names. False: it was cancelled, and what is added is of no use. Needs the model's
 * profile to be as it was when the names were made.
 */
bool baseline_compare(struct baseline *baseline, struct model *model, const struct model_wish *wish,
	const atomic_bool *is_cancelled);

#endif
