/* What stood at a sampled address of code that a runtime compiled, as the runtime describes it. */
#ifndef EBPROF_CODE_PLACE_H
#define EBPROF_CODE_PLACE_H

#include <stddef.h>
#include <stdint.h>

struct code_place {
	size_t index; /* of the address, among those that were asked for */
	uint64_t address;
	uint64_t start;   /* of the function */
	uint64_t time_ns; /* from when on, CLOCK_MONOTONIC; 0: unknown */
	uint64_t sure_ns; /* before this it may have been something else; 0: time_ns is exact */
	const char *name; /* gone after the call, as the file */
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
};

typedef void code_place_fn(void *context, const struct code_place *place);

#endif
