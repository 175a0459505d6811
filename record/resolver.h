/*
 * From what the BPF side says of a user stack to a node of the stack table:
 * numbers of files become objects, and what was left to unwind is unwound over
 * its snapshot.
 */
#ifndef EBPROF_RESOLVER_H
#define EBPROF_RESOLVER_H

#include <stdint.h>

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/file/layout.h"
#include "record/generated/jit.h"
#include "record/generated/registered_code.h"
#include "record/script/compiled_frames.h"
#include "record/script/script_table.h"
#include "record/stack_table.h"
#include "record/task/kept_files.h"
#include "record/task/process.h"
#include "record/unwind/code_rules.h"
#include "record/unwind/rule_source.h"
#include "record/unwind/snapshot.h"

enum {
	RESOLVER_MAX_NUMBERS = 8, /* of one file: several CPUs may meet it at once */
};

/* The numbers that the BPF side has for a file. */
struct file_numbers {
	uint32_t number[RESOLVER_MAX_NUMBERS];
	uint32_t count;
};

struct resolver {
	struct process_table *processes; /* borrowed, as the others */
	struct jit_table *jit;
	struct stack_table *stacks;
	struct script_table *scripts;
	struct compiled_frames *compiled;
	struct rule_source *rules;          /* NULL: no tables are wanted */
	struct code_rules *code;            /* for code that they do not cover; NULL likewise */
	struct registered_code *registered; /* what processes tell of such code */
	struct kept_files *kept_files;      /* NULL: none are wanted */
	bool is_behind;                     /* so many records wait that none is to wait for code */
	bool keeps_snapshots; /* leaves what it is not to unwind to the report, without limit */
	VEC(struct object *) files; /* by number; NULL: not known */
	VEC(struct file_numbers) numbers;
	struct map numbers_of; /* serial of an object -> which of `numbers`, plus 1 */
	struct map runs;       /* pieces of stacks that came before, see resolver.c */
	uint64_t runs_seed;
};

struct resolved_stack {
	uint32_t node;
	enum layout_truncation truncation;
	bool is_left; /* to the report: the snapshot is to be kept */
};

void resolver_deinit(struct resolver *resolver);

/* Nodes that the stack table has handed out are void. */
void resolver_forget_nodes(struct resolver *resolver);

/* Marks the files that have numbers as used, see object_table_sweep(). */
void resolver_mark_objects(struct resolver *resolver);

/* A file got its number, or its table is wanted again. */
void resolver_take_file(struct resolver *resolver, const struct event_file *event);

/*
 * The process has code of no file, and the BPF side may not know which runtime made it: its files
 * are looked at once, and their tables are made.
 */
void resolver_seek_runtimes(struct resolver *resolver, struct process *process);
/* The same of a process that runs already, if it has memory for such code. */
void resolver_meet_process(struct resolver *resolver, struct process *process);
/* A program that is about to run: it has a number, and its table is made, before its first sample.
 */
void resolver_expect_program(struct resolver *resolver, const char *path);

/* The head's frames follow on it, as on the wire. */
struct resolved_stack resolver_stack(
	struct resolver *resolver, const struct event_stack *head, const uint64_t *words);
/*
 * The frames that were found before, and those found by going on over the
 * snapshot. False, only if `may_wait`: a table that it takes is being made, ask again. Else the
 * stack is cut there.
 */
bool resolver_snapshot(struct resolver *resolver, const struct snapshot *snapshot, bool may_wait,
	struct resolved_stack *ret);
#endif
