#include "report/analyse/scope.h"

#include <string.h>
#include <strings.h>

#include "format/base/path.h"
#include "format/base/str.h"
#include "report/model/label_sets.h"
#include "report/model/pattern.h"
#include "report/name/demangle/demangle.h"
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

bool scope_is_same_term(const struct scope_term *a, const struct scope_term *b)
{
	bool has_same_text = !a->text == !b->text && (!a->text || strcmp(a->text, b->text) == 0);
	return has_same_text && a->kind == b->kind && a->joint == b->joint &&
	       a->excludes == b->excludes && a->number == b->number && a->stack == b->stack &&
	       a->from_ns == b->from_ns && a->to_ns == b->to_ns;
}

bool scope_is_same(const struct scope *a, const struct scope *b)
{
	bool is_same = a->terms.len == b->terms.len;
	for (size_t i = 0; is_same && i < a->terms.len; i++)
		is_same = scope_is_same_term(&a->terms.data[i], &b->terms.data[i]);
	return is_same;
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

bool scope_is_of_names(enum scope_kind kind)
{
	switch (kind) {
	case SCOPE_FUNCTION:
	case SCOPE_OBJECT:
	case SCOPE_THREAD:
	case SCOPE_PROCESS:
	case SCOPE_TID:
	case SCOPE_PID:
	case SCOPE_CPU:
	case SCOPE_THREAD_STACK:
	case SCOPE_TIME:
		return false;
	default:
		return true;
	}
}

/* ---- clauses ---- */

/* A term with those that join it other than by SCOPE_AND: what they are on, the first one says. */
struct clause {
	const struct scope_term *terms;
	size_t count;
};

enum subject {
	STACKS,
	THREADS,
	LABELS,
	EVENTS,
	SAMPLES,
};

static enum subject subject_of(const struct clause *clause)
{
	enum scope_kind kind = clause->terms->kind;
	if (kind <= SCOPE_LANGUAGE)
		return STACKS;
	if (kind <= SCOPE_WITHIN)
		return THREADS;
	if (kind == SCOPE_LABEL)
		return LABELS;
	return kind == SCOPE_EVENT ? EVENTS : SAMPLES;
}

/* From {0} on each; false: there is no other one. */
static bool next_clause(const struct scope *scope, struct clause *clause)
{
	if (!scope->terms.len)
		return false;
	const struct scope_term *end = scope->terms.data + scope->terms.len;
	const struct scope_term *first =
		clause->terms ? clause->terms + clause->count : scope->terms.data;
	*clause = (struct clause){first, 1};
	if (first == end)
		return false;
	while (first + clause->count < end && first[clause->count].joint != SCOPE_AND)
		clause->count++;
	return true;
}

static bool *all_allowed(size_t count)
{
	bool *allowed = mem_zalloc_array(count + 1, sizeof(*allowed));
	memset(allowed, true, count * sizeof(*allowed));
	return allowed;
}

/* ---- threads ---- */

const char *scope_container(const struct profile_process *process)
{
	if (process->container_name[0])
		return process->container_name;
	return process->container[0] ? process->container : process->cgroup;
}

bool scope_is_in_container(const struct profile_process *process, const char *text)
{
	return strcmp(scope_container(process), text) == 0 ||
	       (process->container[0] && strcmp(process->container, text) == 0);
}

const char *scope_pod(const struct profile_process *process)
{
	return process->pod_name[0] ? process->pod_name : process->pod;
}

/* "web" is also meant by itself where others have the name, and ends the name of a pod's. */
static bool is_group_called(const char *name, const char *text)
{
	size_t len = strlen(text);
	for (const char *at = name; *at; at++) {
		bool is_begin = at == name || at[-1] == '/';
		if (is_begin && strncmp(at, text, len) == 0 &&
			(!at[len] || strncmp(at + len, " (", 2) == 0))
			return true;
	}
	return false;
}

/* Of its ID at least as much is wanted as others show of it. */
bool scope_is_within(const struct profile_process *process, const char *text)
{
	enum {
		SHORT_ID = 12
	};
	size_t len = strlen(text);
	if (len && text[0] == '/')
		return strncmp(process->cgroup, text, len) == 0 &&
		       (text[len - 1] == '/' || !process->cgroup[len] ||
			       process->cgroup[len] == '/');
	bool is_named = strcmp(process->container, text) == 0 || strcmp(process->unit, text) == 0 ||
			strcmp(process->pod, text) == 0 ||
			is_group_called(process->container_name, text) ||
			is_group_called(process->pod_name, text);
	return (len && is_named) ||
	       (len >= SHORT_ID && strncmp(process->container, text, len) == 0);
}

bool scope_is_called(const struct profile_thread *thread, const char *name)
{
	enum {
		KERNELS_BYTES = 15, /* TASK_COMM_LEN, without the end */
	};
	size_t len = strlen(name);
	return strncmp(thread->comm, name, len) == 0 &&
	       (!thread->comm[len] || len == KERNELS_BYTES);
}

/* `pattern` is that of the term; NULL: it has none. */
static bool is_thread(const struct profile *profile, uint32_t index, const struct scope_term *term,
	const struct pattern *pattern)
{
	const struct profile_thread *thread = &profile->threads.data[index];
	const struct profile_process *process = &profile->processes.data[thread->process];
	switch (term->kind) {
	case SCOPE_THREAD:
		return thread->first == profile->threads.data[term->number].first;
	case SCOPE_PROCESS:
		return process->first == profile->processes.data[term->number].first;
	case SCOPE_TID:
		return thread->tid == term->number;
	case SCOPE_PID:
		return thread->pid == term->number;
	case SCOPE_COMM:
		return scope_is_called(thread, term->text);
	case SCOPE_COMM_PATTERN:
		return pattern && pattern_matches(pattern, thread->comm);
	case SCOPE_CONTAINER:
		return scope_is_in_container(process, term->text);
	default:
		return scope_is_within(process, term->text);
	}
}

/* Adds the threads that meet the term. */
static void scope_add_threads(
	const struct profile *profile, const struct scope_term *term, bool *meets)
{
	struct pattern pattern;
	bool has_pattern = term->kind == SCOPE_COMM_PATTERN && pattern_init(&pattern, term->text);
	for (uint32_t i = 0; i < profile->threads.len; i++)
		meets[i] = meets[i] || is_thread(profile, i, term, has_pattern ? &pattern : NULL);
	if (has_pattern)
		pattern_deinit(&pattern);
}

static void allow_threads(const struct profile *profile, const struct clause *clause, bool *allowed)
{
	size_t count = profile->threads.len;
	CLEANUP_FREE bool *meets = mem_zalloc_array(count + 1, sizeof(*meets));
	for (size_t k = 0; k < clause->count; k++)
		scope_add_threads(profile, &clause->terms[k], meets);
	for (size_t i = 0; i < count; i++)
		allowed[i] &= meets[i] != clause->terms->excludes;
}

/* ---- labels ---- */

/* Any key may hold a "=": the first one that makes the two parts a label of the set counts. */
bool scope_is_labelled(const struct profile *profile, uint32_t set, const char *text)
{
	if (label_sets_find(profile, set, text))
		return true;
	for (const char *at = text; (at = strchr(at, '=')); at++) {
		CLEANUP_FREE char *key = mem_strndup(text, (size_t)(at - text));
		uint32_t label = label_sets_find(profile, set, key);
		if (label && label_has_value(profile, label, at + 1))
			return true;
	}
	return false;
}

static void allow_labels(const struct profile *profile, const struct clause *clause, bool *allowed)
{
	for (uint32_t i = 0; i < profile->labels.len; i++) {
		bool meets = false;
		for (size_t k = 0; k < clause->count && !meets; k++)
			meets = scope_is_labelled(profile, i, clause->terms[k].text);
		allowed[i] &= meets != clause->terms->excludes;
	}
}

/* ---- events ---- */

/* Of "page-faults/period=10/" without what stands between the last slashes. */
static size_t length_without_terms(const char *name)
{
	size_t len = strlen(name), at;
	if (len < 2 || name[len - 1] != '/')
		return len;
	for (at = len - 1; at && name[at - 1] != '/'; at--)
		;
	return at > 1 ? at - 1 : len;
}

static bool ends_with_event(const char *name, size_t len, const char *text)
{
	size_t wanted = strlen(text);
	if (!wanted || wanted > len || memcmp(name + len - wanted, text, wanted) != 0)
		return false;
	return wanted == len || name[len - wanted - 1] == ':';
}

/* As it is recorded, "duration:./a/b:function", what is called "duration:b:function". */
static void put_without_folders(const char *text, struct str *out)
{
	const char *path = strchr(text, ':'), *end = path ? strchr(path + 1, ':') : NULL;
	const char *folders_end = end ? memrchr(path, '/', (size_t)(end - path)) : NULL;
	if (folders_end)
		str_write(out, text, (size_t)(path + 1 - text));
	str_puts(out, folders_end ? folders_end + 1 : text);
}

static bool is_event_called(const char *name, const char *text)
{
	return ends_with_event(name, strlen(name), text) ||
	       ends_with_event(name, length_without_terms(name), text);
}

bool scope_is_event(const char *name, const char *text)
{
	CLEANUP(str_deinit) struct str word = {0};
	put_without_folders(text, &word);
	return is_event_called(name, text) || is_event_called(name, str_text(&word));
}

static void allow_events(const struct profile *profile, const struct clause *clause, bool *allowed)
{
	const struct profile_event *events = profile->events.data;
	for (size_t i = 0; i < profile->events.len; i++) {
		bool meets = false;
		for (size_t k = 0; k < clause->count && !meets; k++) {
			const char *text = clause->terms[k].text;
			meets = scope_is_event(events[i].name, text) ||
				(events[i].part_of &&
					scope_is_event(events[events[i].part_of].name, text));
		}
		allowed[i] &= meets != clause->terms->excludes;
	}
}

/* ---- functions ---- */

/* "foo" also means "foo(int)" and "foo<int>(int)". */
static bool scope_is_name(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);
	return strncmp(name, wanted, len) == 0 &&
	       (name[len] == '\0' || name[len] == '(' || name[len] == '<');
}

