#include "report/native_frames.h"

#include "format/base/map.h"

struct script_nodes {
	uint32_t *nodes;  /* of each node that which has its frames of scripts; 0: none */
	bool *has_script; /* of each node: it or a caller is a frame of a script */
	struct map known; /* parent << 32 | frame -> node, of those that were added */
};

static uint32_t add_node(
	struct profile *profile, struct script_nodes *script, uint32_t parent, uint32_t frame)
{
	bool added;
	uint64_t *node = map_put(&script->known, (uint64_t)parent << 32 | frame, &added);
	if (added) {
		*node = profile->nodes.len;
		vec_push(&profile->nodes, (struct layout_node){parent, frame});
	}
	return (uint32_t)*node;
}

/* Callers stand before those that they call. */
static void find_script_nodes(struct profile *profile, struct script_nodes *script)
{
	size_t count = profile->nodes.len;
	script->nodes = mem_zalloc_array(count, sizeof(*script->nodes));
	script->has_script = mem_zalloc_array(count, sizeof(*script->has_script));
	for (size_t i = 1; i < count; i++) {
		struct layout_node node = profile->nodes.data[i];
		uint32_t object = profile->frames.data[node.frame].object;
		bool is_script =
			object && profile->objects.data[object].info.kind == LAYOUT_OBJECT_SCRIPT;
		uint32_t parent = script->nodes[node.parent];
		script->nodes[i] = is_script || !object
					   ? add_node(profile, script, parent, node.frame)
					   : parent;
		script->has_script[i] = is_script || script->has_script[node.parent];
	}
}

void native_frames_leave_out(struct profile *profile)
{
	struct script_nodes script = {0};
	find_script_nodes(profile, &script);
	struct map stacks = {0}; /* root << 32 | user node -> stack, of those that are changed */
	CLEANUP_FREE uint32_t *of_stack = mem_zalloc_array(profile->stacks.len, sizeof(*of_stack));
	for (size_t i = 0; i < profile->stacks.len; i++) {
		struct profile_stack *stack = &profile->stacks.data[i];
		of_stack[i] = (uint32_t)i;
		if (!script.has_script[stack->user])
			continue;
		bool added;
		uint64_t *same = map_put(
			&stacks, (uint64_t)stack->root << 32 | script.nodes[stack->user], &added);
		if (added)
			*same = i;
		of_stack[i] = (uint32_t)*same;
		stack->user = script.nodes[stack->user];
		stack->kernel = 0;
	}
	vec_each(&profile->samples, sample)
		sample->stack = of_stack[sample->stack];
	map_deinit(&stacks);
	map_deinit(&script.known);
	mem_free(script.nodes);
	mem_free(script.has_script);
}
