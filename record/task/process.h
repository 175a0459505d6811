/*
 * The processes that matter, as they are at the instant up to which events
 * have been applied: who they are and what executable memory they map.
 */
#ifndef EBPROF_PROCESS_H
#define EBPROF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/elf/elf_symbols.h"
#include "record/task/mapping_table.h"
#include "record/task/object.h"

struct process {
	uint32_t pid;
	uint32_t parent_pid;
	/* In its own pid namespace; 0: unknown, or the same. */
	uint32_t ns_pid;
	uint64_t start_ns; /* 0 until a sample or /proc has it */
	uint32_t image;    /* serial number of the program it runs, unique in the session */
	struct mapping_table mappings;
	struct mapping program;   /* what comes first, where none is yet; of no object: unknown */
	char *cgroup;             /* "" when unknown */
	struct object *compiled;  /* its memory of no file, NULL: not needed yet; see jit.h */
	bool has_vdso;            /* looked for */
	bool has_sought_runtimes; /* among its files, see resolver_seek_runtimes() */
	uint64_t rescanned_ns;    /* when its maps were last read again for want of a mapping */
	uint64_t rescan_cost_ns;  /* what that took */
	uint64_t known_since_ns;  /* when all of it was known last: at an exec, or by /proc */
	bool is_stale;            /* records of it were left out since */
	bool is_unread;           /* /proc could not be read, ever */
	uint32_t exec_id;         /* of its samples; only if */
	bool has_exec_id;         /* there was one, of this image */
	uint64_t exited_ns;       /* 0 while alive */
	uint32_t snapshots_kept;  /* of its stacks, in recordings */
	uint32_t unlabelled;      /* samples without labels, before the first that has some */
	bool has_labels;          /* there was one */
	uint32_t label_list, label_generation; /* see record/label/process_labels.h */
	bool lacks_labels;                     /* some of that list could not be read */
	uint64_t context_due_ns;    /* see record/label/process_contexts.h; 0: it was not sampled */
	uint32_t context_looks;     /* that it had */
	uint64_t thread_context_ns; /* when the recorder sent its place to the BPF side; 0: never */
	bool lacks_thread_context;  /* it has some, but nothing leads there */
	uint32_t mappings_written;  /* to the file of file_epoch */
	uint32_t file_id, file_epoch; /* see emitter.h */
};

struct process_table {
	struct object_table *objects;
	struct map by_pid;        /* pid -> struct process * */
	struct mapping_pool pool; /* of the mappings of all of them */
	uint64_t visits;          /* of all mappings, so far */
	uint32_t next_image;
	uint64_t lost_ns; /* when sideband was lost last: what is known of processes since before
			   * that may be wrong */
};

void process_table_deinit(struct process_table *table);

/* NULL when it is not known. */
struct process *process_table_find(const struct process_table *table, uint32_t pid);
/*
 * The process, read from /proc when it is not known yet, and again when sideband was lost since;
 * one that is gone already stays nearly empty, or what it was.
 */
struct process *process_table_get(struct process_table *table, uint32_t pid, uint64_t time_ns);

/* What sideband says, in the order of time. */
void process_table_fork(
	struct process_table *table, uint32_t parent_pid, uint32_t pid, uint64_t time_ns);
void process_table_exec(struct process_table *table, struct process *process, uint64_t time_ns);
/* Its image by a sample: true when that is another one than was known, whose exec was lost. */
bool process_note_exec_id(struct process *process, uint32_t exec_id);
/* Records were lost, or left out, until now: of all processes, or of one. */
void process_table_note_loss(struct process_table *table, uint64_t time_ns);
void process_note_loss(struct process *process);
/* To another control group, perhaps: what is written from now on says so. */
void process_moved(struct process *process);
void process_table_exit(struct process_table *table, uint32_t pid, uint64_t time_ns);
/* The vDSO, the same in every process: our own copy of its image (NULL: there is none). */
const void *process_vdso_image(size_t *bytes);
/* Calls `use` for each of its functions, whose addresses are offsets in the image. */
void process_vdso_symbols(
	void (*use)(void *context, const struct elf_symbol *symbol, const char *name),
	void *context);
/* ... as an object, examined. */
struct object *process_vdso(struct object_table *objects);
/* False: a bound keeps it out, and the process's maps are to be read from /proc again. */
bool process_map(struct process *process, const struct mapping *mapping);
/* Reads its maps from /proc again, unless that was done lately. */
void process_rescan(struct process_table *table, struct process *process, uint64_t time_ns);
/* The pid now belongs to another process than the one we know. */
void process_table_reused(struct process_table *table, struct process *process, uint64_t time_ns);
/* Reads its cgroup again; a process that is gone keeps what it inherited from its parent. */
void process_refresh(struct process *process);
/* Marks the objects of all mappings as used, see object_table_sweep(). */
void process_table_mark_objects(struct process_table *table);
/* Forgets processes that ended before this instant. */
void process_table_purge(struct process_table *table, uint64_t before_ns);

/*
 * The file that a process has mapped at [start, end), by a look at just that, for mappings that a
 * bound keeps out. NULL: there is none.
 */
struct object *process_read_file(
	struct process_table *table, const struct process *process, uint64_t start, uint64_t end);

/*
 * The mapping that holds the address, or NULL. `may_rescan`: where none is known, /proc is
 * looked at again, which only pays for addresses that surely are code.
 */
const struct mapping *process_find_mapping(struct process_table *table, struct process *process,
	uint64_t address, uint64_t time_ns, bool may_rescan);

#endif
