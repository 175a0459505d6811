/*
 * Whether what a command starts has a library that is preloaded into it: a program that is linked
 * statically, or is given another environment, has not. By the kernel's records of execs and
 * mappings.
 */
#ifndef EBPROF_LIBRARY_WATCH_H
#define EBPROF_LIBRARY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"

struct library_watch {
	const char *path; /* of the library, borrowed; NULL: nothing is watched */
	struct map pids;  /* pid -> index + 1 of the image that runs there: */
	VEC(struct watched_image {
		char *program; /* NULL: not known yet */
		bool has_it;
	}) images;
	uint64_t nr_without; /* of those that have ended */
	char *program;       /* one of these; NULL: there is none */
};

void library_watch_exec(struct library_watch *watch, uint32_t pid);
/* The first file that is mapped after an exec is the program. */
void library_watch_map(struct library_watch *watch, uint32_t pid, const char *path);
void library_watch_exit(struct library_watch *watch, uint32_t pid);
/* As if all had ended. */
void library_watch_finish(struct library_watch *watch);
void library_watch_deinit(struct library_watch *watch);

#endif
