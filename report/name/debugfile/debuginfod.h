/*
 * Fetching debug files from debuginfod servers, several at once and in the background.
 *
 * Only if DEBUGINFOD_URLS is set; libdebuginfod does the talking and keeps what came in its own
 * cache, which is where the paths below lead. What is there has to be checked like any other file.
 *
 * Waits for the network are short: a transfer that stands still for 10 s is cut off, and the
 * caller of debuginfod_wait() gets what is there after 10 s in all, or, where the user asked
 * for a tier by name, after 10 s in which nothing came. Then the whole session is over.
 *
 * Build IDs that no server knew are remembered, see debuginfod_memo.h.
 */
#ifndef EBPROF_DEBUGINFOD_H
#define EBPROF_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/debug_attempt.h"

enum debuginfod_mode {
	DEBUGINFOD_AUTO, /* names, and all of what has many samples */
	DEBUGINFOD_OFF,
	DEBUGINFOD_NAMES, /* .symtab and .strtab */
	DEBUGINFOD_LINES, /* .debug_line and what it needs too */
	DEBUGINFOD_FULL,  /* whole files */
};

/* What a session has done so far; build IDs count as files. */
struct debuginfod_progress {
	size_t nr_wanted, nr_done;
	size_t nr_unfinished; /* cut off, or not begun any more */
	size_t nr_failed;
	int errnum; /* of the last failure */
	uint64_t bytes;
	bool has_threads; /* that did not end in time */
};

typedef void debuginfod_progress_fn(void *context, const struct debuginfod_progress *progress);

struct debuginfod_options {
	enum debuginfod_mode mode;
	debuginfod_progress_fn *progress; /* called during a download; may be NULL */
	void *context;
	/*
	 * The user does not wait: there is time as long as something comes, in any mode; but
	 * the caller that ends the session leaves at once.
	 */
	bool is_background;
};

struct debuginfod;

/* NULL when the mode is off, or DEBUGINFOD_URLS is not set. */
struct debuginfod *debuginfod_create(const struct debuginfod_options *options);

enum debuginfod_mode debuginfod_mode(const struct debuginfod *session);
/* DEBUGINFOD_URLS; borrowed. */
const char *debuginfod_urls(const struct debuginfod *session);
/* Whether libdebuginfod could be loaded. */
bool debuginfod_is_ready(const struct debuginfod *session);
/* Whether DEBUGINFOD_URLS names servers. */
bool debuginfod_has_servers(void);
/* Whether this program could load it, if it were there: not a static one. */
bool debuginfod_is_possible(void);

/* The parts of an object, in the order in which they are fetched: first one part of all objects. */
enum debuginfod_part {
	DEBUGINFOD_PART_NAMES,
	DEBUGINFOD_PART_LINES,
	DEBUGINFOD_PART_WHOLE,
	DEBUGINFOD_PART_COUNT,
};

struct debuginfod_want {
	const uint8_t *build_id; /* copied */
	size_t build_id_len;
	bool parts[DEBUGINFOD_PART_COUNT];
};

/* Begins to fetch what is not under way yet; first come, first served. */
void debuginfod_fetch(struct debuginfod *session, const struct debuginfod_want *want);

enum {
	DEBUGINFOD_FILES_MAX = 3,
};

/* What became of one part; paths are the session's. */
struct debuginfod_answer {
	bool is_wanted; /* false: it was not asked for */
	enum debug_verdict verdict;
	int errnum;
	/* whole: [0]; names: .symtab, .strtab; lines: .debug_line, .debug_line_str, .debug_str,
	 * of which the last two may be NULL. */
	const char *files[DEBUGINFOD_FILES_MAX];
};

/* Waits for what was asked for this build ID, as long as that is allowed; from one thread. */
void debuginfod_wait(struct debuginfod *session, const uint8_t *build_id, size_t len,
	struct debuginfod_answer answers[DEBUGINFOD_PART_COUNT]);

/* Whether debuginfod_wait() would return at once. */
bool debuginfod_is_done(struct debuginfod *session, const uint8_t *build_id, size_t len);
/* Waits until something changes, 200 ms at most; from the thread that waits. */
void debuginfod_wait_a_moment(struct debuginfod *session);
/* Gives up what is not there yet; from any thread. */
void debuginfod_cancel(struct debuginfod *session);

/* Cuts off what still runs, and tells what was done. */
struct debuginfod_progress debuginfod_destroy(struct debuginfod *session);

#endif
