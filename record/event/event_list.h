/* The events that there are here, with a word on what each is good for. */
#ifndef EBPROF_EVENT_LIST_H
#define EBPROF_EVENT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/err.h"

struct event_listed {
	const char *name;    /* as -e takes it */
	const char *alias;   /* NULL: none */
	const char *group;   /* "software"; equal ones come one behind the other */
	const char *unit;    /* what a sample weighs */
	const char *purpose; /* a line; "" : its name says it */
	const char *cost;    /* of the group, a line */
	const char *why;     /* it cannot be recorded here; NULL: it can */
	bool is_form;        /* the name has words in capitals to be filled in */
};

typedef void event_list_fn(void *context, const struct event_listed *event);

/*
 * Calls fn for each event whose name or alias matches (NULL: all but tracepoints); returns the
 * number of tracepoints that there are, matching or not, 0 where they cannot be seen.
 */
size_t event_list_each(const char *pattern, event_list_fn *fn, void *context);

/* Whether a counted event or a tracepoint can be had here. Others are not tried. */
struct event_spec;
struct err *event_list_try(const struct event_spec *spec) ERR_MUST_CHECK;

#endif
