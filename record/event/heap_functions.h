/* Functions of allocators, by the names that C libraries, allocators and C++ give them. */
#ifndef EBPROF_HEAP_FUNCTIONS_H
#define EBPROF_HEAP_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/event/heap_go.h"

struct heap_place {
	uint64_t entry;   /* offset in the file: of the function's first instruction */
	uint64_t probed;  /* of one before its arguments change, which costs less to probe */
	uint64_t call;    /* enum event_heap_call, and flags */
	const char *name; /* static */
};

struct heap_functions {
	VEC(struct heap_place) places;        /* no two with the same entry */
	bool has_allocator;                   /* there is one that allocates */
	struct heap_go go;                    /* a program of Go has one for itself: */
	struct heap_place go_sampled, go_all; /* entry 0: none; one of them is among the others */
};

/*
 * Finds the allocator that a file has; none, where it has no function malloc() of its own. `fd` is
 * of the file. {0}-initialised *ret.
 */
struct err *heap_functions_find(int fd, struct heap_functions *ret) ERR_MUST_CHECK;
/* Go's runtime samples nothing: each allocation, where that is possible. */
void heap_functions_take_all_of_go(struct heap_functions *functions);
void heap_functions_deinit(struct heap_functions *functions);

#endif
