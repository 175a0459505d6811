/*
 * The unwind tables that the kernel has at hand: laid out in the BPF maps that
 * bpf/unwind_table.bpf.h searches. Memory is bounded: when it is used up, the
 * shard whose tables were used longest ago is emptied, and the BPF side asks
 * again for what it misses.
 */
#ifndef EBPROF_TABLE_STORE_H
#define EBPROF_TABLE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "record/unwind/unwind_table.h"

struct table_store;

struct table_store_maps {
	int files, rules, shards, runtime_rows; /* file descriptors; borrowed */
	int code_rules;                         /* likewise; see record/unwind/code_rules.h */
	int known_runtimes;                     /* likewise; see bpf/runtime/ */
	int number_own_file;                    /* likewise; a program */
	uint32_t max_files;                     /* of the map `files` */
	volatile uint32_t *epoch;               /* the BPF side's clock of use; borrowed */
	volatile uint32_t *row_kinds;           /* bits: of what kinds the rows are; borrowed */
	uint32_t unwanted_runtimes; /* bit n: frames of enum runtime_kind n are not wanted */
};

enum {
	TABLE_NOT_STORED = 0,
	TABLE_ABSENT = 1, /* of a file that has none */
};

struct err *table_store_create(const struct table_store_maps *maps, uint64_t max_bytes,
	struct table_store **ret) ERR_MUST_CHECK;
void table_store_destroy(struct table_store *store);

/* Lays a table out. Its number, or TABLE_ABSENT when it is empty or does not fit at all. */
uint32_t table_store_add(struct table_store *store, const struct unwind_table *from);
/* The same of a file of which nothing but its runtime is known yet: its table is still to come. */
uint32_t table_store_add_pending(struct table_store *store, const struct runtime_row *row);
/* The same of that file when its table could not be made: none comes. */
uint32_t table_store_add_failed(struct table_store *store, uint32_t pending);
/* False: it was dropped since, and its number means nothing any more. */
bool table_store_has(const struct table_store *store, uint32_t table);
/* The BPF side has no table for this file, and is to announce it once more. */
void table_store_ask_again(struct table_store *store, uint32_t file);
/* From now on the BPF side finds this table for this file. */
void table_store_bind(struct table_store *store, uint32_t file, uint32_t table);

/*
 * The number that the BPF side calls a file by from now on, or does already; before a process is
 * sampled there, so that no sample has to wait for what is bound to it. 0: it has none.
 */
uint32_t table_store_number(struct table_store *store, int fd);

/* The rule for an offset, by a table that is there; that of UNWIND_CFA_NONE where none covers it.
 */
const struct unwind_rule *table_store_find(
	const struct table_store *store, uint32_t table, uint64_t offset);
/* The number of a rule of no table, for the BPF side, too; 0: there is no room. */
uint32_t table_store_intern_rule(struct table_store *store, const struct unwind_rule *rule);
/* The rule that has a number. */
const struct unwind_rule *table_store_rule(const struct table_store *store, uint32_t number);
/* The rule of enum UNWIND_RULE_FRAME_POINTER. */
const struct unwind_rule *table_store_frame_pointer_rule(const struct table_store *store);

/* Once a second or so: what is used from here on counts as used lately. */
void table_store_advance_epoch(struct table_store *store);

/* Whether script frames are found in files with this table. */
bool table_store_has_runtime(
	const struct table_store *store, uint32_t table, enum runtime_kind *ret);

/* The row of its runtime; NULL: script frames of none are found. */
const struct runtime_row *table_store_runtime_row(const struct table_store *store, uint32_t table);
/* The BPF side knows from now on that a process has that runtime, by the mapping that the event
 * says. */
void table_store_tell_runtime(
	const struct table_store *store, uint32_t table, const struct event_file *event);
/* Another row of the same runtime: its number, for table_store_tell_users_row(); 0: there is no
 * room. */
uint32_t table_store_add_row(struct table_store *store, const struct runtime_row *row);
/* The BPF side goes by that row for a process from now on, as long as it is this user's. */
void table_store_tell_users_row(const struct table_store *store, uint32_t number, uint32_t uid,
	uint32_t pid, uint64_t delta);
/* The same row, of which more is known now. */
void table_store_complete_row(
	struct table_store *store, uint32_t table, const struct runtime_row *row);

/* The runtime that such files are, of a version that is not known; RUNTIME_NONE: they are not. */
enum runtime_kind table_store_unknown_runtime(const struct table_store *store, uint32_t table);

uint64_t table_store_bytes(const struct table_store *store);   /* of shards */
uint64_t table_store_dropped(const struct table_store *store); /* tables, for want of memory */

#endif