/* By the name that is shown, by the linker's, by the whole one, of which less may be shown. */
static bool is_symbol(const struct profile_function *function, const char *text)
{
	CLEANUP(str_deinit) struct str whole = {0};
	return scope_is_name(function->name, text) || namesakes_are_shown_as(function, text) ||
	       strcmp(function->system_name, text) == 0 ||
	       (demangle(function->system_name, DEMANGLE_FULL, &whole) &&
		       scope_is_name(str_text(&whole), text));
}

static bool scope_is_function(const struct profile *profile,
	const struct profile_function *function, const struct scope_term *term,
	const struct pattern *pattern)
{
	const struct profile_object *object = &profile->objects.data[function->object];
	switch (term->kind) {
	case SCOPE_PATTERN:
		return pattern && pattern_matches(pattern, function->name);
	case SCOPE_SYMBOL:
		return is_symbol(function, term->text);
	case SCOPE_OBJECT:
		return function->object == term->number;
	case SCOPE_FILE_PATTERN:
		return pattern && (pattern_matches(pattern, object->name) ||
					  pattern_matches(pattern, path_last_part(object->name)));
	case SCOPE_FILE:
		return strcmp(object->name, term->text) == 0 ||
		       path_ends_with(object->path, term->text);
	default:
		return profile_is_kernel(profile, function->object);
	}
}

