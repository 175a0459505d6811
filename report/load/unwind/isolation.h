/*
 * Snapshots are unwound in a child process, one after the other: a crash or an
 * endless loop over one, whose files and bytes may be hostile, costs that one.
 *
 * It was made when libdw read the rules. Our own readers do now, with bounds and fuzzers, but the
 * child stays: nothing else limits the time for one snapshot, and without it a fault while
 * unwinding would cost the whole report, symbols and stacks that are whole included. Where nothing
 * is left to unwind (no snapshots, or all archived ahead of them), no child is started.
 */
#ifndef EBPROF_ISOLATION_H
#define EBPROF_ISOLATION_H

#include "report/load/unwind/unwound.h"
#include "report/model/profile.h"

enum {
	ISOLATION_LIMIT_MS = 10000,
	ISOLATION_FAILURES_MAX = 8,
	ISOLATION_NOT_UNWOUND = UINT32_MAX, /* in place of a number */
};

struct isolation_child;

struct isolation {
	/* In the child, which has the memory as it was when it began: adds what the snapshot
	 * `index` leads to to its copy of `unwound`. */
	uint32_t (*take)(void *context, size_t index);
	void *context;
	struct unwound *unwound; /* gets the same */
	size_t nr_objects;       /* of the profile, which frames lead to */
	/*
	 * CPU time for one snapshot. A child that does nothing at all, which takes none, is given
	 * up after 12 times as long.
	 */
	uint32_t limit_ms;
	uint32_t failures_left; /* without any, nothing is tried any more */
	struct profile_unwind_losses *losses;
	struct isolation_child *child; /* NULL: none; it stays, with all that it has opened */
};

/* The numbers of `count` snapshots. Those that are not unwound are counted as losses. */
void isolation_run(struct isolation *isolation, size_t count, uint32_t *numbers);
/* Ends the child, if there is one; the next run begins another. */
void isolation_end(struct isolation *isolation);

#endif
