/*
 * The files of a ring go to a server, the oldest first, each once: the ring is the spool. What the
 * server does not take stays, and is tried again, until it took it or the recorder removed it.
 */
#ifndef EBPROF_PUSH_RING_H
#define EBPROF_PUSH_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"

enum push_outcome {
	PUSH_TAKEN = 0,
	PUSH_REFUSED = 1, /* for a reason of its own, or of the request: the next may be taken */
	PUSH_UNAVAILABLE = 3, /* later it may be taken: so for the next */
};

/* Pushes one file and says what is wrong; runs in a process of its own, whose exit status is the
 * outcome: what a file takes of memory, and what it breaks, ends with it. */
typedef enum push_outcome push_ring_fn(void *context, const char *path);

struct push_ring_options {
	const char *folder;
	const char *target; /* which server, and as what: what was taken is noted by it */
	const char *url;    /* for messages */
	uint64_t every_ns;  /* look for new files so often; 0: once */
	bool is_quiet;
	push_ring_fn *push;
	void *context;
};

/*
 * With every_ns: until SIGTERM or SIGINT, and then once more for a few seconds. *ret: of the last
 * time. Counters go into the ring as push-TARGET.metrics, in Prometheus' text format.
 */
struct err *push_ring(
	const struct push_ring_options *options, enum push_outcome *ret) ERR_MUST_CHECK;

#endif
