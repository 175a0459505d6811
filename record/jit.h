/*
 * Code that runtimes compiled: the executable memory of no file. Its names stand
 * in files that the runtimes write, and are read when a process ends or the
 * recording does, only for the addresses that were sampled.
 *
 * What is at an address is a matter of one process, or rather of the program
 * that it runs: each such image has an object of its own.
 */
#ifndef EBPROF_JIT_H
#define EBPROF_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/jitdump.h"
#include "record/object.h"
#include "record/perf_map.h"
#include "record/process.h"

struct jit_image {
	struct object *object;
	uint32_t pid, ns_pid; /* the latter in its own pid namespace */
	uint64_t start_ns;    /* CLOCK_BOOTTIME, 0: unknown; older files are of other processes */
	uint32_t uid;         /* whose files are believed, besides root's */
	bool has_own_tmp;     /* another /tmp than ours */
	int tmp_fd;           /* that one, to outlive the process; -1: not open */
	int dump_fd;          /* its jitdump, -1: none */
	VEC(uint64_t) wanted; /* addresses that the recording lacks names of */
};

struct jit_table {
	struct object_table *objects; /* borrowed */
	VEC(struct jit_image) images;
	struct map by_object; /* serial -> index */
	uint32_t nr_open;     /* /tmps */
	uint64_t nr_wanted;
};

void jit_table_deinit(struct jit_table *table);

/* The object of the memory of no file of what the process runs. */
struct object *jit_table_object(struct jit_table *table, struct process *process);
/* Where the mapping's code really is: in its own object, or the process's of no file. */
struct object *jit_table_object_of(
	struct jit_table *table, struct process *process, const struct mapping *mapping);

/* A name is wanted for the frame at `address`; there is a limit. */
void jit_table_want(struct jit_table *table, const struct object *object, uint64_t address);
/* Nothing is wanted any more: another file begins. */
void jit_table_forget_wanted(struct jit_table *table);

/* The process maps what is the sign of a jitdump. */
void jit_table_note_dump(
	struct jit_table *table, struct process *process, const struct mapping *marker);

/* Who is told of names. */
struct jit_names {
	jitdump_fn *place;   /* for each address, what stood there when */
	perf_map_fn *symbol; /* for each function; of addresses of which no dump knows */
	void *context;
};

/*
 * Tells the names that can be had now of what is wanted in the object, which is then done with.
 * `is_over`: the process ends.
 */
void jit_table_name(struct jit_table *table, const struct object *object, bool is_over,
	const struct jit_names *names);

#endif
