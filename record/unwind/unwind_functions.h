/*
 * The functions of a file, by all that tells of how they are unwound: .eh_frame, .debug_frame,
 * Go's table, .NET's, the entry. 16 bytes each, sorted by their place in the file.
 */
#ifndef EBPROF_UNWIND_FUNCTIONS_H
#define EBPROF_UNWIND_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_file.h"
#include "record/unwind/unwind_go.h"
#include "record/unwind/unwind_ready.h"
#include "record/unwind/unwind_table.h"

struct unwind_function {
	uint64_t start; /* offset in the file */
	uint32_t len;
	uint32_t entry : 28, source : 4; /* where the source describes it: up to 64 MiB */
};

struct unwind_functions {
	const struct elf_segment *segments; /* borrowed */
	size_t nr_segments;
	struct unwind_statistics *statistics;       /* borrowed */
	struct cfi_reader *readers[UNWIND_SOURCES]; /* or NULL */
	uint8_t *sections[UNWIND_SOURCES];
	struct unwind_go *go;       /* or NULL */
	struct unwind_ready *ready; /* or NULL */
	VEC(struct unwind_function) list;
};

/*
 * Lists them by start, those at one start in the order of their sources. What one source gets
 * wrong is noted in the statistics. ERR_UNSUPPORTED: there are too many, or too far apart.
 * Deinit after an error, too.
 */
struct err *unwind_functions_init(struct unwind_functions *functions, struct elf_file *elf,
	struct unwind_statistics *statistics) ERR_MUST_CHECK;
void unwind_functions_deinit(struct unwind_functions *functions);

/* Where it ends, an offset in the file. */
static inline uint64_t unwind_function_end(const struct unwind_function *function)
{
	return function->start + function->len;
}

/* [start, end) of the function that holds an offset in the file; fits runtime_loop_find(). */
bool unwind_functions_find(void *functions, uint64_t offset, uint64_t *start, uint64_t *end);

/*
 * Where the kernel starts a program, with no caller to return to: [*start, *end), virtual
 * addresses. A C library's _start says so itself; that of a dynamic loader is hand-written,
 * without call frame information. False: the file has no such place.
 */
bool unwind_functions_entry(struct elf_file *elf, uint64_t *start, uint64_t *end);

/* Notes the first error that is not the disk's; other sources may still know something. */
struct err *unwind_statistics_forgive(
	struct unwind_statistics *statistics, struct err *err) ERR_MUST_CHECK;

#endif
