#include "record/kept_stacks.h"

void kept_stacks_put(struct kept_stacks *kept, uint64_t hash, const struct kept_stack *stack)
{
	uint64_t *index = map_put(&kept->by_hash, hash, NULL);
	if (!*index) {
		vec_push(&kept->stacks, *stack);
		*index = kept->stacks.len;
	}
	kept->stacks.data[*index - 1] = *stack;
}

const struct kept_stack *kept_stacks_find(
	const struct kept_stacks *kept, uint64_t hash, uint32_t epoch)
{
	const uint64_t *index = map_get(&kept->by_hash, hash);
	const struct kept_stack *found = index ? &kept->stacks.data[*index - 1] : NULL;
	return found && (!found->stack.is_left || found->epoch == epoch) ? found : NULL;
}

void kept_stacks_move(
	struct kept_stacks *kept, struct stack_table *to, const struct stack_table *from)
{
	struct map copied = {0};
	vec_each(&kept->stacks, it)
		it->stack.node = stack_table_copy_node(to, from, it->stack.node, &copied);
	map_deinit(&copied);
}

void kept_stacks_deinit(struct kept_stacks *kept)
{
	map_deinit(&kept->by_hash);
	vec_deinit(&kept->stacks);
}
