/* What a person sees of a recording: the first line, the live line, the summary and its hints. */
#ifndef EBPROF_RECORD_VIEW_H
#define EBPROF_RECORD_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "record/session.h"

struct record_view {
	const struct session_options *options; /* borrowed */
	bool quiet, verbose;
	bool shows_progress; /* on a terminal, and not across a command's own output */
	bool line_is_open;
	double shown_at_s;
};

/* These two fit struct session_callbacks, with the view as context. */
void record_view_ready(void *context, const char *event, uint32_t child_pid);
void record_view_progress(void *context, const struct session_progress *progress);

/* Takes the live line away, for something else to be printed. */
void record_view_clear_line(struct record_view *view);
void record_view_summary(const struct record_view *view, const struct session_summary *summary);
/* What to do with the file; the last line. */
void record_view_next(const struct session_summary *summary);

#endif