/* Those that are shown as one with the function of a frame. */
static void scope_add_namesakes(const struct profile *profile, uint32_t frame, bool *meets)
{
	const struct profile_function *all = profile->functions.data;
	uint32_t number = profile->frames.data[frame].function, wanted = 0;
	VEC(struct profile_function) called_so = {0};
	VEC(uint32_t) numbers = {0};
	for (uint32_t i = 0; i < profile->functions.len; i++) {
		if (all[i].object != all[number].object ||
			strcmp(all[i].name, all[number].name) != 0)
			continue;
		wanted = i == number ? (uint32_t)numbers.len : wanted;
		vec_push(&called_so, all[i]);
		vec_push(&numbers, i);
	}
	CLEANUP_FREE uint32_t *groups = namesakes_group(called_so.data, called_so.len);
	for (size_t i = 0; i < numbers.len; i++)
		meets[numbers.data[i]] |= groups[i] == groups[wanted];
	vec_deinit(&called_so);
	vec_deinit(&numbers);
}

/* Adds the functions that meet the term. */
static void scope_add_functions(
	const struct profile *profile, const struct scope_term *term, bool *meets)
{
	if (term->kind == SCOPE_FUNCTION) {
		scope_add_namesakes(profile, term->number, meets);
		return;
	}
	struct pattern pattern;
	bool is_pattern = term->kind == SCOPE_PATTERN || term->kind == SCOPE_FILE_PATTERN;
	bool has_pattern = is_pattern && pattern_init(&pattern, term->text);
	for (size_t i = 0; i < profile->functions.len; i++)
		meets[i] = meets[i] || scope_is_function(profile, &profile->functions.data[i], term,
					       has_pattern ? &pattern : NULL);
	if (has_pattern)
		pattern_deinit(&pattern);
}

