/*
 * What a file with a runtime that interprets programs says of it: the row for
 * the BPF side, and where the interpreter's loop is. Found by symbols, never by
 * the file's name, once for each build ID.
 */
#ifndef EBPROF_RUNTIME_FILE_H
#define EBPROF_RUNTIME_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/err.h"
#include "format/elf/elf_file.h"

struct runtime_file {
	struct runtime_row row;   /* kind RUNTIME_NONE: there is no runtime that we know, or of no
				     known version */
	uint64_t loop_start;      /* virtual addresses: of the function that is the loop */
	uint64_t loop_end;        /* ... [loop_start, loop_end) */
	uint64_t core_start;      /* the same of a function that the loop calls, and that is a */
	uint64_t core_end;        /* ... part of it; 0: there is none */
	bool is_runtime;          /* it is one, though perhaps of a version that is not known */
	uint64_t address_to_file; /* virtual address + this = file offset, where the loop is */
};

/* `len` bytes at a virtual address. False: they are not in the file. */
bool runtime_file_read(struct elf_file *elf, uint64_t address, void *to, size_t len);
/* No function of the file is a loop with script frames: sets an empty one, where its code begins.
 * False: it has no code. */
bool runtime_file_take_no_loop(struct elf_file *elf, struct runtime_file *file);

#endif
