/*
 * Rules for code that has none, because the programmer wrote none (assembly by hand) or no compiler
 * could (code that is made at run time): the recorder reads the code itself, see a machine's
 * find_return(). What it reads is believed where it leads to a return address that stands behind a
 * call. Code that leaves its frame by jumps alone is taken to have the frame that other code of its
 * file or memory has, under the same condition. Else the frame pointer may be one, which is a
 * guess; and so is the last resort, the first return address up the stack from which all steps to
 * the root have rules.
 *
 * The rules go to the BPF side, which walks the next sample by them. Those of memory hold as long
 * as the same bytes stand there.
 */
#ifndef EBPROF_CODE_RULES_H
#define EBPROF_CODE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "record/task/process.h"
#include "record/unwind/code_pages.h"
#include "record/unwind/rule_source.h"
#include "record/unwind/snapshot.h"

struct code_rule_known {
	struct code_rule rule;
	uint64_t read_ns; /* of memory: it is the code's at that time */
	uint32_t failures;
};

enum {
	CODE_RULES_INHERITED = 4,
	CODE_RULES_MAX_FAILED = 128, /* of a region */
};

/* A place of which the BPF side got no proven rule, as it knows the place. */
struct code_failed {
	uint64_t hash; /* in struct code_places */
	struct code_key key;
};

/* Frames of one file, or of one process's memory, that were left by reading it. */
struct code_region {
	struct unwind_rule rules[CODE_RULES_INHERITED]; /* of the form CFA = sp + offset */
	uint32_t count, next;
	struct unwind_rule scanned; /* that a scan of the stack found last; cfa 0: none did */
	bool has_own_stack;         /* see struct machine: callers of all its code may be missing */
	VEC(struct code_failed) failed;
	uint32_t pid;      /* of the last one of them */
	uint64_t retry_ns; /* when they are tried again; 0: none waits for that */
	uint64_t retried_ns, pause_ns;
};

struct code_rules_statistics {
	uint64_t read, inherited, guessed, scanned, failed; /* places */
	uint64_t unread; /* steps whose code there was no time to read */
};

/* Rules of places, by the hash of each. */
struct code_places {
	struct map numbers; /* hash -> number in `list`, plus 1 */
	VEC(struct code_rule_known) list;
};

struct code_rules {
	struct process_table *processes; /* borrowed, as the next */
	struct rule_source *rules;
	int map_fd; /* -1: the BPF side does not ask */
	struct code_pages pages;
	/* Once `known` is full it becomes `older`, and what was there is forgotten. A place that is
	 * asked for and found in `older` is copied to `known`. */
	struct code_places known, older;
	struct map regions; /* hash of a file or memory -> number in region_list, plus 1 */
	VEC(struct code_region) region_list;
	uint64_t retry_ns;              /* of a region, the next one */
	VEC(struct code_key) told_keys; /* what the BPF side is to be sent, and ... */
	VEC(struct code_rule) told_rules;
	uint64_t seed;
	uint64_t spent_ns;               /* on reading, CPU time */
	uint64_t left_ns, left_since_ns; /* of what may be spent: how much, as of when */
	struct code_rules_statistics statistics;
};

/* To be called while the recorder is small: it forks what reads memory, see target_reader.h. */
void code_rules_init(struct code_rules *code, struct process_table *processes);
/* Before the first frame. `map_fd`: where the BPF side looks for them, borrowed. */
void code_rules_begin(struct code_rules *code, struct rule_source *rules, int map_fd);
void code_rules_deinit(struct code_rules *code);

/*
 * The stack of a walk over a snapshot. Where code was left for a stack that another one's code had
 * put aside, that is read as it is by now: it stays while the thread does not return to it, and
 * should that have happened since, hardly any return address stands where one is expected. The same
 * of what lies behind the snapshot's end, for functions with a frame that is larger than snapshots
 * are; there code_rules_is_caller() is to be asked.
 */
struct code_stack {
	struct code_rules *code;
	const struct snapshot *snapshot;
	bool is_another;  /* than the one in the snapshot */
	bool is_behind;   /* a word behind the snapshot's end was read */
	bool is_pending;  /* some of it is being read: the walk is to be made again */
	bool is_given_up; /* ... was not read: there was no time, or the read hung */
};

/* Reads a word of the stack of a struct code_stack; fits unwind_read_fn. */
long code_rules_read_stack(void *context, unsigned long long address, unsigned long long *value);

/* A frame in a walk over a snapshot, in code without a rule. */
struct code_frame {
	const struct snapshot *snapshot;
	const struct code_stack *stack;
	struct process *process;
	const struct mapping *mapping; /* that holds it */
	const struct unwind_registers *regs;
	const uint32_t *files; /* the numbers that the BPF side has for the mapping's file, ... */
	size_t nr_files;       /* ... as yet; of memory none */
	bool is_exact;         /* regs->ip, else it stands behind a call */
	bool is_asked;         /* the BPF side wants to know it */
};

/*
 * EVENT_END_COMPLETE: *rule is the frame's, and *kind says how it was found; *kind is
 * CODE_RULE_NONE when there is none. EVENT_END_TABLE_PENDING: code is being read, ask again; with
 * `may_wait` false it does with what code there is already.
 */
enum event_stack_end code_rules_choose(struct code_rules *code, const struct code_frame *frame,
	bool may_wait, const struct unwind_rule **rule, enum code_rule_kind *kind);

/*
 * To be called now and then: what failed, or was guessed, is tried again when its pause is over.
 * The code may have been read too early, or its process has registered it since.
 */
void code_rules_retry(struct code_rules *code, uint64_t now_ns);
/* The same of a process, soon: something was learned of its code. */
void code_rules_retry_soon(struct code_rules *code, uint32_t pid, uint64_t now_ns);

/*
 * Whether a call ends at `ra` that may have led to the frame. False with *is_pending: code is being
 * read, ask again.
 */
bool code_rules_is_caller(
	struct code_rules *code, const struct code_frame *frame, uint64_t ra, bool *is_pending);

/* Gives the BPF side the rule that a process registered for code of no file, if it asked for this
 * frame.
 */
void code_rules_tell_registered(
	struct code_rules *code, const struct code_frame *frame, const struct unwind_rule *rule);

#endif
