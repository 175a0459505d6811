/*
 * All parts of an interpreter's loop. Compilers move what is rarely executed out
 * of a function, behind all others, and strip knows no name for it; but both parts
 * jump into the middle of each other, as no other functions do.
 */
#ifndef EBPROF_RUNTIME_LOOP_H
#define EBPROF_RUNTIME_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"
#include "record/runtime/runtime_file.h"

enum {
	RUNTIME_LOOP_MAX_PARTS = 8,
};

struct runtime_loop {
	struct runtime_loop_part {
		uint64_t start, end; /* offsets in the file */
	} parts[RUNTIME_LOOP_MAX_PARTS];
	uint32_t nr_parts; /* 0: no loop */
};

/* The function, as call frame information knows it, that holds this offset in the file. */
typedef bool runtime_loop_function_fn(
	void *context, uint64_t offset, uint64_t *start, uint64_t *end);

/* ERR_IO or ERR_FORMAT when the file cannot be read; then the loop is what the symbol says. */
struct err *runtime_loop_find(struct elf_file *elf, const struct runtime_file *file,
	runtime_loop_function_fn *function, void *context, struct runtime_loop *ret) ERR_MUST_CHECK;

static inline bool runtime_loop_has(const struct runtime_loop *loop, uint64_t offset)
{
	for (uint32_t i = 0; i < loop->nr_parts; i++)
		if (offset >= loop->parts[i].start && offset < loop->parts[i].end)
			return true;
	return false;
}

#endif
