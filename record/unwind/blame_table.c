#include "record/unwind/blame_table.h"

void blame_table_deinit(struct blame_table *table)
{
	map_deinit(&table->by_serial);
	vec_deinit(&table->blames);
}

void blame_table_add(
	struct blame_table *table, const struct object *object, enum layout_truncation why)
{
	bool is_new;
	uint64_t *at = map_put(&table->by_serial, object->serial, &is_new);
	if (is_new) {
		vec_push(&table->blames, (struct blame){0});
		*at = table->blames.len;
	}
	table->blames.data[*at - 1].stacks[why]++;
}

const struct blame *blame_table_get(const struct blame_table *table, const struct object *object)
{
	const uint64_t *at = map_get(&table->by_serial, object->serial);
	return at ? &table->blames.data[*at - 1] : NULL;
}

void blame_table_mark_objects(const struct blame_table *table, struct object_table *objects)
{
	vec_each(&objects->objects, object)
		(*object)->is_used |= blame_table_get(table, *object) != NULL;
}
