#include "report/analyse/stack_counts.h"

#include "report/model/slice.h"

/* What is known of the stack that ends at a node. */
struct stack_facts {
	uint8_t cause; /* why its user part is truncated */
	bool is_guessed;
	uint32_t frames[UNWIND_FOUND_KINDS];
};

/* Of the frames that stand for one the flags are in one of them. */
static enum unwind_found frame_found(const struct profile *profile, uint32_t frame)
{
	uint32_t flags = profile->frames.data[frame].flags;
	for (uint32_t at = profile->frames.data[frame].innermost; at && at != frame;
		at = profile->frames.data[at].outer)
		flags |= profile->frames.data[at].flags;
	return flags & LAYOUT_FRAME_FOUND;
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
		if (!node->frame)
			continue;
		enum unwind_found found = frame_found(profile, node->frame);
		facts[i].is_guessed |= found & UNWIND_FOUND_GUESSED;
		facts[i].frames[found] += frame->object != 0;
	}
	return facts;
}

static enum stack_proof proof_of(const struct stack_facts *facts, const struct profile_stack *stack)
{
	const struct stack_facts *user = &facts[stack->user];
	if (!stack->user)
		return STACK_OF_KERNEL;
	if (user->cause)
		return STACK_TRUNCATED;
	if (user->is_guessed)
		return STACK_BY_GUESSES;
	return user->frames[UNWIND_FOUND_BY_CODE] ? STACK_BY_CODE : STACK_BY_RULES;
}

uint8_t *stack_proofs_of(const struct profile *profile)
{
	CLEANUP_FREE struct stack_facts *facts = judge_nodes(profile);
	uint8_t *proofs = mem_zalloc_array(profile->stacks.len, sizeof(*proofs));
	for (size_t i = 0; i < profile->stacks.len; i++)
		proofs[i] = (uint8_t)proof_of(facts, &profile->stacks.data[i]);
	return proofs;
}

const char *stack_proof_word(enum stack_proof proof)
{
	static const char *const words[] = {[STACK_BY_RULES] = "rules",
		[STACK_BY_CODE] = "code",
		[STACK_BY_GUESSES] = "guesses",
		[STACK_TRUNCATED] = "truncated",
		[STACK_OF_KERNEL] = "kernel"};
	return words[proof];
}

static void add_stack_samples(struct stack_counts *out, const struct stack_facts *facts,
	const struct profile_stack *stack, uint64_t samples)
{
	switch (proof_of(facts, stack)) {
	case STACK_OF_KERNEL:
		out->kernel_only += samples;
		break;
	case STACK_TRUNCATED:
		out->truncated += samples;
		out->truncated_by[facts[stack->user].cause] += samples;
		break;
	case STACK_BY_GUESSES:
		out->by_guesses += samples;
		break;
	default:
		out->complete += samples;
		break;
	}
	if (facts[stack->user].is_guessed || facts[stack->kernel].is_guessed)
		out->guessed += samples;
	for (unsigned i = 0; i < UNWIND_FOUND_KINDS; i++)
		out->frames[i] += facts[stack->user].frames[i] * samples;
}

void stack_counts_put_frames(const struct stack_counts *stacks, struct str *out)
{
	static const char *const words[UNWIND_FOUND_KINDS] = {
		[UNWIND_FOUND_BY_RULE] = "by rules",
		[UNWIND_FOUND_BY_CODE] = "by reading code",
		[UNWIND_FOUND_BY_FRAME_POINTER] = "guessed by frame pointers",
		[UNWIND_FOUND_BY_SCAN] = "guessed by scans of the stack",
	};
	uint64_t all = 0;
	for (unsigned i = 0; i < UNWIND_FOUND_KINDS; i++)
		all += stacks->frames[i];
	if (all == stacks->frames[UNWIND_FOUND_BY_RULE])
		return;
	str_printf(out, "%.1f%% %s", profile_percent(stacks->frames[0], all), words[0]);
	static const enum unwind_found others[] = {
		UNWIND_FOUND_BY_CODE, UNWIND_FOUND_BY_FRAME_POINTER, UNWIND_FOUND_BY_SCAN};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (stacks->frames[others[i]])
			str_printf(out, ", %.1f%% %s",
				profile_percent(stacks->frames[others[i]], all), words[others[i]]);
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
