/* In which objects stacks were cut: where their outermost known frame is, and why it is that. */
#ifndef EBPROF_BLAME_TABLE_H
#define EBPROF_BLAME_TABLE_H

#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "format/file/layout.h"
#include "record/task/object.h"

struct blame_table {
	struct map by_serial; /* of objects -> index + 1 */
	VEC(struct blame {
		uint64_t stacks[LAYOUT_TRUNCATED_END]; /* by enum layout_truncation */
	}) blames;
};

void blame_table_deinit(struct blame_table *table);
/* Counts a stack. */
void blame_table_add(
	struct blame_table *table, const struct object *object, enum layout_truncation why);
/* NULL: no stack was cut there. Borrowed until the next is counted. */
const struct blame *blame_table_get(const struct blame_table *table, const struct object *object);
/* Marks the objects as used, see object_table_sweep(). */
void blame_table_mark_objects(const struct blame_table *table, struct object_table *objects);

#endif
