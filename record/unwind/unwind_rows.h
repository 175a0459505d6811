/*
 * Writes the rows of an unwind table: from rules at ascending offsets to pages
 * of rows and an array of rules without duplicates. Nothing is kept beside the
 * table but a row.
 */
#ifndef EBPROF_UNWIND_ROWS_H
#define EBPROF_UNWIND_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/unwind/rule_set.h"
#include "record/unwind/unwind_table.h"

struct unwind_rows {
	struct unwind_table *table;
	struct rule_set rules; /* the table gets them in the end */

	uint64_t pending_offset; /* the row put last: the next may replace it */
	uint32_t pending_rule;
	bool has_pending;
	uint32_t last_rule; /* of the row before */

	bool has_too_many_rules, has_too_many_rows, is_too_large;
};

/* `table` is empty and stays the caller's. */
void unwind_rows_init(struct unwind_rows *rows, struct unwind_table *table);
void unwind_rows_deinit(struct unwind_rows *rows);

/* From `offset` on. Offsets ascend; of two rows at one offset the later counts. */
void unwind_rows_put(struct unwind_rows *rows, uint64_t offset, const struct unwind_rule *rule);

/* From `offset` on nothing is known. */
void unwind_rows_put_none(struct unwind_rows *rows, uint64_t offset);

/* A limit was met: what follows is not written, and unwind_rows_finish() will fail. */
bool unwind_rows_is_full(const struct unwind_rows *rows);

/* ERR_UNSUPPORTED as unwind_table_build(). */
struct err *unwind_rows_finish(struct unwind_rows *rows) ERR_MUST_CHECK;

#endif
