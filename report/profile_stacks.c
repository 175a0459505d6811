#include "report/profile_stacks.h"

/*
 * Nodes share their callers, so a file of a few bytes can describe stacks whose
 * lengths add up to anything. Consumers walk each stack: together they may take
 * this many steps, and so many a byte of the file.
 */
enum {
	WALK_FLOOR = 8 << 20,
	WALK_RATIO = 256,
};

uint32_t profile_add_node(
	struct profile *profile, struct map *known, uint32_t parent, uint32_t frame)
{
	bool added;
	uint64_t *node = map_put(known, (uint64_t)parent << 32 | frame, &added);
	if (added) {
		*node = profile->nodes.len;
		vec_push(&profile->nodes, (struct layout_node){parent, frame});
		vec_push(&profile->node_depths, (uint16_t)(profile->node_depths.data[parent] + 1));
		vec_push(&profile->plain_stacks, 0);
	}
	return (uint32_t)*node;
}

uint32_t profile_add_stack(struct profile *profile, uint32_t user, uint32_t kernel)
{
	uint32_t *plain = &profile->plain_stacks.data[user];
	uint64_t key = (uint64_t)user << 32 | kernel;
	if (!kernel && *plain)
		return *plain - 1;
	const uint64_t *known = kernel ? map_get(&profile->stack_index, key) : NULL;
	if (known)
		return (uint32_t)*known;
	const uint16_t *depths = profile->node_depths.data;
	uint64_t limit = WALK_FLOOR + profile->file.file_bytes * WALK_RATIO;
	uint64_t walk_frames = profile->walk_frames + depths[user] + depths[kernel];
	if (walk_frames > limit) {
		profile->dangling++;
		return profile_add_stack(profile, 0, 0);
	}
	profile->walk_frames = walk_frames;
	if (kernel)
		*map_put(&profile->stack_index, key, NULL) = profile->stacks.len;
	else
		*plain = (uint32_t)profile->stacks.len + 1;
	vec_push(&profile->stacks, (struct profile_stack){.user = user, .kernel = kernel});
	return (uint32_t)profile->stacks.len - 1;
}
