#include "report/analyse/hidden_frames.h"

#include "format/base/map.h"

struct seen_nodes {
	uint32_t *nodes;   /* of each node that which has its frames that are seen; 0: none */
	bool *has_callers; /* of each node: it or a caller is a frame that others count for */
	struct map known;  /* of profile_add_node() */
};

/* What is of no program: where a stack is cut, why a thread waits, which system call it is in. */
static bool is_of_no_program(const struct profile *profile, const struct profile_frame *frame)
{
	return !frame->object || frame->object == profile->wait_object ||
	       frame->object == profile->syscall_object;
}

/* Whether what is hidden counts for the frame. */
static bool is_caller(
	const struct profile *profile, const struct profile_frame *frame, enum hidden_frames hidden)
{
	if (hidden == HIDDEN_NATIVE)
		return profile_frame_is_script(frame, profile->objects.data);
	return !is_of_no_program(profile, frame) && !profile_is_kernel(profile, frame->object);
}

/* Callers stand before those that they call. A node of which all is seen stands for itself. */
static void add_seen_nodes(
	struct profile *profile, enum hidden_frames hidden, struct seen_nodes *seen)
{
	size_t count = profile->nodes.len;
	seen->nodes = mem_zalloc_array(count, sizeof(*seen->nodes));
	seen->has_callers = mem_zalloc_array(count, sizeof(*seen->has_callers));
	for (uint32_t i = 1; i < count; i++) {
		struct layout_node node = profile->nodes.data[i];
		const struct profile_frame *frame = &profile->frames.data[node.frame];
		bool is_one = is_caller(profile, frame, hidden);
		uint32_t parent = seen->nodes[node.parent];
		if (!is_one && !is_of_no_program(profile, frame))
			seen->nodes[i] = parent;
		else if (parent == node.parent)
			seen->nodes[i] = i;
		else
			seen->nodes[i] =
				profile_add_node(profile, &seen->known, parent, node.frame);
		seen->has_callers[i] = is_one || seen->has_callers[node.parent];
	}
}

/* Stacks that have become the same stay several. */
static void shorten_stacks(struct profile *profile, enum hidden_frames hidden)
{
	struct seen_nodes seen = {0};
	add_seen_nodes(profile, hidden, &seen);
	vec_each(&profile->stacks, stack) {
		if (!seen.has_callers[stack->user])
			continue;
		stack->user = seen.nodes[stack->user];
		stack->kernel = seen.nodes[stack->kernel];
	}
	map_deinit(&seen.known);
	mem_free(seen.nodes);
	mem_free(seen.has_callers);
}

static void shorten_by(struct profile *profile, unsigned hidden)
{
	if (hidden & HIDDEN_NATIVE)
		shorten_stacks(profile, HIDDEN_NATIVE);
	if (hidden & HIDDEN_KERNEL)
		shorten_stacks(profile, HIDDEN_KERNEL);
}

void hidden_frames_leave_out(struct profile *profile, unsigned hidden)
{
	shorten_by(profile, hidden);
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

struct profile *hidden_frames_beside(const struct profile *profile, unsigned hidden)
{
	struct profile *shortened = profile_create_beside(profile);
	shorten_by(shortened, hidden);
	return shortened;
}

/* ---- whether it matters ---- */

bool hidden_frames_have_scripts(const struct profile_object *objects, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (objects[i].is_used && objects[i].info.kind == LAYOUT_OBJECT_SCRIPT)
			return true;
	return false;
}

bool hidden_frames_have_kernel(const struct profile_object *objects, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (objects[i].is_used && profile_object_is_kernel(&objects[i]))
			return true;
	return false;
}
