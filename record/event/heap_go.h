/*
 * Allocations of Go programs: by what Go's runtime samples of them, at points in the sequence of
 * bytes, as an allocator's probes do here, and with the same weights. Where it samples nothing, or
 * was stripped of what tells at what distance, by its allocator.
 */
#ifndef EBPROF_HEAP_GO_H
#define EBPROF_HEAP_GO_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"

struct heap_go_function {
	uint64_t address; /* 0: there is none */
	const char *name; /* static */
	uint32_t call;    /* enum event_heap_call, and flags */
};

struct heap_go {
	bool is_go;
	struct heap_go_function sampled,
		all;     /* called with what is sampled; with each allocation */
	uint64_t rate;   /* address of the mean distance of samples, with `sampled` */
	const char *why; /* there is neither: static */
};

void heap_go_find(struct elf_file *elf, struct heap_go *ret);

#endif
