/* What BEAM's threads run, in files that do not show it. */
#ifndef EBPROF_ERLANG_THREADS_H
#define EBPROF_ERLANG_THREADS_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

/* Virtual addresses; 0: not found. */
struct erlang_threads {
	uint64_t dirty_start,
		dirty_end;         /* the function in which dirty schedulers run what takes long */
	uint64_t scheduler_return; /* where a scheduler's thread goes on behind what it runs */
};

/* ERR_IO or ERR_FORMAT when the file cannot be read. */
struct err *erlang_threads_find(struct elf_file *elf, struct erlang_threads *ret) ERR_MUST_CHECK;

#endif
