/* Which objects are in the files of the recording, and by which ids. */
#ifndef EBPROF_OBJECT_IDS_H
#define EBPROF_OBJECT_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "record/task/object.h"

struct object_ids {
	uint32_t epoch;       /* of the newest file, see emitter.h */
	struct map by_serial; /* -> the epoch of the last file that has it << 32 | its id there */
};

void object_ids_deinit(struct object_ids *ids);
/* The object is in the newest file. */
void object_ids_put(struct object_ids *ids, const struct object *object, uint32_t id);
/* In the newest file; 0: it is not there. */
uint32_t object_ids_get(const struct object_ids *ids, const struct object *object);
/* Whether it is in any of them. */
bool object_ids_has(const struct object_ids *ids, const struct object *object);
/* Marks the objects in the newest file as used, see object_table_sweep(). */
void object_ids_mark_objects(const struct object_ids *ids, struct object_table *objects);

#endif
