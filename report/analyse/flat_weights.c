#include "report/analyse/flat_weights.h"

/*
 * The recorded nodes are a tree already, only that callees of one function may stand in it several
 * times, and that the kernel's part of a stack is a branch of its own instead of the end of the
 * user's. Neither matters to sums by function, so long as no function is in both parts of a stack.
 * With the kernel's part below each user stack there would be several times as many nodes.
 */
enum part {
	PART_USER = 1,
	PART_KERNEL = 2,
};

struct flat {
	const struct profile *profile;
	const struct tree_options *options;
	uint8_t *parts; /* enum part: which stacks go through each of the profile's nodes */
	/*
	 * The tree's node of each of the profile's. Of one that no stack goes through, or whose
	 * frame damage took, it is its caller's: from each place, parents lead to the caller's
	 * place.
	 */
	uint32_t *places;
	struct tree tree; /* without links to children, which are not needed */
	VEC(uint32_t) inlined;
};

static void find_parts(struct flat *flat)
{
	const struct profile *profile = flat->profile;
	vec_each(&profile->stacks, stack) {
		flat->parts[stack->user] |= PART_USER;
		flat->parts[stack->kernel] |= PART_KERNEL;
	}
	for (size_t i = profile->nodes.len; i-- > 1;)
		flat->parts[profile->nodes.data[i].parent] |= flat->parts[i];
}

static uint32_t flat_weights_add_node(struct flat *flat, uint32_t parent, uint32_t frame)
{
	uint32_t function = flat->profile->frames.data[frame].function;
	struct tree_node node = {
		.function = flat->options->groups ? flat->options->groups[function] : function,
		.frame = frame,
		.parent = parent,
	};
	vec_push(&flat->tree.nodes, node);
	return (uint32_t)flat->tree.nodes.len - 1;
}

/* The recorded frame and then what was inlined into it, as in the tree. */
static uint32_t flat_weights_add_frame(struct flat *flat, uint32_t parent, uint32_t frame)
{
	const struct profile_frame *frames = flat->profile->frames.data;
	if (!frame) /* damage took it */
		return parent;
	uint32_t node = flat_weights_add_node(flat, parent, frame);
	if (!frames[frame].innermost || flat->options->hides_inlined)
		return node;
	for (uint32_t at = frames[frame].innermost; at != frame; at = frames[at].outer)
		vec_push(&flat->inlined, at);
	while (flat->inlined.len)
		node = flat_weights_add_node(flat, node, flat->inlined.data[--flat->inlined.len]);
	return node;
}

static void flat_weights_add_nodes(struct flat *flat)
{
	const struct profile *profile = flat->profile;
	vec_reserve(&flat->tree.nodes, profile->nodes.len);
	vec_push(&flat->tree.nodes, (struct tree_node){0});
	for (size_t i = 1; i < profile->nodes.len; i++) {
		const struct layout_node *node = &profile->nodes.data[i];
		uint32_t caller = flat->places[node->parent];
		flat->places[i] =
			flat->parts[i] ? flat_weights_add_frame(flat, caller, node->frame) : caller;
	}
}

/* A function in both parts would count twice. What stands for cut frames has no total. */
static bool are_parts_disjoint(const struct flat *flat)
{
	const struct profile *profile = flat->profile;
	CLEANUP_FREE uint8_t *parts = mem_zalloc_array(profile->functions.len, sizeof(*parts));
	for (size_t i = 1; i < profile->nodes.len; i++) {
		uint32_t place = flat->places[i],
			 above = flat->places[profile->nodes.data[i].parent];
		for (uint32_t at = place; at != above; at = flat->tree.nodes.data[at].parent) {
			const struct tree_node *node = &flat->tree.nodes.data[at];
			uint8_t *seen = &parts[node->function];
			*seen |= flat->parts[i];
			if (*seen == (PART_USER | PART_KERNEL) &&
				profile->frames.data[node->frame].object)
				return false;
		}
	}
	return true;
}

static void flat_weights_add_total(struct tree_weight *weight, const struct slice_sum *sum)
{
	weight->total += sum->value;
	weight->samples += sum->samples;
}

static struct tree_weight *flat_weights_weigh(const struct flat *flat, const struct slice *slice)
{
	const struct tree *tree = &flat->tree;
	struct tree_weight *weights = mem_zalloc_array(tree->nodes.len, sizeof(*weights));
	for (size_t i = 0; i < slice->nr_stacks; i++) {
		const struct slice_sum *sum = &slice->stacks[i];
		const struct profile_stack *stack = &flat->profile->stacks.data[i];
		uint32_t user = flat->places[stack->user], kernel = flat->places[stack->kernel];
		struct tree_weight *end = &weights[kernel ? kernel : user];
		end->self += sum->value;
		end->self_samples += sum->samples;
		flat_weights_add_total(&weights[user], sum);
		flat_weights_add_total(&weights[kernel], sum);
	}
	tree_add_up(tree, weights);
	return weights;
}

static void flat_deinit(struct flat *flat)
{
	mem_free(flat->parts);
	mem_free(flat->places);
	vec_deinit(&flat->tree.nodes);
	vec_deinit(&flat->inlined);
}

bool flat_weigh_functions(const struct profile *profile, const struct tree_options *options,
	const struct slice *slice, struct function_weights *ret)
{
	if (profile->has_roots) /* a third part, which has a function in common with others */
		return false;
	struct flat flat = {
		.profile = profile,
		.options = options,
		.parts = mem_zalloc_array(profile->nodes.len, sizeof(*flat.parts)),
		.places = mem_zalloc_array(profile->nodes.len, sizeof(*flat.places)),
	};
	find_parts(&flat);
	flat_weights_add_nodes(&flat);
	bool is_sound = are_parts_disjoint(&flat);
	if (is_sound) {
		size_t nr_functions = profile->functions.len;
		tree_mark_recursion(&flat.tree, nr_functions);
		CLEANUP_FREE struct tree_weight *weights = flat_weights_weigh(&flat, slice);
		tree_weigh_functions(&flat.tree, weights, profile->frames.data, nr_functions, ret);
	}
	flat_deinit(&flat);
	return is_sound;
}
