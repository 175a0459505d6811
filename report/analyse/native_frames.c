#include "report/analyse/native_frames.h"

#include "format/base/map.h"

struct script_nodes {
	uint32_t *nodes;  /* of each node that which has its frames of scripts; 0: none */
	bool *has_script; /* of each node: it or a caller is a frame of a script */
	struct map known; /* of profile_add_node() */
};

/* What is of no program: where a stack is cut, why a thread waits, which system call it is in. */
static bool is_kept(const struct profile *profile, const struct profile_frame *frame)
{
	return !frame->object || frame->object == profile->wait_object ||
	       frame->object == profile->syscall_object;
}

/* Callers stand before those that they call. */
static void add_script_nodes(struct profile *profile, struct script_nodes *script)
{
	size_t count = profile->nodes.len;
	script->nodes = mem_zalloc_array(count, sizeof(*script->nodes));
	script->has_script = mem_zalloc_array(count, sizeof(*script->has_script));
	for (size_t i = 1; i < count; i++) {
		struct layout_node node = profile->nodes.data[i];
		const struct profile_frame *frame = &profile->frames.data[node.frame];
		bool is_script = profile_frame_is_script(frame, profile->objects.data);
		uint32_t parent = script->nodes[node.parent];
		script->nodes[i] =
			is_script || is_kept(profile, frame)
				? profile_add_node(profile, &script->known, parent, node.frame)
				: parent;
		script->has_script[i] = is_script || script->has_script[node.parent];
	}
}

/* Stacks that have become the same stay several. */
static void shorten_stacks(struct profile *profile)
{
	struct script_nodes script = {0};
	add_script_nodes(profile, &script);
	vec_each(&profile->stacks, stack) {
		if (!script.has_script[stack->user])
			continue;
		stack->user = script.nodes[stack->user];
		stack->kernel = script.nodes[stack->kernel];
	}
	map_deinit(&script.known);
	mem_free(script.nodes);
	mem_free(script.has_script);
}

void native_frames_leave_out(struct profile *profile)
{
	shorten_stacks(profile);
	struct map first = {0}; /* root << 32 | user node -> stack, of those without the kernel */
	CLEANUP_FREE uint32_t *of_stack = mem_zalloc_array(profile->stacks.len, sizeof(*of_stack));
	for (size_t i = 0; i < profile->stacks.len; i++) {
		const struct profile_stack *stack = &profile->stacks.data[i];
		of_stack[i] = (uint32_t)i;
		if (stack->kernel)
			continue;
		bool added;
		uint64_t *same = map_put(&first, (uint64_t)stack->root << 32 | stack->user, &added);
		if (added)
			*same = i;
		of_stack[i] = (uint32_t)*same;
	}
	vec_each(&profile->samples, sample)
		sample->stack = of_stack[sample->stack];
	map_deinit(&first);
}

/* ---- beside the profile ---- */

struct profile *native_frames_hide(const struct profile *profile)
{
	struct profile *hidden = profile_create_beside(profile);
	shorten_stacks(hidden);
	return hidden;
}

/* ---- whether it matters ---- */

bool native_frames_have_scripts(const struct profile_object *objects, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (objects[i].is_used && objects[i].info.kind == LAYOUT_OBJECT_SCRIPT)
			return true;
	return false;
}
