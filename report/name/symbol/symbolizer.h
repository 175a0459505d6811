/*
 * Gives the frames of a profile their functions, object by object, as far as there is time. The
 * lookup for one object may run in a thread of its own while the profile is used and the results of
 * others are applied to it:
 *
 *   symbolizer_begin();                         names what the recording itself tells
 *   symbolizer_rank();                          before files are read
 *   on the lookup thread:      while ((pending = symbolizer_next()))
 *                                      lookup_run(pending, &result);
 *   on the profile's thread:           pending_apply(pending, &result);
 */
#ifndef EBPROF_SYMBOLIZER_H
#define EBPROF_SYMBOLIZER_H

#include "report/name/symbol/pending.h"

/*
 * Fills profile->functions and the frames' function, object by object. What has
 * no symbol is called dso+0xADDRESS, one function an address. Where debug information is found,
 * frames get files and lines, and inlined functions frames of their own.
 */
void symbolize(struct profile *profile, const struct symbolize_options *options);

struct symbolizer;

/* Both are borrowed. The frames of truncated stacks get their functions at once. */
struct symbolizer *symbolizer_create(
	struct profile *profile, const struct symbolize_options *options);

/* The objects with frames, as they come in the profile. */
size_t symbolizer_count(const struct symbolizer *symbolizer);
struct pending *symbolizer_pending(struct symbolizer *symbolizer, size_t index);

/* Names all frames: what the recording itself does not tell is called by its address. */
void symbolizer_begin(struct symbolizer *symbolizer);

/*
 * Ranks the objects by their samples, before files are read: on the profile's thread, which may
 * show addresses first.
 */
void symbolizer_rank(struct symbolizer *symbolizer);

/* Begins to fetch what this machine lacks. May take long; on the lookup thread. */
void symbolizer_prefetch(struct symbolizer *symbolizer);

/*
 * The object to look up next: symbol tables of all objects before debug information of any, that
 * before the network, and each time those with most samples first. NULL: none is left, or
 * (*waits) all that are left wait for the network.
 */
struct pending *symbolizer_next(struct symbolizer *symbolizer, bool *waits);

/* After this, names that were applied earlier than the last ones are no more. */
void symbolizer_destroy(struct symbolizer *symbolizer);

#endif
