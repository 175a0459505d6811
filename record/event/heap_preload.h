/*
 * The sampler of allocations that is preloaded into a command (record/preload/heap_sampler.c): it
 * is a part of this program, and for as long as it is wanted a file that the command can map.
 */
#ifndef EBPROF_HEAP_PRELOAD_H
#define EBPROF_HEAP_PRELOAD_H

#include <stdbool.h>

#include "format/base/err.h"

struct heap_preload {
	char *folder, *path; /* NULL: there is none */
	int fd;              /* of the file; -1: none */
};

/*
 * Whether the command's loader would preload it, and the allocator be called through it. If not,
 * *why says so in words that end a sentence; static.
 */
bool heap_preload_suits(const char *command, const char **why);

/* Writes the file, into a folder of its own that all may read. */
struct err *heap_preload_create(struct heap_preload *ret) ERR_MUST_CHECK;
/* Removes it: what has mapped it keeps it. */
void heap_preload_destroy(struct heap_preload *preload);

#endif
