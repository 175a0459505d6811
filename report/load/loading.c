#include "report/load/loading.h"

/*
 * Nodes share their callers, so a file of a few bytes can describe stacks whose
 * lengths add up to anything. Consumers walk each stack: together they may take
 * this many steps, and so many a byte of the file.
 */
enum {
	WALK_FLOOR = 8 << 20,
	WALK_RATIO = 256,
};

uint32_t loading_add_node(
	struct loading *loading, struct map *known, uint32_t parent, uint32_t frame)
{
	size_t count = loading->profile->nodes.len;
	uint32_t node = profile_add_node(loading->profile, known, parent, frame);
	if (node == count) {
		vec_push(&loading->node_depths, (uint16_t)(loading->node_depths.data[parent] + 1));
		vec_push(&loading->plain_stacks, 0);
	}
	return node;
}

uint32_t loading_add_stack(struct loading *loading, uint32_t user, uint32_t kernel)
{
	struct profile *profile = loading->profile;
	uint32_t *plain = &loading->plain_stacks.data[user];
	uint64_t key = loading_stack_key(user, kernel);
	if (!kernel && *plain)
		return *plain - 1;
	const uint64_t *known = kernel ? map_get(&loading->stack_index, key) : NULL;
	if (known)
		return (uint32_t)*known;
	const uint16_t *depths = loading->node_depths.data;
	uint64_t limit = WALK_FLOOR + profile->file.file_bytes * WALK_RATIO;
	uint64_t walk_frames = loading->walk_frames + depths[user] + depths[kernel];
	if (walk_frames > limit) {
		profile->dangling++;
		return loading_add_stack(loading, 0, 0);
	}
	loading->walk_frames = walk_frames;
	if (kernel)
		*map_put(&loading->stack_index, key, NULL) = profile->stacks.len;
	else
		*plain = (uint32_t)profile->stacks.len + 1;
	vec_push(&profile->stacks, (struct profile_stack){.user = user, .kernel = kernel});
	return (uint32_t)profile->stacks.len - 1;
}

/* Of a thread that damage took nothing is known. */
void loading_on_thread_times(void *context, const struct layout_thread_times *times)
{
	struct profile *profile = ((struct loading *)context)->profile;
	if (times->thread && times->thread < profile->threads.len)
		vec_push(&profile->thread_times, *times);
}
