/*
 * Perf maps: what runtimes with a JIT compiler tell of the code that they made,
 * a function a line, appended as they make it:
 *
 *   START SIZE name up to the end of the line
 *
 * in hexadecimal. Source: tools/perf/Documentation/jit-interface.txt of the
 * kernel.
 *
 * A runtime puts other code where it has freed some, and then a later line holds
 * the addresses of an earlier one. There is no time in the file, but it is known
 * how long it was at which times, so each line has a window in which it was
 * written. Of an address that several functions had, each is reported with its window.
 */
#ifndef EBPROF_PERF_MAP_H
#define EBPROF_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "record/generated/code_place.h"
#include "record/host/file_growth.h"

struct perf_map_entry {
	uint64_t start, size;
	const char *name; /* not terminated, gone after the call; the writer's own, anything */
	size_t name_len;
};

typedef void perf_map_fn(void *context, const struct perf_map_entry *entry);

struct perf_map_wanted {
	const uint64_t *addresses; /* ascending, each once */
	const uint64_t *first_ns;  /* of each, when it was sampled first */
	size_t count;
};

struct perf_map_names {
	perf_map_fn *symbol;  /* once for each function that alone has had an address */
	code_place_fn *place; /* for each address that is not so sure, and each function there */
	void *context;
};

/*
 * Tells what has the addresses. However large the file is, it reads a limited part, for about
 * `max_ns` of CPU time, and what is remembered is bounded by the number of addresses, not by that
 * of lines. Returns how many of the addresses have no name because that time was used up.
 */
size_t perf_map_read(int fd, const struct file_growth *growth, const struct perf_map_wanted *wanted,
	uint64_t max_ns, const struct perf_map_names *names);

#endif
