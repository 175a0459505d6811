#include "report/write/export/stack_tree.h"

struct builder {
	const struct profile *profile;
	const uint32_t *names;
	struct stack_tree *tree;
	struct map known;     /* parent << 32 | name -> node */
	uint32_t *user_nodes; /* what a node of the profile has become, plus 1 */
	VEC(uint32_t) path;   /* nodes of the profile, innermost first */
	VEC(uint32_t) chain;  /* frames of one of them, innermost first */
};

static uint32_t stack_tree_add(struct builder *builder, uint32_t parent, size_t frame)
{
	bool added;
	uint32_t name = builder->names ? builder->names[frame] : (uint32_t)frame;
	uint64_t *node = map_put(&builder->known, (uint64_t)parent << 32 | name, &added);
	if (added) {
		*node = builder->tree->nodes.len;
		vec_push(&builder->tree->nodes, (struct stack_tree_node){parent, name});
	}
	return (uint32_t)*node;
}

/* A recorded frame, with what was inlined into it. Damage may have taken it: then nothing. */
static uint32_t add_recorded(struct builder *builder, uint32_t parent, uint32_t recorded)
{
	const struct profile_frame *frames = builder->profile->frames.data;
	uint32_t frame = frames[recorded].innermost ? frames[recorded].innermost : recorded;
	builder->chain.len = 0;
	for (; frame; frame = frames[frame].outer)
		vec_push(&builder->chain, frame);
	while (builder->chain.len)
		parent = stack_tree_add(builder, parent, builder->chain.data[--builder->chain.len]);
	return parent;
}

/* Stacks share their beginnings as they do in the profile, which need not be looked up again. */
static uint32_t add_user(struct builder *builder, uint32_t node)
{
	const struct layout_node *nodes = builder->profile->nodes.data;
	builder->path.len = 0;
	for (; node && !builder->user_nodes[node]; node = nodes[node].parent)
		vec_push(&builder->path, node);
	uint32_t at = node ? builder->user_nodes[node] - 1 : 0;
	while (builder->path.len) {
		node = builder->path.data[--builder->path.len];
		at = add_recorded(builder, at, nodes[node].frame);
		builder->user_nodes[node] = at + 1;
	}
	return at;
}

static uint32_t stack_tree_add_nodes(struct builder *builder, uint32_t at, uint32_t node)
{
	const struct layout_node *nodes = builder->profile->nodes.data;
	builder->path.len = 0;
	for (; node; node = nodes[node].parent)
		vec_push(&builder->path, node);
	while (builder->path.len) {
		node = builder->path.data[--builder->path.len];
		at = add_recorded(builder, at, nodes[node].frame);
	}
	return at;
}

static uint32_t stack_tree_add_stack(struct builder *builder, const struct profile_stack *stack)
{
	uint32_t user;
	if (stack->root)
		user = stack_tree_add_nodes(
			builder, stack_tree_add_nodes(builder, 0, stack->root), stack->user);
	else
		user = add_user(builder, stack->user);
	return stack_tree_add_nodes(builder, user, stack->kernel);
}

void stack_tree_init(struct stack_tree *tree, const struct profile *profile, const uint32_t *names)
{
	*tree = (struct stack_tree){
		.stacks = mem_zalloc_array(profile->stacks.len, sizeof(*tree->stacks))};
	struct builder builder = {
		.profile = profile,
		.names = names,
		.tree = tree,
		.user_nodes = mem_zalloc_array(profile->nodes.len, sizeof(uint32_t)),
	};
	vec_push(&tree->nodes, (struct stack_tree_node){0});
	vec_each(&profile->samples, sample) {
		uint32_t *node = &tree->stacks[sample->stack];
		if (*node)
			continue;
		*node = stack_tree_add_stack(&builder, &profile->stacks.data[sample->stack]);
		if (!*node)
			*node = stack_tree_add(&builder, 0, profile->frames.len);
	}
	map_deinit(&builder.known);
	mem_free(builder.user_nodes);
	vec_deinit(&builder.path);
	vec_deinit(&builder.chain);
}

void stack_tree_deinit(struct stack_tree *tree)
{
	vec_deinit(&tree->nodes);
	mem_free(tree->stacks);
}
