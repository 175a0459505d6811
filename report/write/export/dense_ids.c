#include "report/write/export/dense_ids.h"

void dense_ids_init(struct dense_ids *ids, size_t count)
{
	*ids = (struct dense_ids){.id_of = mem_zalloc_array(count, sizeof(*ids->id_of))};
}

void dense_ids_deinit(struct dense_ids *ids)
{
	mem_free(ids->id_of);
	vec_deinit(&ids->used);
}

uint32_t dense_ids_use(struct dense_ids *ids, size_t element)
{
	if (!ids->id_of[element]) {
		vec_push(&ids->used, (uint32_t)element);
		ids->id_of[element] = (uint32_t)ids->used.len;
	}
	return ids->id_of[element];
}
