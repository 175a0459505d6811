/* The terminal interface of `ebprof report`. */
#ifndef EBPROF_TUI_H
#define EBPROF_TUI_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "report/analyse/filter.h"
#include "report/compare/difference.h"
#include "report/name/symbol/symbolize_options.h"
#include "report/tui/baseline.h"

/* A recording that goes on. */
struct tui_live {
	void *context;
	/* Opens what there is of it now; *ret is the caller's. Called on any thread, may take long.
	 */
	struct err *(*open)(void *context, int *ret)ERR_MUST_CHECK;
	/* Whether nothing more will come. On the drawing thread. */
	bool (*is_over)(void *context);
	/* Writes what open() gave to a file. Likewise. */
	struct err *(*save)(void *context, int fd, const char *path)ERR_MUST_CHECK;
	const char *words;    /* for the title: what part of the time is seen */
	uint64_t interval_ns; /* from one state to the next */
};

struct tui_options {
	const char *file_name;
	const char *baseline;               /* the file to compare with; NULL: none */
	const char *baseline_name;          /* what it is called on the screen; NULL: as the file */
	const struct diff_options *judging; /* as baseline_judge_by() has it; NULL: the default */
	baseline_import_fn *import;  /* of a file to compare with; NULL: only recordings can be */
	int fd;                      /* of the recording; borrowed */
	const struct tui_live *live; /* not NULL: that is opened instead */
	struct symbolize_options symbolize;
	struct filter filter;          /* what is not wanted is not even looked at */
	struct debug_dirs source_dirs; /* --source-dir, in the order given */
	bool opens_tree, is_inverted;  /* the view that is seen first; else the top functions */
};

/* An error says why there can be none here. */
struct err *tui_check(void) ERR_MUST_CHECK;

/* With tui_options.live, which has to be ended first: the signal that the process is to die of
 * then, behind tui_run(); 0: none. */
int tui_ending(void);

/*
 * Runs until the person leaves, in the terminal of standard input and output. The locale must be
 * set. An error says why the recording could not be read, or the terminal not be used. *is_left:
 * threads that could not be stopped at once still use what the options lead to: free nothing, and
 * leave by _exit().
 */
struct err *tui_run(const struct tui_options *options, bool *is_left) ERR_MUST_CHECK;

#endif
