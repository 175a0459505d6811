#include "record/early_stacks.h"

void early_stacks_put(struct early_stacks *early, uint64_t number, const struct early_stack *stack)
{
	if (early->places.len >= EARLY_STACKS_MAX)
		early_stacks_deinit(early);
	bool is_new;
	uint64_t *place = map_put(&early->places, number, &is_new);
	if (!is_new) {
		early->stacks.data[*place] = *stack;
	} else if (early->free.len) {
		*place = early->free.data[--early->free.len];
		early->stacks.data[*place] = *stack;
	} else {
		*place = early->stacks.len;
		vec_push(&early->stacks, *stack);
	}
}

bool early_stacks_take(struct early_stacks *early, uint64_t number, struct early_stack *ret)
{
	const uint64_t *place = map_get(&early->places, number);
	if (!place)
		return false;
	*ret = early->stacks.data[*place];
	vec_push(&early->free, (uint32_t)*place);
	map_remove(&early->places, number);
	return true;
}

void early_stacks_deinit(struct early_stacks *early)
{
	map_deinit(&early->places);
	vec_deinit(&early->stacks);
	vec_deinit(&early->free);
}
