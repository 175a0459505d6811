/*
 * One thread's questions to libdebuginfod, one after the other: cut off when nothing comes for
 * DEBUGINFOD_PATIENCE_S seconds, or when everything is to end.
 */
#ifndef EBPROF_DEBUGINFOD_TRANSFER_H
#define EBPROF_DEBUGINFOD_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/debug_attempt.h"
#include "report/name/debugfile/debuginfod_library.h"

enum {
	DEBUGINFOD_PATIENCE_S = 10,
};

/* Shared by all threads. */
struct debuginfod_meter {
	atomic_bool is_over; /* all transfers are to end */
	atomic_ullong bytes; /* of all of them */
	atomic_ullong steps; /* grows while there is progress */
};

struct debuginfod_transfer {
	/* For the caller to set. */
	const struct debuginfod_library *library;
	struct debuginfod_meter *meter;
	struct debuginfod_client *client;
	const uint8_t *build_id;
	size_t build_id_len;
	long bytes_max; /* of a whole file */
	int log;        /* what the library tells of the question at hand; -1: nothing */

	/* Of the question at hand. */
	long mark_bytes, seen_bytes;
	int64_t mark_ns;
	bool is_asked;          /* over the network, not from the library's cache */
	bool is_answered;       /* a server began to send */
	bool is_certain;        /* DEBUG_UNKNOWN is what every server said */
	enum debug_verdict cut; /* why it was ended by us; DEBUG_ACCEPTED: it was not */
};

/*
 * Of a log: how many servers were asked, how many answered that they know of no such thing,
 * whether one could not tell, and the most that one announced to send (0: none did).
 */
struct debuginfod_replies {
	unsigned asked, unknown;
	bool is_refused, is_chunked;
	uint64_t content_bytes;
};
struct debuginfod_replies debuginfod_transfer_read_log(const char *log);

/* Makes the thread's client; false when the library cannot. */
bool debuginfod_transfer_init(struct debuginfod_transfer *transfer);
void debuginfod_transfer_deinit(struct debuginfod_transfer *transfer);

/*
 * Fetches a section, or the debug file when it is NULL. With DEBUG_ACCEPTED *path is that of a file
 * in the library's cache, and yours; with DEBUG_FAILED *errnum says why.
 */
enum debug_verdict debuginfod_transfer_fetch(
	struct debuginfod_transfer *transfer, const char *section, char **path, int *errnum);

#endif
