/*
 * Perf maps: what runtimes with a JIT compiler tell of the code that they made,
 * a function a line, appended as they make it:
 *
 *   START SIZE name up to the end of the line
 *
 * in hexadecimal. Source: tools/perf/Documentation/jit-interface.txt of the
 * kernel. A runtime may put other code where some was freed; there is no time in
 * the file, so the last line that holds an address is right.
 */
#ifndef EBPROF_PERF_MAP_H
#define EBPROF_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct perf_map_entry {
	uint64_t start, size;
	const char *name; /* not terminated, gone after the call; the writer's own, anything */
	size_t name_len;
};

typedef void perf_map_fn(void *context, const struct perf_map_entry *entry);

/*
 * Calls fn once for each function that holds one of the addresses (ascending, each once).
 * Whatever the file is: takes memory for the addresses alone, and reads a limited part of it.
 */
void perf_map_read(int fd, const uint64_t *addresses, size_t count, perf_map_fn *fn, void *context);

#endif
