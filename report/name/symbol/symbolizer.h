/*
 * Gives the frames of a profile their functions, object by object, as far as there is time. Asking
 * for one object may go on in a thread of its own while the profile is used and what was found of
 * others is applied to it:
 *
 *   symbolizer_begin();                         names what the recording itself tells
 *   symbolizer_rank();                          before anybody else is asked
 *   on the thread that asks:   while ((batch = symbolizer_next()))
 *                                      symbolize_ask(batch, &findings);
 *   on the profile's thread:           batch_apply(batch, &findings);
 */
#ifndef EBPROF_SYMBOLIZER_H
#define EBPROF_SYMBOLIZER_H

#include "report/name/symbol/batch.h"

struct symbolizer;

/* Both are borrowed. The frames of truncated stacks get their functions at once. */
struct symbolizer *symbolizer_create(
	struct profile *profile, const struct symbolize_options *options);

/* The objects with frames, as they come in the profile. */
size_t symbolizer_count(const struct symbolizer *symbolizer);
struct batch *symbolizer_batch(struct symbolizer *symbolizer, size_t index);

/* Names all frames: what the recording itself does not tell is called by its address. */
void symbolizer_begin(struct symbolizer *symbolizer);

/*
 * Counts whose samples are most, before anybody is asked: on the profile's thread, which may show
 * addresses first.
 */
void symbolizer_rank(struct symbolizer *symbolizer);

/* Begins to fetch what this machine lacks. May take long; on the thread that asks. */
void symbolizer_prefetch(struct symbolizer *symbolizer);

/*
 * Whom to ask next: symbol tables of all objects before debug information of any, that before
 * the network, and each time those with most samples first. NULL: there is nobody left, or
 * (*waits) all that are left wait for the network.
 */
struct batch *symbolizer_next(struct symbolizer *symbolizer, bool *waits);

/* After this, names that were applied earlier than the last ones are no more. */
void symbolizer_destroy(struct symbolizer *symbolizer);

#endif
