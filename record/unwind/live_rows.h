/*
 * Rows of runtimes that the file alone does not complete: the rest is read in the memory of the
 * first process that runs the file. What was read in a process of root's or of our own user's holds
 * for all that run the file, and is kept for later recordings. Other users could have written
 * anything there: what was read in their processes holds for processes of the same user alone.
 */
#ifndef EBPROF_LIVE_ROWS_H
#define EBPROF_LIVE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/cache.h"
#include "format/base/vec.h"
#include "record/host/target_reader.h"
#include "record/unwind/table_store.h"

struct live_rows {
	struct table_store *store; /* borrowed */
	struct cache *kept;
	struct target_reader reader;
	VEC(struct live_row_job {
		uint32_t table; /* whose row it is */
		uint32_t pid;
		uint32_t uid;
		uint64_t delta;
	}) reading;  /* in the reader's order, */
	size_t read; /* ... from here on */
	VEC(struct users_row {
		const struct runtime_row *of_file; /* the store's, which it completes */
		uint32_t uid;
		uint32_t number; /* the store's; 0: there is no room */
	}) users;
	/* Rows as the file alone has them, of runtimes that are asked for more than the rest. */
	VEC(struct file_row {
		const struct runtime_row *now; /* the store's, which was completed since */
		struct runtime_row row;
	}) of_files;
};

/* First of all, while the recorder is small: what reads processes is forked from it. */
void live_rows_prepare(struct live_rows *rows);
/* Rows are kept in `cache_folder`, as in table_cache.h. */
void live_rows_init(struct live_rows *rows, struct table_store *store, const char *cache_folder);
void live_rows_deinit(struct live_rows *rows);

/*
 * Process `pid` runs a file with this table, whose address + delta is an offset in the file. If its
 * row is not complete, the process is read: soon, and never blocking the caller. Not one that is of
 * several users, as a program that is set-user-ID.
 */
void live_rows_meet(struct live_rows *rows, uint32_t table, uint32_t pid, uint64_t delta);
/* The row as the file alone has it, of a runtime that names threads or whose rows files complete;
 * NULL: it has none of these. */
const struct runtime_row *live_rows_of_file(const struct live_rows *rows, uint32_t table);
/* Takes what has been read meanwhile. */
void live_rows_collect(struct live_rows *rows);
/* Whether a process is still being read. */
bool live_rows_are_reading(const struct live_rows *rows);
/* Becomes readable when there may be something to collect; -1: nothing is being read. */
int live_rows_fd(const struct live_rows *rows);

#endif
