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

#include "record/generated/code_place.h"

/* Whether a file of that path, mapped executable, is the sign of a jitdump: jit-PID.dump. */
bool jitdump_is_marker(const char *path);

/*
 * Calls fn for each function that stood at each of the addresses (ascending, each once), in the
 * file's order. However large the file is, it reads and remembers a limited part, and spends not
 * much more than `max_ns` of CPU time. Returns false when that was not enough.
 */
bool jitdump_read(int fd, const uint64_t *addresses, size_t count, uint64_t max_ns,
	code_place_fn *fn, void *context);

#endif
