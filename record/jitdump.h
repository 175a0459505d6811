/*
 * Jitdumps: what runtimes with a JIT compiler tell of the code that they made,
 * with times, so that code that moves and code that replaces other code can be
 * told apart, and with lines.
 *
 * Source: tools/perf/Documentation/jitdump-specification.txt of the kernel, version 1.
 */
#ifndef EBPROF_JITDUMP_H
#define EBPROF_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of the functions that stood at an address. */
struct jitdump_place {
	size_t index; /* of the address */
	uint64_t address;
	uint64_t start;   /* of the function */
	uint64_t time_ns; /* from when on, CLOCK_MONOTONIC; 0: unknown */
	const char *name; /* gone after the call, as the file */
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
};

typedef void jitdump_fn(void *context, const struct jitdump_place *place);

/* Whether a file of that path, mapped executable, is the sign of a jitdump: jit-PID.dump. */
bool jitdump_is_marker(const char *path);

/*
 * Calls fn for each function that stood at each of the addresses (ascending, each once), in the
 * file's order. Whatever the file is: reads and remembers a limited part of it.
 */
void jitdump_read(int fd, const uint64_t *addresses, size_t count, jitdump_fn *fn, void *context);

#endif
