/*
 * Code that runtimes compiled: the executable memory of no file. Its names stand
 * in files that the runtimes write, and are read when a process ends or the
 * recording does, only for the addresses that were sampled. Until then it is
 * only noted how perf maps grow, which tells when their lines were written.
 *
 * What is at an address is a matter of one process, or rather of the program
 * that it runs: each such image has an object of its own.
 */
#ifndef EBPROF_JIT_H
#define EBPROF_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "record/generated/jitdump.h"
#include "record/generated/perf_map.h"
#include "record/generated/registered_code.h"
#include "record/host/growth_watch.h"
#include "record/runtime/runtime.h"
#include "record/task/object.h"
#include "record/task/process.h"

struct jit_wanted {
	uint64_t address;
	uint64_t first_ns; /* when it was sampled first, CLOCK_MONOTONIC */
	bool is_named;     /* by what its process wrote or registered */
};

struct jit_image {
	struct object *object;
	uint32_t pid, ns_pid; /* the latter in its own pid namespace */
	uint64_t start_ns;    /* CLOCK_BOOTTIME, 0: unknown; older files are of other processes */
	uint32_t uid;         /* whose files are believed, besides root's */
	bool has_own_tmp;     /* another /tmp than ours */
	int tmp_fd;           /* that one, to outlive the process; -1: not open */
	int dump_fd;          /* its jitdump, -1: none */
	uint64_t dump_device, dump_inode; /* processes may share one */
	int map_fd;                    /* its perf map, kept open to watch it grow; -1: not open */
	bool is_tmp_remote;            /* it may not be looked into, see target_file.h */
	bool is_over;                  /* its process has ended */
	struct file_growth *growth;    /* of the perf map; the watch's while the map is open */
	uint64_t look_ns;              /* when to look for it next */
	uint32_t nr_misses;            /* in a row: it was not there */
	VEC(struct jit_wanted) wanted; /* addresses that the recording lacks names of */
	struct map owners;             /* of sampled addresses, see jit_table_note_owner() */
};

struct jit_table {
	struct object_table *objects;       /* borrowed */
	struct registered_code *registered; /* borrowed; NULL: there is none */
	struct growth_watch *watch;         /* of perf maps; NULL before the first */
	VEC(struct jit_image) images;
	struct map by_object; /* serial -> index */
	uint32_t nr_open;     /* files of images */
	uint64_t nr_wanted, nr_owned;
	uint64_t time_left_ns, filled_ns; /* CPU time to read files in, since when */
	uint64_t given_up;                /* names, for want of that */
};

void jit_table_deinit(struct jit_table *table);

/* The object of the memory of no file of what the process runs. */
struct object *jit_table_object(struct jit_table *table, struct process *process);
/* Where the mapping's code really is: in its own object, or the process's of no file. */
struct object *jit_table_object_of(
	struct jit_table *table, struct process *process, const struct mapping *mapping);

/* A name is wanted for the frame at `address`, first sampled at `time_ns`; there is a limit. */
void jit_table_want(
	struct jit_table *table, const struct object *object, uint64_t address, uint64_t time_ns);
/*
 * Whose code is at the address in the object ("[pcre2 jit]", constant): its name where there is no
 * other. An address that had several owners has none. There is a limit.
 */
void jit_table_note_owner(
	struct jit_table *table, const struct object *object, uint64_t address, const char *name);
/*
 * What generated code is called that nothing names, by the file that calls it and the runtime that
 * this file has: a library that compiles regular expressions, or an interpreter with a compiler
 * that publishes no names, enters its code by calls of its own. A constant; NULL: such a file does
 * not tell, since others' code may be called from there, too.
 */
const char *jit_owner_by_caller(const char *path, enum runtime_kind kind);
/* Nothing is wanted any more: another file begins. */
void jit_table_forget_wanted(struct jit_table *table);

/* The process maps what is the sign of a jitdump. */
void jit_table_note_dump(
	struct jit_table *table, struct process *process, const struct mapping *marker);

/* Looks for the perf maps of living processes, where that is due, to watch them grow. */
void jit_table_watch(struct jit_table *table, uint64_t now_ns);

/* Receives names. */
struct jit_names {
	/* For each address in an object, what stood there when. */
	void (*place)(void *context, const struct object *object, const struct code_place *place);
	/* For each function that alone has had an address. */
	void (*symbol)(
		void *context, const struct object *object, const struct perf_map_entry *entry);
	void *context;
};

/*
 * Tells the names that can be had now of what is wanted in the object, whose process ends. Reading
 * all that processes wrote may take a fifth of the recorder's time: what that leaves nothing for
 * has no names, and is counted.
 */
void jit_table_name(
	struct jit_table *table, const struct object *object, const struct jit_names *names);
/* The same of all objects, whose processes go on. Takes less than half a second of CPU time. */
void jit_table_name_all(struct jit_table *table, const struct jit_names *names);

#endif