/* For each function whether it meets the clause; to be freed. */
static bool *functions_of(const struct profile *profile, const struct clause *clause)
{
	size_t count = profile->functions.len;
	bool *all = all_allowed(count);
	CLEANUP_FREE bool *either = mem_zalloc_array(count + 1, sizeof(*either));
	for (size_t k = 0; k < clause->count; k++) {
		scope_add_functions(profile, &clause->terms[k], either);
		if (k + 1 < clause->count && clause->terms[k + 1].joint == SCOPE_OR)
			continue;
		for (size_t i = 0; i < count; i++)
			all[i] &= either[i];
		memset(either, false, count * sizeof(*either));
	}
	return all;
}

bool *scope_functions(const struct scope *scope, const struct profile *profile)
{
	bool *allowed = all_allowed(profile->functions.len);
	struct clause clause = {0};
	while (next_clause(scope, &clause)) {
		CLEANUP_FREE bool *meets = functions_of(profile, &clause);
		for (size_t i = 0; i < profile->functions.len; i++)
			allowed[i] &= meets[i] != clause.terms->excludes;
	}
	return allowed;
}

/* ---- stacks ---- */

/* An object of scripts is called "[python]". */
bool scope_is_language(const struct profile_object *object, const char *text)
{
	size_t len = strlen(text);
	return object->info.kind == LAYOUT_OBJECT_SCRIPT && object->path[0] == '[' &&
	       strncasecmp(object->path + 1, text, len) == 0 && object->path[1 + len] == ']';
}

/* By the frame's object, which is known before functions are. */
static bool scope_is_script(const struct profile *profile, const struct profile_frame *frame,
	const struct clause *clause)
{
	for (size_t k = 0; k < clause->count; k++)
		if (scope_is_language(&profile->objects.data[frame->object], clause->terms[k].text))
			return true;
	return false;
}

