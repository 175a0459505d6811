#include "report/analyse/scope.h"

#include <string.h>

#include "report/name/namesakes.h"

enum {
	SAMPLES_BETWEEN_LOOKS = 1 << 16, /* at is_cancelled */
};

void scope_add(struct scope *scope, const struct scope_term *term)
{
	struct scope_term copy = *term;
	if (copy.text)
		copy.text = mem_strdup(copy.text);
	vec_push(&scope->terms, copy);
}

void scope_copy(struct scope *to, const struct scope *from)
{
	*to = (struct scope){0};
	vec_each(&from->terms, term)
		scope_add(to, term);
}

void scope_deinit(struct scope *scope)
{
	vec_each(&scope->terms, term)
		mem_free(term->text);
	vec_deinit(&scope->terms);
}

/* ---- threads ---- */

const char *scope_container(const struct profile_process *process)
{
	return process->container[0] ? process->container : process->cgroup;
}

static bool is_thread(const struct profile *profile, const struct profile_thread *thread,
	const struct scope_term *term)
{
	const struct profile_process *process = &profile->processes.data[thread->process];
	switch (term->kind) {
	case SCOPE_THREAD:
		return thread == &profile->threads.data[term->number];
	case SCOPE_PROCESS:
		return thread->process == term->number;
	case SCOPE_COMM:
		return strcmp(thread->comm, term->text) == 0;
	case SCOPE_CONTAINER:
		return strcmp(scope_container(process), term->text) == 0;
	default:
		return !term->excludes; /* not for threads to say */
	}
}

/* For each thread of the profile whether no term forbids it; to be freed. */
static bool *allowed_threads(const struct scope *scope, const struct profile *profile)
{
	bool *wanted = mem_zalloc_array(profile->threads.len, sizeof(*wanted));
	for (size_t i = 0; i < profile->threads.len; i++) {
		wanted[i] = true;
		vec_each(&scope->terms, term)
			wanted[i] &= is_thread(profile, &profile->threads.data[i], term) !=
				     term->excludes;
	}
	return wanted;
}

/* ---- stacks ---- */

static bool is_of_stacks(const struct scope_term *term)
{
	return term->kind == SCOPE_FUNCTION || term->kind == SCOPE_PATTERN ||
	       term->kind == SCOPE_OBJECT || term->kind == SCOPE_KERNEL;
}

/* For each function, whether its being in a stack meets the term. */
static bool *functions_of(const struct profile *profile, const struct scope_term *term)
{
	bool *meets = mem_zalloc_array(profile->functions.len, sizeof(*meets));
	struct pattern pattern;
	bool has_pattern = term->kind == SCOPE_PATTERN && pattern_init(&pattern, term->text);
	const struct profile_function *wanted =
		term->kind == SCOPE_FUNCTION
			? &profile->functions.data[profile->frames.data[term->number].function]
			: NULL;
	for (size_t i = 0; i < profile->functions.len; i++) {
		const struct profile_function *function = &profile->functions.data[i];
		if (wanted) /* others of the same name are shown as one with it */
			meets[i] = namesakes_are_one(profile->objects.data, function, wanted);
		else if (has_pattern)
			meets[i] = pattern_matches(&pattern, function->name);
		else if (term->kind == SCOPE_OBJECT)
			meets[i] = function->object == term->number;
		else if (term->kind == SCOPE_KERNEL)
			meets[i] = profile_is_kernel(profile, function->object);
	}
	if (has_pattern)
		pattern_deinit(&pattern);
	return meets;
}

/* A node has what its callers have, and its own. */
static void judge_stacks(const struct profile *profile, const struct tree *tree,
	const struct scope_term *term, bool *wanted)
{
	CLEANUP_FREE bool *functions = functions_of(profile, term);
	CLEANUP_FREE bool *has = mem_zalloc_array(tree->nodes.len, sizeof(*has));
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		has[i] = has[node->parent] || functions[node->function];
	}
	for (size_t i = 0; i < tree->nr_stacks; i++)
		wanted[i] &= has[tree->ends[i]] != term->excludes;
}

/* For each stack, likewise. */
static bool *allowed_stacks(
	const struct scope *scope, const struct profile *profile, const struct tree *tree)
{
	bool *wanted = mem_zalloc_array(tree->nr_stacks, sizeof(*wanted));
	memset(wanted, true, tree->nr_stacks * sizeof(*wanted));
	vec_each(&scope->terms, term)
		if (is_of_stacks(term))
			judge_stacks(profile, tree, term, wanted);
	return wanted;
}

/* ---- samples ---- */

static bool is_of_samples(const struct scope_term *term)
{
	return term->kind == SCOPE_CPU || term->kind == SCOPE_TIME;
}

static bool is_sample(const struct profile *profile, const struct profile_sample *sample,
	const struct scope_term *term)
{
	uint64_t at_ns = sample->time_ns - profile->first_ns;
	if (term->kind == SCOPE_CPU)
		return (sample->cpu == term->number) != term->excludes;
	if (term->kind == SCOPE_TIME)
		return (at_ns >= term->from_ns && at_ns < term->to_ns) != term->excludes;
	return true;
}

void scope_walk_init(struct scope_walk *walk, const struct scope *scope,
	const struct profile *profile, const struct tree *tree, const atomic_bool *is_cancelled)
{
	*walk = (struct scope_walk){
		.scope = scope,
		.profile = profile,
		.is_cancelled = is_cancelled,
		.threads = allowed_threads(scope, profile),
		.stacks = allowed_stacks(scope, profile, tree),
	};
	vec_each(&scope->terms, term)
		walk->has_sample_terms |= is_of_samples(term);
}

static bool is_wanted(const struct scope_walk *walk, const struct profile_sample *sample)
{
	bool is_wanted = walk->threads[sample->thread] && walk->stacks[sample->stack];
	for (size_t i = 0; is_wanted && walk->has_sample_terms && i < walk->scope->terms.len; i++)
		is_wanted = is_sample(walk->profile, sample, &walk->scope->terms.data[i]);
	return is_wanted;
}

const struct profile_sample *scope_walk_next(struct scope_walk *walk)
{
	while (walk->next < walk->profile->samples.len) {
		if (walk->next % SAMPLES_BETWEEN_LOOKS == 0 && walk->is_cancelled &&
			atomic_load(walk->is_cancelled))
			return NULL;
		const struct profile_sample *sample = &walk->profile->samples.data[walk->next++];
		if (is_wanted(walk, sample))
			return sample;
	}
	return NULL;
}

void scope_walk_deinit(struct scope_walk *walk)
{
	mem_free(walk->threads);
	mem_free(walk->stacks);
}

void scope_span(const struct scope *scope, const struct profile *profile, uint64_t *from_ns,
	uint64_t *to_ns)
{
	uint64_t from = 0, to = profile->last_ns - profile->first_ns + 1;
	vec_each(&scope->terms, term) {
		if (term->kind != SCOPE_TIME || term->excludes)
			continue;
		from = term->from_ns > from ? term->from_ns : from;
		to = term->to_ns < to ? term->to_ns : to;
	}
	*from_ns = from;
	*to_ns = to > from ? to : from + 1;
}
