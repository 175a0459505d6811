/*
 * What --filter says of a tracepoint's fields, in the kernel's syntax: `prev_pid > 100 && (prio ==
 * 120
 * || comm ~ "s*h")`. It becomes a list of comparisons, each with where to go on, which the BPF
 * program evaluates: the kernel's own filters are asked behind BPF programs.
 */
#ifndef EBPROF_TRACE_FILTER_H
#define EBPROF_TRACE_FILTER_H

#include "bpf/event.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/host/tracefs.h"

struct trace_globs {
	struct event_trace_glob *data;
	size_t len, cap;
};

/*
 * Fills in the terms, and appends the patterns that they have, whose numbers are those in `globs`.
 * ERR_USAGE: what is wrong with the text, or with the fields that it names.
 */
struct err *trace_filter_parse(const char *text, const struct tracepoint_fields *fields,
	struct trace_globs *globs, struct event_trace_point *ret) ERR_MUST_CHECK;

#endif