/* For each recorded frame whether it, or what was inlined there, meets the clause; to be freed. */
static bool *scope_frames_of(
	const struct profile *profile, const struct clause *clause, bool hides_inlined)
{
	const struct profile_frame *frames = profile->frames.data;
	bool is_of_scripts = clause->terms->kind == SCOPE_LANGUAGE;
	CLEANUP_FREE bool *functions = is_of_scripts ? NULL : functions_of(profile, clause);
	bool *meets = mem_zalloc_array(profile->frames.len + 1, sizeof(*meets));
	for (uint32_t i = 1; i < profile->frames.len; i++) {
		if (frames[i].outer && hides_inlined)
			continue;
		if (is_of_scripts ? !scope_is_script(profile, &frames[i], clause)
				  : !functions[frames[i].function])
			continue;
		uint32_t recorded = i;
		while (frames[recorded].outer)
			recorded = frames[recorded].outer;
		meets[recorded] = true;
	}
	return meets;
}

/* A node has what its callers have, and its own. */
static void allow_stacks(const struct profile *profile, const struct scope_stacks *stacks,
	const struct clause *clause, bool *allowed)
{
	const struct profile *shown = stacks ? stacks->profile : profile;
	CLEANUP_FREE bool *frames =
		scope_frames_of(profile, clause, stacks && stacks->hides_inlined);
	CLEANUP_FREE bool *has = mem_zalloc_array(shown->nodes.len + 1, sizeof(*has));
	for (size_t i = 1; i < shown->nodes.len; i++) {
		const struct layout_node *node = &shown->nodes.data[i];
		has[i] = has[node->parent] || frames[node->frame];
	}
	for (size_t i = 0; i < shown->stacks.len; i++) {
		const struct profile_stack *stack = &shown->stacks.data[i];
		bool meets = has[stack->user] || has[stack->kernel] || has[stack->root];
		allowed[i] &= meets != clause->terms->excludes;
	}
}

/* ---- samples ---- */

/* How long a sample takes, up to its time: a wait does, unless it stands for others like it. */
static uint64_t known_length_ns(const struct profile *profile, const struct profile_sample *sample)
{
	const struct profile_event *event = &profile->events.data[sample->event];
	uint64_t at_ns = sample->time_ns - profile->first_ns;
	if (!event->wait || event->period || sample->is_estimate)
		return 0;
	return sample->weight < at_ns ? sample->weight : at_ns;
}

static bool is_at_time(const struct profile *profile, const struct profile_sample *sample,
	const struct scope_term *term)
{
	uint64_t at_ns = sample->time_ns - profile->first_ns;
	uint64_t length_ns = term->excludes ? 0 : known_length_ns(profile, sample);
	return (length_ns ? at_ns > term->from_ns : at_ns >= term->from_ns) &&
	       at_ns - length_ns < term->to_ns;
}

/* By any waker; UINT32_MAX: none is it any more. */
static bool is_of_stack_of_wait(const struct profile *profile, uint32_t stack, uint32_t wanted)
{
	const struct profile_stack *it = &profile->stacks.data[stack];
	return wanted < profile->stacks.len && it->user == profile->stacks.data[wanted].user &&
	       it->kernel == profile->stacks.data[wanted].kernel;
}

static bool is_sample(const struct profile *profile, const struct profile_sample *sample,
	const struct scope_term *term)
{
	if (term->kind == SCOPE_CPU)
		return sample->cpu == term->number;
	if (term->kind == SCOPE_THREAD_STACK)
		return profile->threads.data[sample->thread].first == term->number &&
		       is_of_stack_of_wait(profile, sample->stack, term->stack);
	return is_at_time(profile, sample, term);
}

static bool allows_sample(const struct scope_walk *walk, const struct profile_sample *sample)
{
	struct clause clause = {0};
	while (next_clause(walk->scope, &clause)) {
		bool meets = false;
		if (subject_of(&clause) != SAMPLES)
			continue;
		for (size_t k = 0; k < clause.count && !meets; k++)
			meets = is_sample(walk->profile, sample, &clause.terms[k]);
		if (meets == clause.terms->excludes)
			return false;
	}
	return true;
}

