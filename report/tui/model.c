#include "report/tui/model.h"

#include <string.h>

#include "format/base/str.h"
#include "report/analyse/flat_weights.h"
#include "report/analyse/function_order.h"
#include "report/analyse/hidden_frames.h"
#include "report/name/namesakes.h"

void model_wish_copy(struct model_wish *to, const struct model_wish *from)
{
	*to = *from;
	scope_copy(&to->scope, &from->scope);
	to->search = from->search ? mem_strdup(from->search) : NULL;
	to->baseline = from->baseline ? mem_strdup(from->baseline) : NULL;
}

void model_wish_deinit(struct model_wish *wish)
{
	scope_deinit(&wish->scope);
	mem_free(wish->search);
	mem_free(wish->baseline);
	*wish = (struct model_wish){0};
}

/* ---- names ---- */

static void tell_namesakes_apart(struct model_names *names)
{
	CLEANUP(str_deinit) struct str text = {0};
	CLEANUP_FREE uint8_t *nr_parts =
		namesakes_find(names->functions.data, names->functions.len, &names->groups);
	for (size_t i = 0; i < names->functions.len; i++) {
		struct profile_function *function = &names->functions.data[i];
		if (!nr_parts[i])
			continue;
		str_truncate(&text, 0);
		namesakes_put_name(function, nr_parts[i], &text);
		uint32_t id = strtab_intern(&names->written, str_text(&text), text.len);
		function->name = strtab_get(&names->written, id);
	}
}

static bool are_several_languages(const struct model_names *names)
{
	unsigned seen = 0;
	for (size_t i = 1; i < names->functions.len; i++)
		if (frame_kind_is_script((enum frame_kind)names->kinds[i]))
			seen |= 1u << names->kinds[i];
	return seen & (seen - 1);
}

struct model_names *model_names_create_flat(const struct profile *profile, unsigned serial)
{
	struct model_names *names = mem_zalloc(sizeof(*names));
	names->references = 1;
	names->serial = serial;
	vec_append(&names->functions, profile->functions.data, profile->functions.len);
	vec_append(&names->frames, profile->frames.data, profile->frames.len);
	vec_append(&names->objects, profile->objects.data, profile->objects.len);
	vec_each(&names->objects, object)
		object->chains = (struct chain_map){0};
	event_choices_init(&names->events, profile);
	tell_namesakes_apart(names);
	names->kinds = frame_kinds_of_functions(names->functions.data, names->functions.len,
		names->objects.data, names->objects.len);
	names->has_languages = are_several_languages(names);
	names->has_scripts = hidden_frames_have_scripts(names->objects.data, names->objects.len);
	names->has_kernel = hidden_frames_have_kernel(names->objects.data, names->objects.len);
	return names;
}

/* What is shown before it is grouped. */
static const struct profile *shown_profile(
	const struct model_names *names, const struct profile *profile)
{
	return names->shortened ? names->shortened : profile;
}

static void grow_tree(struct model_names *names, const struct profile *stacks)
{
	struct tree_options options = {
		.groups = names->groups,
		.hides_inlined = names->hides_inlined,
		.has_groups = names->groups_of,
	};
	tree_init(&names->tree, stacks, &options);
}

struct model_names *model_names_create(
	const struct profile *profile, unsigned serial, bool hides_inlined)
{
	struct model_names *names = model_names_create_flat(profile, serial);
	names->hides_inlined = hides_inlined;
	names->grouping = GROUPING_NONE;
	grow_tree(names, profile);
	return names;
}

static const enum root_kind root_kinds[GROUPINGS] = {
	[GROUPING_USUAL] = ROOT_KIND_COUNT,
	[GROUPING_NONE] = ROOT_KIND_COUNT,
	[GROUPING_PROCESS] = ROOT_PROCESS,
	[GROUPING_THREAD] = ROOT_THREAD,
	[GROUPING_CONTAINER] = ROOT_CONTAINER,
	[GROUPING_FILE] = ROOT_FILE,
	[GROUPING_EVENT] = ROOT_EVENT,
};

const char *model_grouping_word(enum grouping grouping)
{
	return root_kinds[grouping] == ROOT_KIND_COUNT ? NULL
						       : root_kind_word(root_kinds[grouping]);
}

enum grouping model_grouping(const struct profile *profile, const struct model_wish *wish)
{
	if (wish->baseline)
		return GROUPING_NONE;
	if (wish->grouping != GROUPING_USUAL)
		return wish->grouping;
	const char *target = profile_meta(profile, LAYOUT_META_TARGET);
	bool is_of_system = target && strcmp(target, LAYOUT_TARGET_SYSTEM) == 0;
	return is_of_system ? GROUPING_PROCESS : GROUPING_NONE;
}

