#include "record/task/object_ids.h"

void object_ids_deinit(struct object_ids *ids)
{
	map_deinit(&ids->by_serial);
}

void object_ids_put(struct object_ids *ids, const struct object *object, uint32_t id)
{
	*map_put(&ids->by_serial, object->serial, NULL) = (uint64_t)ids->epoch << 32 | id;
}

uint32_t object_ids_get(const struct object_ids *ids, const struct object *object)
{
	const uint64_t *id = map_get(&ids->by_serial, object->serial);
	return id && *id >> 32 == ids->epoch ? (uint32_t)*id : 0;
}

bool object_ids_has(const struct object_ids *ids, const struct object *object)
{
	return map_get(&ids->by_serial, object->serial);
}

void object_ids_mark_objects(const struct object_ids *ids, struct object_table *objects)
{
	vec_each(&objects->objects, object)
		(*object)->is_used |= object_ids_get(ids, *object) != 0;
}
