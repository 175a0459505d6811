/* Which objects debuginfod is asked about early, in the background: all at once, the hottest first.
 */
#ifndef EBPROF_SYMBOL_PREFETCH_H
#define EBPROF_SYMBOL_PREFETCH_H

#include "report/model/profile.h"
#include "report/name/symbol/symbol_file_options.h"

struct symbol_prefetch_object {
	const struct profile_object *object;
	uint64_t samples; /* that ended in its code */
	bool is_open;     /* the recording itself does not say all of it */
};

/* The objects of a profile that is not symbolized yet, in its order; to be freed. */
struct symbol_prefetch_object *symbol_prefetch_list(const struct profile *profile);
/* Once: counts their samples, and those with most come first. */
void symbol_prefetch_rank(const struct profile *profile, struct symbol_prefetch_object *wanted);

/*
 * Begins to fetch in the background what this machine lacks for these objects, in this order, but
 * not what an archived recording says itself. Does nothing without options->debuginfod, and may be
 * left out.
 */
void symbol_prefetch_start(const struct symbol_prefetch_object *wanted, size_t count,
	const struct symbol_file_options *options);

#endif