void model_reserve_groups(struct profile *profile, struct root_frames *roots)
{
	for (int i = 0; i < GROUPINGS; i++)
		if (root_kinds[i] != ROOT_KIND_COUNT)
			roots_reserve(profile, roots, root_kinds[i]);
}

struct model_names *model_names_create_for(struct profile *profile, unsigned serial,
	const struct model_wish *wish, struct root_frames *roots)
{
	enum grouping grouping = model_grouping(profile, wish);
	unsigned hidden =
		(wish->hides_native ? HIDDEN_NATIVE : 0) | (wish->hides_kernel ? HIDDEN_KERNEL : 0);
	struct profile *shortened = hidden ? hidden_frames_beside(profile, hidden) : NULL;
	const struct profile *shown = shortened ? shortened : profile;
	struct planted *planted = NULL;
	if (grouping != GROUPING_NONE)
		planted = roots_plant_beside(profile, shown, roots, root_kinds[grouping]);
	struct model_names *names = model_names_create_flat(profile, serial);
	names->hides_inlined = wish->hides_inlined;
	names->shortened = shortened;
	names->hides_native = wish->hides_native;
	names->hides_kernel = wish->hides_kernel;
	names->grouping = grouping;
	names->groups_of = planted;
	grow_tree(names, planted ? planted->profile : shown);
	return names;
}

bool model_names_are_for(const struct profile *profile, const struct model_names *names,
	const struct model_wish *wish)
{
	return names->hides_inlined == wish->hides_inlined &&
	       names->hides_native == wish->hides_native &&
	       names->hides_kernel == wish->hides_kernel &&
	       names->grouping == model_grouping(profile, wish);
}

uint32_t model_names_event(const struct model_names *names, const struct model_wish *wish)
{
	return wish->event ? wish->event : names->events.list.data[names->events.main].event;
}

struct scope_stacks model_names_stacks(
	const struct model_names *names, const struct profile *profile)
{
	return (struct scope_stacks){
		.profile = shown_profile(names, profile),
		.hides_inlined = names->hides_inlined,
	};
}

/* The groups were made of whole names: what is shown alike is not one function. */
void model_names_write(struct model_names *names, const struct model_look *look)
{
	names->look = *look;
	CLEANUP(str_deinit) struct str text = {0};
	for (size_t i = 0; look->demangle != DEMANGLE_USUAL && i < names->functions.len; i++) {
		struct profile_function *function = &names->functions.data[i];
		str_truncate(&text, 0);
		bool is_mangled = strcmp(function->name, function->system_name) != 0;
		if (!is_mangled || !demangle(function->system_name, look->demangle, &text))
			continue;
		uint32_t id = strtab_intern(&names->written, str_text(&text), text.len);
		function->name = strtab_get(&names->written, id);
	}
	vec_each(&names->objects, object)
		if (look->has_paths)
			object->name = object->path;
}

struct model_names *model_names_hold(struct model_names *names)
{
	atomic_fetch_add(&names->references, 1);
	return names;
}

void model_names_release(struct model_names *names)
{
	if (!names || atomic_fetch_sub(&names->references, 1) > 1)
		return;
	if (names->diff) {
		diff_tree_deinit(names->diff);
		mem_free(names->diff);
	} else {
		vec_deinit(&names->functions);
		vec_deinit(&names->frames);
		vec_deinit(&names->objects);
		event_choices_deinit(&names->events);
		tree_deinit(&names->tree);
	}
	profile_destroy_beside(names->shortened);
	planted_destroy(names->groups_of);
	strtab_deinit(&names->written);
	mem_free(names->groups);
	mem_free(names->kinds);
	mem_free(names);
}

/* ---- models ---- */

void model_find_matches(struct model *model, const char *search)
{
	struct pattern pattern;
	if (!search || !search[0] || !pattern_init(&pattern, search))
		return;
	size_t count = model->names->functions.len;
	model->matches = mem_zalloc_array(count, sizeof(*model->matches));
	for (size_t i = 0; i < count; i++)
		model->matches[i] = pattern_matches(&pattern, model->names->functions.data[i].name);
	pattern_deinit(&pattern);
	for (size_t i = 0; i < model->functions.len; i++)
		model->nr_matches += model->matches[model->functions.data[i].function];
	const struct tree *tree = &model->names->tree;
	uint32_t group = tree->has_groups ? tree->nodes.data[0].first_child : 0;
	for (; group; group = tree->nodes.data[group].next_sibling)
		model->nr_matches += model->weights[group].samples &&
				     model->matches[tree->nodes.data[group].function];
}

