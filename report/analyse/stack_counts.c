#include "report/analyse/stack_counts.h"

#include "report/model/slice.h"

/* What is known of the stack that ends at a node. */
struct stack_facts {
	uint8_t cause; /* why its user part is truncated */
	bool is_guessed;
	bool has_guessed_inlined;
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
		facts[i].has_guessed_inlined |= (frame->flags & LAYOUT_FRAME_GUESSED_INLINED) != 0;
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
	if (user->has_guessed_inlined)
		return STACK_GUESSED_INLINED;
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
		[STACK_GUESSED_INLINED] = "inlined",
		[STACK_BY_GUESSES] = "guesses",
		[STACK_TRUNCATED] = "truncated",
		[STACK_OF_KERNEL] = "kernel"};
	return words[proof];
}

/* As other profilers have them that were not asked for callers. Nodes stay when frames are hidden.
 */
static bool are_leaves(const struct profile *profile)
{
	if (!profile_meta(profile, LAYOUT_META_IMPORT))
		return false;
	vec_each(&profile->nodes, node)
		if (node->parent)
			return false;
	return true;
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
	if (facts[stack->user].has_guessed_inlined)
		out->guessed_inlined += samples;
	for (unsigned i = 0; i < UNWIND_FOUND_KINDS; i++)
		out->frames[i] += facts[stack->user].frames[i] * samples;
}

const char *stack_truncation_word(enum layout_truncation cause)
{
	static const char *const words[LAYOUT_TRUNCATED_END] = {
#define X(name, number, word) [number] = word,
		LAYOUT_TRUNCATIONS(X)
#undef X
	};
	return words[cause];
}

void stack_counts_put_found(const uint64_t *frames, struct str *out)
{
	static const char *const words[UNWIND_FOUND_KINDS] = {
		[UNWIND_FOUND_BY_RULE] = "by rules",
		[UNWIND_FOUND_BY_CODE] = "by reading code",
		[UNWIND_FOUND_BY_FRAME_POINTER] = "guessed by frame pointers",
		[UNWIND_FOUND_BY_SCAN] = "guessed by scans of the stack",
	};
	static const enum unwind_found surest_first[] = {UNWIND_FOUND_BY_RULE, UNWIND_FOUND_BY_CODE,
		UNWIND_FOUND_BY_FRAME_POINTER, UNWIND_FOUND_BY_SCAN};
	uint64_t all = 0;
	for (unsigned i = 0; i < UNWIND_FOUND_KINDS; i++)
		all += frames[i];
	const char *separator = "";
	for (size_t i = 0; i < sizeof(surest_first) / sizeof(*surest_first); i++) {
		enum unwind_found found = surest_first[i];
		bool is_shown = frames[found] || (all && found == UNWIND_FOUND_BY_RULE);
		if (!is_shown)
			continue;
		str_printf(out, "%s%.1f%% %s", separator, profile_percent(frames[found], all),
			words[found]);
		separator = ", ";
	}
}

void stack_counts_put_frames(const struct stack_counts *stacks, struct str *out)
{
	for (unsigned i = UNWIND_FOUND_BY_RULE + 1; i < UNWIND_FOUND_KINDS; i++) {
		if (!stacks->frames[i])
			continue;
		stack_counts_put_found(stacks->frames, out);
		return;
	}
}

void stack_counts_put_guessed_inlined(
	const struct stack_counts *stacks, uint64_t all, struct str *out)
{
	if (stacks->guessed_inlined)
		str_printf(out,
			"%.1f%% of samples: which of the functions inlined at the leaf was "
			"guessed (Java: -XX:+UnlockDiagnosticVMOptions "
			"-XX:+DebugNonSafepoints makes that exact)",
			profile_percent(stacks->guessed_inlined, all));
}

void stack_counts_put(const struct stack_counts *stacks, uint64_t all, struct str *out)
{
	if (all && stacks->are_leaves) {
		str_puts(out, "none: what called the function of each sample was not recorded");
		return;
	}
	str_printf(out, "%.1f%% complete, ", profile_percent(stacks->complete, all));
	if (stacks->by_guesses)
		str_printf(out, "%.1f%% reached by guesses, ",
			profile_percent(stacks->by_guesses, all));
	str_printf(out, "%.1f%% truncated, %.1f%% kernel only",
		profile_percent(stacks->truncated, all), profile_percent(stacks->kernel_only, all));
}