void scope_walk_init(struct scope_walk *walk, const struct scope *scope,
	const struct profile *profile, const struct scope_stacks *stacks,
	const atomic_bool *is_cancelled)
{
	*walk = (struct scope_walk){
		.scope = scope,
		.profile = profile,
		.is_cancelled = is_cancelled,
		.threads = all_allowed(profile->threads.len),
		.events = all_allowed(profile->events.len),
		.stacks = all_allowed(profile->stacks.len),
		.labels = all_allowed(profile->labels.len),
	};
	scope_span(scope, profile, &walk->from_ns, &walk->to_ns);
	struct clause clause = {0};
	while (next_clause(scope, &clause)) {
		enum subject subject = subject_of(&clause);
		if (subject == THREADS)
			allow_threads(profile, &clause, walk->threads);
		else if (subject == LABELS)
			allow_labels(profile, &clause, walk->labels);
		else if (subject == EVENTS)
			allow_events(profile, &clause, walk->events);
		else if (subject == STACKS)
			allow_stacks(profile, stacks, &clause, walk->stacks);
		else
			walk->has_sample_terms = true;
	}
}

static bool is_allowed(const struct scope_walk *walk, const struct profile_sample *sample)
{
	return walk->threads[sample->thread] && walk->events[sample->event] &&
	       walk->stacks[sample->stack] && walk->labels[sample->labels] &&
	       (!walk->has_sample_terms || allows_sample(walk, sample));
}

const struct profile_sample *scope_walk_next(struct scope_walk *walk)
{
	while (walk->next < walk->profile->samples.len) {
		if (walk->next % SAMPLES_BETWEEN_LOOKS == 0 && walk->is_cancelled &&
			atomic_load(walk->is_cancelled))
			return NULL;
		const struct profile_sample *sample = &walk->profile->samples.data[walk->next++];
		if (is_allowed(walk, sample))
			return sample;
	}
	return NULL;
}

struct profile_sample scope_walk_part(
	const struct scope_walk *walk, const struct profile_sample *sample)
{
	uint64_t end_ns = sample->time_ns - walk->profile->first_ns;
	uint64_t length_ns = known_length_ns(walk->profile, sample);
	struct profile_sample part = *sample;
	uint64_t begin_ns = end_ns - length_ns;
	if (!length_ns || (begin_ns >= walk->from_ns && end_ns < walk->to_ns))
		return part;
	begin_ns = begin_ns > walk->from_ns ? begin_ns : walk->from_ns;
	if (end_ns >= walk->to_ns) /* in time order, it is the last */
		part.time_ns = walk->profile->first_ns + walk->to_ns - 1;
	end_ns = end_ns < walk->to_ns ? end_ns : walk->to_ns;
	part.weight = end_ns > begin_ns ? end_ns - begin_ns : 0;
	return part;
}

void scope_walk_deinit(struct scope_walk *walk)
{
	mem_free(walk->threads);
	mem_free(walk->events);
	mem_free(walk->stacks);
	mem_free(walk->labels);
}

void scope_drop(const struct scope *scope, struct profile *profile)
{
	struct scope_walk walk;
	size_t kept = 0;
	if (!scope->terms.len)
		return;
	scope_walk_init(&walk, scope, profile, NULL, NULL);
	for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));)
		profile->samples.data[kept++] = scope_walk_part(&walk, sample);
	scope_walk_deinit(&walk);
	profile->samples.len = kept;
}

uint64_t scope_count(const struct scope *scope, const struct profile *profile)
{
	struct scope_walk walk;
	uint64_t count = 0;
	if (!scope->terms.len)
		return profile->samples.len;
	scope_walk_init(&walk, scope, profile, NULL, NULL);
	while (scope_walk_next(&walk))
		count++;
	scope_walk_deinit(&walk);
	return count;
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
