/*
 * Generated code is gone with its process, and a stack that is to be unwound over a snapshot waits
 * until those before it are through: in a program whose code has no rules at all that takes longer
 * than some processes live. So the code of no file that a snapshot leads to is read as soon as the
 * snapshot is here: where the walk stopped, and what looks like return addresses on the stack.
 * Where a process has such code is known from its mappings, and from sideband events that are not
 * applied to it yet.
 */
#ifndef EBPROF_CODE_AHEAD_H
#define EBPROF_CODE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/task/process.h"
#include "record/task/sideband.h"
#include "record/unwind/code_pages.h"
#include "record/unwind/stack_pieces.h"

enum {
	CODE_AHEAD_RANGES = 32, /* of a process; what else it has is read in its turn */
	CODE_AHEAD_STACKS = 8,  /* whose chunks may still come */
};

struct code_ahead_range {
	uint64_t start, end;
};

/* `address` is in code of no file, where the thread was (`is_exact`), or seems to return to. */
typedef void code_ahead_fn(
	void *context, uint32_t pid, uint64_t address, bool is_exact, uint64_t time_ns);

struct code_ahead {
	code_ahead_fn *fn; /* called for each address that is found; or NULL */
	void *context;
	VEC(struct code_ahead_new {
		uint32_t pid;
		struct code_ahead_range range;
	}) events; /* of sideband: memory of no file that came to be executable */
	VEC(struct code_ahead_memory {
		uint32_t nr_ranges;
		struct code_ahead_range ranges[CODE_AHEAD_RANGES];
	}) memory;         /* of processes with snapshots */
	struct map by_pid; /* -> number in `memory`, plus 1 */
	struct code_ahead_stack {
		uint64_t hash, time_ns;
		uint32_t pid;
		uint32_t pages_left; /* that may be asked for */
	} stacks[CODE_AHEAD_STACKS];
	size_t nr_stacks; /* that there were; places are taken in turn */
};

void code_ahead_deinit(struct code_ahead *ahead);

/* `batch` has events that processes do not show yet, from number `first` on. To be called after
 * each change of either; what is known of processes' memory is made up anew. */
void code_ahead_begin(struct code_ahead *ahead, const struct sideband_batch *batch, size_t first);
/* Takes a record of the ring, of `len` bytes, or the struct stack_piece that waits for one; `pages`
 * begins to read what it leads to. */
void code_ahead_take(struct code_ahead *ahead, const struct process_table *processes,
	struct code_pages *pages, const void *record, size_t len);

#endif