/* Samples of the outermost matches, so that each counts once. */
static void weigh_matches(struct model *model)
{
	const struct tree *tree = &model->names->tree;
	CLEANUP_FREE bool *has = mem_zalloc_array(tree->nodes.len, sizeof(*has));
	for (size_t i = 1; model->matches && i < tree->nodes.len; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		has[i] = has[node->parent] || model->matches[node->function];
		if (!has[i] || has[node->parent])
			continue;
		model->matched.value += model->weights[i].total;
		model->matched.samples += model->weights[i].samples;
	}
}

/*
 * One pass over the samples for all that is summed of them; `grouped` gets them by the stacks of
 * the tree, where these are not the model's slice's. False when it was cancelled.
 */
static bool sum_samples(struct model *model, const struct scope *scope,
	const atomic_bool *is_cancelled, struct slice *grouped)
{
	const struct planted *planted = model->names->groups_of;
	const struct profile *profile = model->profile;
	uint64_t from_ns, to_ns;
	scope_span(scope, profile, &from_ns, &to_ns);
	slice_init(&model->slice, profile);
	if (planted)
		slice_init(grouped, planted->profile);
	timeline_init(&model->timeline, profile, from_ns, to_ns);
	struct scope_walk walk;
	struct scope_stacks stacks = model_names_stacks(model->names, profile);
	scope_walk_init(&walk, scope, profile, &stacks, is_cancelled);
	for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));) {
		if (!profile_event_has(profile, model->event, sample->event))
			continue;
		const struct profile_sample part = scope_walk_part(&walk, sample);
		uint64_t value = profile_sample_value(profile, &part);
		slice_add(&model->slice, sample->stack, value);
		if (planted)
			slice_add(
				grouped, planted->stack_of[sample - profile->samples.data], value);
		timeline_add(&model->timeline, profile, &part);
	}
	scope_walk_deinit(&walk);
	return !is_cancelled || !atomic_load(is_cancelled);
}

static void model_annotate(struct model *model, uint32_t frame, const atomic_bool *is_cancelled)
{
	uint32_t function = model_function_of(model, frame);
	struct annotation_names names = {
		.frames = model->names->frames.data,
		.nr_frames = model->names->frames.len,
		.functions = model->names->functions.data,
		.groups = model->names->groups,
		.hides_inlined = model->names->hides_inlined,
	};
	if (function)
		model->annotation =
			annotation_create(model_names_stacks(model->names, model->profile).profile,
				&names, &model->slice, function, is_cancelled);
}

static void model_weigh_unnamed(struct model *model)
{
	vec_each(&model->functions, row)
		if (!model->names->functions.data[row->function].is_known)
			model->unnamed += row->self;
}

static struct model *begin_model(
	const struct profile *profile, struct model_names *names, const struct model_wish *wish)
{
	struct model *model = mem_zalloc(sizeof(*model));
	model->references = 1;
	model->wish_serial = wish->serial;
	model->profile = profile;
	model->names = model_names_hold(names);
	model->event = model_names_event(names, wish);
	return model;
}

struct model *model_create_flat(const struct profile *profile, struct model_names *names,
	const struct model_wish *wish, struct slice *slice)
{
	bool is_searching = wish->search && wish->search[0];
	if (wish->event || wish->scope.terms.len || is_searching || wish->hides_inlined ||
		wish->hides_native || wish->hides_kernel || wish->grouping != GROUPING_USUAL)
		return NULL;
	struct model *model = begin_model(profile, names, wish);
	struct tree_options options = {.groups = names->groups};
	model->is_flat = true;
	model->names_follow = true;
	model->slice = *slice;
	*slice = (struct slice){0};
	if (flat_weigh_functions(profile, &options, &model->slice, &model->functions)) {
		model_weigh_unnamed(model);
		return model;
	}
	model_release(model);
	return NULL;
}

