/*
 * Text that programs wrote for programs, a record a line, read in one pass and
 * without stdio: /proc/kallsyms, perf maps. Nothing of it is kept.
 */
#ifndef EBPROF_LINES_H
#define EBPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LINES_MAX_BYTES = 64 << 10, /* a longer line is none */
};

/* Not terminated, gone after the call. `offset` is where it begins in what was read. */
struct line {
	const char *start, *end;
	uint64_t offset;
};

/* False: enough. */
typedef bool lines_fn(void *context, const struct line *line);

/* Calls fn for each line from where fd stands on. Stops behind about max_bytes (0: the end). */
void lines_read(int fd, uint64_t max_bytes, lines_fn *fn, void *context);

/* A hexadecimal number, without 0x; moves *at behind it. False: there is none, or it is too long.
 */
bool lines_get_hex(const char **at, const char *end, uint64_t *ret);

#endif