struct stack_counts stack_counts_of_slice(const struct profile *profile, const struct slice *slice)
{
	struct stack_counts out = {.are_leaves = are_leaves(profile)};
	CLEANUP_FREE struct stack_facts *facts = judge_nodes(profile);
	for (size_t i = 0; i < profile->stacks.len; i++)
		add_stack_samples(&out, facts, &profile->stacks.data[i], slice->stacks[i].samples);
	return out;
}

struct stack_counts stack_counts_of(const struct profile *profile)
{
	CLEANUP(slice_deinit) struct slice all;
	slice_init_all(&all, profile);
	return stack_counts_of_slice(profile, &all);
}

/* ---- by object ---- */

/* Samples of each node and those below it, as a part of user stacks. */
static uint64_t *weigh_user_nodes(const struct profile *profile, const struct slice *slice)
{
	uint64_t *samples = mem_zalloc_array(profile->nodes.len, sizeof(*samples));
	for (size_t i = 0; i < profile->stacks.len; i++)
		samples[profile->stacks.data[i].user] += slice->stacks[i].samples;
	for (size_t i = profile->nodes.len; i-- > 1;)
		samples[profile->nodes.data[i].parent] += samples[i];
	return samples;
}

/* Where a step from a node leads. */
struct stack_step {
	uint32_t caller;      /* node: the nearest that is no script's; 0: this is the outermost */
	uint32_t first_guess; /* node: of the guessed steps from here on the first; 0: none */
};

static void add_cut(struct object_stacks *object, enum layout_truncation cause, uint64_t samples)
{
	object->truncated += samples;
	object->truncated_by[cause] += samples;
}

static const struct profile_frame *frame_of_node(const struct profile *profile, uint32_t node)
{
	return &profile->frames.data[profile->nodes.data[node].frame];
}

/* LAYOUT_COMPLETE: the node is no marker of a truncated stack. */
static enum layout_truncation cause_of_node(const struct profile *profile, uint32_t node)
{
	const struct profile_frame *frame = frame_of_node(profile, node);
	bool is_marker = node && !frame->object && !profile->nodes.data[node].parent;
	return is_marker ? (enum layout_truncation)frame->offset : LAYOUT_COMPLETE;
}

static bool is_of_script(const struct profile *profile, uint32_t node)
{
	uint32_t object = frame_of_node(profile, node)->object;
	return profile->objects.data[object].info.kind == LAYOUT_OBJECT_SCRIPT;
}

/* From a node of compiled code, whose callers have been seen before. */
static void stack_counts_add_step(const struct profile *profile, uint32_t node, uint64_t samples,
	struct stack_step *steps, struct object_stacks *out)
{
	uint32_t caller = steps[node].caller;
	struct object_stacks *object = &out[frame_of_node(profile, node)->object];
	enum layout_truncation cause = cause_of_node(profile, caller);
	if (cause)
		add_cut(object, cause, samples);
	if (!caller || cause)
		return;
	enum unwind_found found = frame_found(profile, profile->nodes.data[caller].frame);
	object->callers[found] += samples;
	if (found & UNWIND_FOUND_GUESSED)
		steps[node].first_guess = node;
}

/* Of the stacks that end, at the leaf's side, at a node: what no step can tell. */
static void stack_counts_add_end(const struct profile *profile, uint32_t node, uint64_t samples,
	const struct stack_step *steps, struct object_stacks *out)
{
	uint32_t guess = steps[node].first_guess;
	uint32_t lowest = node && is_of_script(profile, node) ? steps[node].caller : node;
	enum layout_truncation cause = cause_of_node(profile, lowest);
	if (guess)
		out[frame_of_node(profile, guess)->object].guessed += samples;
	if (cause)
		add_cut(&out[0], cause, samples);
}

struct object_stacks *object_stacks_of(const struct profile *profile, const struct slice *slice)
{
	size_t count = profile->nodes.len;
	struct object_stacks *out = mem_zalloc_array(profile->objects.len, sizeof(*out));
	CLEANUP_FREE uint64_t *samples = weigh_user_nodes(profile, slice);
	CLEANUP_FREE struct stack_step *steps = mem_zalloc_array(count, sizeof(*steps));
	for (uint32_t i = 1; i < count; i++) {
		uint32_t parent = profile->nodes.data[i].parent;
		bool skips = parent && is_of_script(profile, parent);
		steps[i].caller = skips ? steps[parent].caller : parent;
		steps[i].first_guess = steps[parent].first_guess;
		if (samples[i] && !is_of_script(profile, i))
			stack_counts_add_step(profile, i, samples[i], steps, out);
	}
	for (size_t i = 0; i < profile->stacks.len; i++)
		stack_counts_add_end(profile, profile->stacks.data[i].user,
			slice->stacks[i].samples, steps, out);
	return out;
}
