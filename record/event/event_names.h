/* The names of perf's predefined events: what they count, how, and what each is good for. */
#ifndef EBPROF_EVENT_NAMES_H
#define EBPROF_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_name {
	const char *name, *alias; /* alias NULL: it has none */
	uint32_t type;            /* of struct perf_event_attr, */
	uint64_t config;          /* likewise */
	const char *unit;         /* what is counted: "faults" */
	const char *purpose;      /* a line */
};

/* Ends with a row without a name. */
extern const struct event_name event_names[];

/* The row that has `text`, or the first `len` bytes of it, as a name or alias. NULL: there is none.
 */
const struct event_name *event_name_find(const char *text, size_t len);

/* The events of the processor's caches and their translations, "L1-dcache-load-misses". */
struct event_cache_name {
	char name[32];
	uint64_t config; /* of PERF_TYPE_HW_CACHE */
};

/* The one of a number from 0 on; false behind the last. */
bool event_cache_name_at(size_t index, struct event_cache_name *ret);

#endif
