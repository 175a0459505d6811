/*
 * Moves what the kernel has sent to the translation, in the order in which that makes sense: the
 * ring first, then sideband, which is then not older than any sample, then the tables and code that
 * were made meanwhile. What waits for some of these keeps all behind it waiting, so this module
 * knows for how long anything may wait: while recording, where a file ends, and at the very end.
 */
#ifndef EBPROF_SESSION_DRAIN_H
#define EBPROF_SESSION_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sampler.h"
#include "record/task/sideband.h"
#include "record/translate.h"

struct session_drain {
	/* From where to where, borrowed. */
	struct sampler *sampler;
	struct sideband *sideband;
	struct translate *translate;

	uint64_t drained_ns;       /* when it was done last: what is counted reaches up to here */
	uint64_t stalled_until_ns; /* nothing is taken before: a test's wish */
	bool has_more; /* in the ring, or of records, than was taken at once: to be called again */
	bool is_at_end;
};

/* Takes what there is, within a turn's time. */
void session_drain_take(struct session_drain *drain);
/* The sources have stopped: takes all that they had sent. */
void session_drain_finish_ring(struct session_drain *drain);
/* A file ends: takes all; what waits gets a moment, then it is the next file's. */
void session_drain_end_file(struct session_drain *drain);
/* All is over: what waits is given a last chance, then nothing waits any more. */
void session_drain_end(struct session_drain *drain);
/* When it is to be done again at the latest. */
uint64_t session_drain_due_ns(const struct session_drain *drain);

#endif
