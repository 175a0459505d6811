/*
 * From the session's own tables to ids of the file: an object, a process, a
 * stack is written when the first sample needs it, and what it refers to ahead
 * of it. Each entity remembers its id and the epoch, that is the file, in which
 * the id holds: a new file (--switch-output) is a new epoch and nothing else.
 */
#ifndef EBPROF_EMITTER_H
#define EBPROF_EMITTER_H

#include <stdint.h>

#include "format/file/writer.h"
#include "record/generated/jit.h"
#include "record/label/label_table.h"
#include "record/script/script_table.h"
#include "record/script/thread_names.h"
#include "record/stack_table.h"
#include "record/task/kept_files.h"
#include "record/task/kernel.h"
#include "record/task/object_ids.h"
#include "record/task/process.h"
#include "record/unwind/snapshot.h"

struct emitter {
	struct writer *writer; /* borrowed */
	uint32_t epoch;        /* from 1 */
	struct kernel *kernel;
	struct jit_table *jit;
	const struct script_table *scripts; /* NULL: there are none */
	struct stack_table *stacks;
	struct label_table *labels;        /* NULL: there are none */
	struct thread_names *thread_names; /* NULL: there are none but the kernel's */
	struct kept_files *kept_files;     /* of all mappings, or NULL */
	struct object_ids objects;
	/* (image, tid) -> index + 1 of the thread's newest name */
	struct map threads;
	VEC(struct emitter_thread {
		uint32_t older; /* index + 1 of another name of the same thread */
		uint32_t file_id;
		uint32_t process; /* the file's id */
		char comm[16];
	}) names_of_threads;
	struct map thread_ids; /* pid << 32 | tid of the threads in this file */
	VEC(struct emitter_wish {
		const struct object *object;
		uint64_t offset;
	}) unnamed;                 /* frames of the kernel that the file lacks the symbols of */
	struct map kernel_symbols;  /* addresses of those it has */
	uint64_t sampled_ns;        /* of the sample whose stacks are put */
	uint64_t mappings_beyond;   /* in this file, of processes that have more than a few */
	uint64_t mappings_left_out; /* of all files, since there were too many */
};

void emitter_init(struct emitter *emitter, struct kernel *kernel, struct jit_table *jit,
	struct stack_table *stacks);
void emitter_deinit(struct emitter *emitter);
/* Everything from now on goes to this writer, whose file is empty. */
void emitter_begin_file(struct emitter *emitter, struct writer *writer);

/* Writes a mapping that came after the process was written, or counts it: there are bounds. */
void emitter_mapping(
	struct emitter *emitter, struct process *process, const struct mapping *mapping);
/* comm: 16 bytes, NUL-terminated unless full. */
uint32_t emitter_thread(
	struct emitter *emitter, struct process *process, uint32_t tid, const char *comm);
/* What its runtime calls a thread: another name in the file, where `comm`, the kernel's, has been
 * put. */
void emitter_thread_name(struct emitter *emitter, uint32_t image, uint32_t tid, const char comm[16],
	const char *name);
/* The file's id of what is left of a stack. */
uint32_t emitter_snapshot(
	struct emitter *emitter, struct process *process, const struct snapshot *snapshot);
/* The file's id of a node of the stack table; 0 for the root. */
uint32_t emitter_node(struct emitter *emitter, uint32_t node);
/* The file's id of a set of the label table; 0 for the empty one. */
uint32_t emitter_labels(struct emitter *emitter, uint32_t set);
/*
 * Writes the kernel's symbols that frames need since the last time; for these it waits until
 * the symbols were read. To be called before the writer is flushed.
 */
void emitter_kernel_symbols(struct emitter *emitter);
/*
 * Writes what is known of the code that the process has compiled, for the frames that are in the
 * file. Before its program image ends, or becomes another.
 */
void emitter_compiled_symbols(struct emitter *emitter, const struct process *process);
/* ... of all processes: the file ends. */
void emitter_all_compiled_symbols(struct emitter *emitter);
/* About how much the kernel's symbols will be. */
uint64_t emitter_bytes_pending(const struct emitter *emitter);

#endif
