/*
 * The recorder's part in unwinding: has the tables made that the BPF side asks
 * for, and knows the rules, to go on over snapshots where it could not.
 */
#ifndef EBPROF_RULE_SOURCE_H
#define EBPROF_RULE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "record/task/object.h"
#include "record/task/process.h"
#include "record/unwind/frame_search.h"
#include "record/unwind/live_rows.h"
#include "record/unwind/table_builder.h"
#include "record/unwind/table_store.h"

struct rule_source_statistics {
	uint64_t built, cached, failed; /* tables */
};

struct rule_source {
	struct table_store *store;
	struct table_builder *builder;
	struct object_table *objects; /* borrowed */
	struct map tables;            /* of objects, by serial -> their tables */
	struct map
		runtimes; /* the same of those whose runtime is known already; TABLE_ABSENT: none */
	struct live_rows rows;
	struct frame_search search; /* of files whose tables are being made */
	VEC(struct rule_wish {
		struct event_file event;
		struct object *object;
	}) wishes; /* for tables that are being made */
	struct rule_source_statistics statistics;
	bool has_met_code_of_no_file;
};

/* First of all, while the recorder is small: what reads processes is forked from it. */
void rule_source_prepare(struct rule_source *rules);
/* Tables take `max_bytes` in the kernel, and are cached in `cache_folder` as in table_cache.h. */
struct err *rule_source_init(struct rule_source *rules, const struct table_store_maps *maps,
	uint64_t max_bytes, const char *cache_folder, struct object_table *objects) ERR_MUST_CHECK;
void rule_source_deinit(struct rule_source *rules);

/* Code of no file was sampled, which some runtimes' compilers make. */
void rule_source_meet_code_of_no_file(struct rule_source *rules);

/* The BPF side calls a file by the event's number and wants its table, now or when it is made. */
void rule_source_provide(
	struct rule_source *rules, const struct event_file *event, struct object *object);

/*
 * The same before the BPF side has come to the file, where the event says that a process maps it:
 * sets the event's number, by which it calls the file then. 0: it announces the file itself.
 * From now on it knows the runtime that the file has as the process's, too.
 */
void rule_source_expect(struct rule_source *rules, struct event_file *event, struct object *object);
/* Whether some of what was asked for is still being made, or read from a process. */
bool rule_source_is_making(const struct rule_source *rules);
/* Returns when some of that may be there, after some ms at most. */
void rule_source_wait(const struct rule_source *rules);

/* What that file is could not be found out: the BPF side announces it once more. */
void rule_source_ask_again(struct rule_source *rules, uint32_t file);

/* Of an object: a table of the store, TABLE_ABSENT, or TABLE_NOT_STORED: none was made so far. */
uint32_t rule_source_table(const struct rule_source *rules, const struct object *object);

/* The runtime that an object is, as far as that is known; RUNTIME_NONE: it is none. */
enum runtime_kind rule_source_runtime(const struct rule_source *rules, const struct object *object);
/* Its row; NULL: it is none, or none whose frames are wanted, or, with *is_pending, the object is
 * still being looked at. */
const struct runtime_row *rule_source_runtime_row(
	const struct rule_source *rules, const struct object *object, bool *is_pending);

/* Marks the objects whose tables are being made as used, see object_table_sweep(). */
void rule_source_mark_objects(const struct rule_source *rules);
/* Forgets those that a sweep freed. */
void rule_source_forget_objects(struct rule_source *rules);

/* Hands out the tables that were made meanwhile. */
void rule_source_collect(struct rule_source *rules);
/* Becomes readable when there is something to collect. */
int rule_source_fd(const struct rule_source *rules);

/*
 * The rule for an offset in an object. EVENT_END_COMPLETE: *rule is set; EVENT_END_TABLE_PENDING:
 * the table is being made, ask again; else why there is none. A file whose table could not be made
 * is searched itself, unless frames of a runtime would be missed.
 */
enum event_stack_end rule_source_find(struct rule_source *rules, struct object *object,
	uint64_t offset, const struct unwind_rule **rule);

/*
 * The same without the table that is being made: for stacks that can wait for it no longer.
 * EVENT_END_TABLE_PENDING: this way nothing is known, or frames of a runtime would be missed.
 */
enum event_stack_end rule_source_find_ahead(struct rule_source *rules, struct object *object,
	uint64_t offset, const struct unwind_rule **rule);

#endif