/* What is summed of samples, and nothing else. NULL when it was cancelled. */
static struct model *sums_create(const struct profile *profile, struct model_names *names,
	const struct model_wish *wish, const atomic_bool *is_cancelled)
{
	struct model *sums = begin_model(profile, names, wish);
	CLEANUP(slice_deinit) struct slice grouped = {0};
	scope_copy(&sums->scope, &wish->scope);
	if (!sum_samples(sums, &wish->scope, is_cancelled, &grouped)) {
		model_release(sums);
		return NULL;
	}
	timeline_finish(&sums->timeline);
	tasks_init(&sums->tasks, profile, &sums->timeline);
	sums->weights = tree_weigh(&names->tree, names->groups_of ? &grouped : &sums->slice);
	tree_weigh_functions(&names->tree, sums->weights, names->frames.data, names->functions.len,
		&sums->functions);
	if (names->groups_of)
		tree_weigh_groups(&names->tree, sums->weights, names->frames.data,
			names->functions.len, &sums->of_groups);
	model_weigh_unnamed(sums);
	sums->stacks = stack_counts_of_slice(profile, &sums->slice);
	return sums;
}

static bool are_sums_of(
	const struct model *sums, const struct model_names *names, const struct model_wish *wish)
{
	return sums->names == names && sums->event == model_names_event(names, wish) &&
	       scope_is_same(&sums->scope, &wish->scope);
}

struct model *model_renew(struct model *former, const struct profile *profile,
	struct model_names *names, const struct model_wish *wish, const atomic_bool *is_cancelled)
{
	struct model *sums = former && are_sums_of(former, names, wish)
				     ? model_hold(former)
				     : sums_create(profile, names, wish, is_cancelled);
	if (!sums)
		return NULL;
	struct model *model = begin_model(profile, names, wish);
	model->sums = sums; /* and its, from here on */
	model->slice = sums->slice;
	model->weights = sums->weights;
	model->functions = sums->functions;
	model->of_groups = sums->of_groups;
	model->unnamed = sums->unnamed;
	model->stacks = sums->stacks;
	model->timeline = sums->timeline;
	model->tasks = sums->tasks;
	model_find_matches(model, wish->search);
	weigh_matches(model);
	model_annotate(model, wish->annotated, is_cancelled);
	return model;
}

struct model *model_create(const struct profile *profile, struct model_names *names,
	const struct model_wish *wish, const atomic_bool *is_cancelled)
{
	return model_renew(NULL, profile, names, wish, is_cancelled);
}

struct model *model_hold(struct model *model)
{
	atomic_fetch_add(&model->references, 1);
	return model;
}

static void comparison_destroy(struct comparison *comparison)
{
	if (!comparison)
		return;
	mem_free(comparison->path);
	mem_free(comparison->problem);
	str_deinit(&comparison->notes);
	compare_deinit(&comparison->compare);
	model_release(comparison->both);
	for (int side = 0; side < MATCH_SIDES; side++)
		mem_free(comparison->sides[side]);
	mem_free(comparison);
}

static void model_free_sums(struct model *model)
{
	scope_deinit(&model->scope);
	slice_deinit(&model->slice);
	timeline_deinit(&model->timeline);
	tasks_deinit(&model->tasks);
	mem_free(model->weights);
	vec_deinit(&model->functions);
	vec_deinit(&model->of_groups);
}

void model_release(struct model *model)
{
	if (!model || atomic_fetch_sub(&model->references, 1) > 1)
		return;
	if (model->sums)
		model_release(model->sums);
	else
		model_free_sums(model);
	mem_free(model->matches);
	annotation_destroy(model->annotation);
	comparison_destroy(model->comparison);
	model_names_release(model->names);
	mem_free(model);
}

uint32_t model_function_of(const struct model *model, uint32_t frame)
{
	const struct model_names *names = model->names;
	return frame && frame < names->frames.len
		       ? names->groups[names->frames.data[frame].function]
		       : 0;
}

const struct profile_function *model_function(const struct model *model, uint32_t function)
{
	return &model->names->functions.data[function];
}

const struct profile_object *model_object(const struct model *model, uint32_t object)
{
	return &model->names->objects.data[object];
}

static bool model_word_of(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	const struct model *model = context;
	const struct function_weight *weight = &model->functions.data[element];
	struct function_rank rank = {
		.self = weight->self,
		.total = weight->total,
		.kind = (enum frame_kind)model->names->kinds[weight->function],
		.function = model_function(model, weight->function),
	};
	return function_order_word(&rank, FUNCTION_ORDER_SELF, index, ret);
}

struct word_order model_hottest_first(const struct model *model)
{
	return (struct word_order){.word = model_word_of, .context = model};
}

struct profile model_profile_with_names(const struct model *model)
{
	const struct model_names *names = model->names;
	struct profile named = *model->profile;
	named.functions.data = names->functions.data;
	named.functions.len = names->functions.len;
	named.frames.data = names->frames.data;
	named.frames.len = names->frames.len;
	named.objects.data = names->objects.data;
	named.objects.len = names->objects.len;
	return named;
}
