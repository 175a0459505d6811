/*
 * Patterns of texts, as the kernel's filters of tracepoints have them (lib/glob.c): `*` stands for
 * any text, `?` for a byte, `[a-z]` and `[!a-z]` for some bytes, `\` takes the next one as it is.
 * All of it has to match. What becomes of a pattern is matched by the BPF program byte by byte, see
 * struct event_trace_glob.
 */
#ifndef EBPROF_TRACE_GLOB_H
#define EBPROF_TRACE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/event.h"

/* False: the pattern has more than EVENT_TRACE_MAX_GLOB_PARTS parts beside its stars. */
bool trace_glob_compile(const char *pattern, size_t len, struct event_trace_glob *ret);

#endif
