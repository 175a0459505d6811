#include "report/analyse/stack_counts.h"

#include "report/model/slice.h"

/* What is known of the stack that ends at a node. */
struct stack_facts {
	uint8_t cause; /* why its user part is truncated */
	bool is_guessed;
};

static bool is_guessed_frame(const struct profile *profile, uint32_t frame)
{
	for (uint32_t at = profile->frames.data[frame].innermost; at && at != frame;
		at = profile->frames.data[at].outer)
		if (profile->frames.data[at].flags & LAYOUT_FRAME_GUESSED)
			return true;
	return profile->frames.data[frame].flags & LAYOUT_FRAME_GUESSED;
}

/* Node by node, callers first, since walking from each stack to the root takes its length. */
static struct stack_facts *judge_nodes(const struct profile *profile)
{
	struct stack_facts *facts = mem_zalloc_array(profile->nodes.len, sizeof(*facts));
	for (size_t i = 1; i < profile->nodes.len; i++) {
		const struct layout_node *node = &profile->nodes.data[i];
		const struct profile_frame *frame = &profile->frames.data[node->frame];
		facts[i] = facts[node->parent];
		if (!node->parent && !frame->object)
			facts[i].cause = (uint8_t)frame->offset;
		facts[i].is_guessed |= node->frame && is_guessed_frame(profile, node->frame);
	}
	return facts;
}

static void add_stack_samples(struct stack_counts *out, const struct stack_facts *facts,
	const struct profile_stack *stack, uint64_t samples)
{
	enum layout_truncation cause = facts[stack->user].cause;
	if (!stack->user)
		out->kernel_only += samples;
	else if (cause)
		out->truncated += samples, out->truncated_by[cause] += samples;
	else if (facts[stack->user].is_guessed)
		out->by_guesses += samples;
	else
		out->complete += samples;
	if (facts[stack->user].is_guessed || facts[stack->kernel].is_guessed)
		out->guessed += samples;
}

void stack_counts_put(const struct stack_counts *stacks, uint64_t all, struct str *out)
{
	str_printf(out, "%.1f%% complete, ", profile_percent(stacks->complete, all));
	if (stacks->by_guesses)
		str_printf(out, "%.1f%% reached by guesses, ",
			profile_percent(stacks->by_guesses, all));
	str_printf(out, "%.1f%% truncated, %.1f%% kernel only",
		profile_percent(stacks->truncated, all), profile_percent(stacks->kernel_only, all));
}

struct stack_counts stack_counts_of(const struct profile *profile)
{
	struct stack_counts out = {0};
	CLEANUP_FREE struct stack_facts *facts = judge_nodes(profile);
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (size_t i = 0; i < profile->stacks.len; i++)
		add_stack_samples(&out, facts, &profile->stacks.data[i], samples[i]);
	return out;
}
