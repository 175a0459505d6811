#include "report/analyse/roots.h"

#include <string.h>

#include "report/analyse/scope.h"
#include "report/model/label_sets.h"
#include "report/model/process_names.h"

/* What tells samples of one thread apart, where roots are of it. */
enum part {
	PART_LABELS,
	PART_CPU,
	PART_FILE,
	PART_EVENT,
	PARTS,
};

struct planter {
	struct profile *profile;     /* of the samples; it gets the frames of the roots */
	const struct profile *shown; /* of the stacks that are planted: it, or one beside it */
	struct profile *planted;     /* which gets the nodes of the roots: likewise */
	const struct roots *roots;
	struct root_frames *frames;
	struct process_names names;
	uint32_t *files;           /* of each stack that is shown: the object of its leaf */
	bool has[PARTS];           /* among the roots */
	struct map numbers[PARTS]; /* number of the parts before << 32 | this one -> a number */
	struct map chains;         /* number of thread and parts -> innermost node of the roots */
	struct map nodes;          /* of profile_add_node() */
	struct map stacks;         /* old stack << 32 | innermost node -> new stack */
	VEC(struct profile_stack) stacks_planted;
};

const char *root_kind_word(enum root_kind kind)
{
	static const char *const words[] = {
#define X(kind, word) word,
		ROOT_KINDS(X)
#undef X
	};
	return words[kind];
}

/* ---- names ---- */

static void roots_put_label(
	const struct profile *profile, uint32_t set, const char *key, struct str *out)
{
	uint32_t label = key ? label_sets_find(profile, set, key) : 0;
	if (!key)
		label_sets_put(profile, set, out);
	if (!label)
		return;
	str_printf(out, "%s=", key);
	label_put_value(profile, label, out);
}

/* Of one name and unit, where a recording was merged. */
static uint32_t roots_event_of(const struct profile *profile, const struct profile_sample *sample)
{
	uint32_t first = profile->events.data[sample->event].first;
	return first ? first : sample->event;
}

static void roots_put_name(const struct planter *planter, uint32_t root,
	const struct profile_sample *sample, struct str *out)
{
	const struct profile *profile = planter->profile;
	const struct profile_thread *thread = &profile->threads.data[sample->thread];
	const struct profile_process *process = &profile->processes.data[thread->process];
	switch (planter->roots->kinds[root]) {
	case ROOT_PROCESS:
		process_names_put(&planter->names, thread, out);
		str_printf(out, ":%u", thread->pid);
		break;
	case ROOT_THREAD:
		str_printf(out, "%s:%u", thread->comm, thread->tid);
		break;
	case ROOT_COMM:
		str_puts(out, thread->comm);
		break;
	case ROOT_CONTAINER:
		str_puts(out, scope_container(process));
		break;
	case ROOT_CGROUP:
		str_puts(out, process->cgroup);
		break;
	case ROOT_UNIT:
		str_puts(out, process->unit);
		break;
	case ROOT_POD:
		str_puts(out, scope_pod(process));
		break;
	case ROOT_CPU:
		str_printf(out, "CPU:%u", sample->cpu);
		break;
	case ROOT_ORIGIN:
		str_puts(out, profile_thread_origin(profile, sample->thread));
		break;
	case ROOT_LABEL:
		roots_put_label(profile, sample->labels, planter->roots->keys[root], out);
		break;
	case ROOT_FILE:
		str_puts(out, profile->objects.data[planter->files[sample->stack]].name);
		break;
	case ROOT_EVENT:
		str_puts(out, profile->events.data[roots_event_of(profile, sample)].name);
		break;
	case ROOT_KIND_COUNT:
		break;
	}
}

/* ---- frames ---- */

/* It stands where others have the file of a function: "[process]". */
void roots_reserve(struct profile *profile, struct root_frames *frames, enum root_kind kind)
{
	uint32_t *object = &frames->kinds[kind].object;
	if (*object)
		return;
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "[%s]", root_kind_word(kind));
	const char *path = arena_strndup(&profile->arena, str_text(&name), name.len);
	struct profile_object fresh = {
		.info.kind = LAYOUT_OBJECT_ANONYMOUS, .path = path, .name = path};
	vec_push(&profile->objects, fresh);
	*object = (uint32_t)profile->objects.len - 1;
}

static uint32_t roots_add_frame(struct planter *planter, enum root_kind kind, const char *name)
{
	struct profile *profile = planter->profile;
	const char *kept = arena_strndup(&profile->arena, name, strlen(name));
	roots_reserve(profile, planter->frames, kind);
	struct root_kind_frames *frames = &planter->frames->kinds[kind];
	struct profile_function function = {
		.name = kept,
		.system_name = kept,
		.object = frames->object,
		.is_known = true,
	};
	struct profile_frame frame = {
		.object = function.object,
		.function = (uint32_t)profile->functions.len,
		.offset = frames->groups.len, /* no two have one address */
	};
	vec_push(&profile->functions, function);
	vec_push(&profile->frames, frame);
	return (uint32_t)profile->frames.len - 1;
}

static uint32_t roots_frame_of(
	struct planter *planter, uint32_t root, const struct profile_sample *sample)
{
	enum root_kind kind = planter->roots->kinds[root];
	struct root_kind_frames *frames = &planter->frames->kinds[kind];
	const char *key = planter->roots->keys[root];
	CLEANUP(str_deinit) struct str name = {0};
	roots_put_name(planter, root, sample, &name);
	if (!name.len)
		str_printf(&name, "[no %s]", key ? key : root_kind_word(kind));
	uint32_t id = strtab_intern(&frames->names, name.data, name.len);
	if (id == frames->groups.len) {
		struct root_group group = {
			.frame = roots_add_frame(planter, kind, name.data),
			.thread = sample->thread,
			.event = sample->event,
		};
		vec_push(&frames->groups, group);
	}
	return frames->groups.data[id].frame;
}

void root_frames_deinit(struct root_frames *frames)
{
	for (int kind = 0; kind < ROOT_KIND_COUNT; kind++) {
		strtab_deinit(&frames->kinds[kind].names);
		vec_deinit(&frames->kinds[kind].groups);
	}
}

/* ---- samples ---- */

static uint32_t roots_part_of(
	const struct planter *planter, enum part part, const struct profile_sample *sample)
{
	switch (part) {
	case PART_LABELS:
		return sample->labels;
	case PART_CPU:
		return sample->cpu;
	case PART_FILE:
		return planter->files[sample->stack];
	default:
		return sample->event;
	}
}

/* Equal for samples that have the same roots. */
static uint32_t roots_number_of(struct planter *planter, const struct profile_sample *sample)
{
	uint32_t number = sample->thread;
	for (int part = 0; part < PARTS; part++) {
		if (!planter->has[part])
			continue;
		bool added;
		uint64_t key =
			(uint64_t)number << 32 | roots_part_of(planter, (enum part)part, sample);
		uint64_t *known = map_put(&planter->numbers[part], key, &added);
		if (added)
			*known = planter->numbers[part].len - 1;
		number = (uint32_t)*known;
	}
	return number;
}

static uint32_t roots_chain_of(struct planter *planter, const struct profile_sample *sample)
{
	bool added;
	uint64_t *chain = map_put(&planter->chains, roots_number_of(planter, sample), &added);
	if (!added)
		return (uint32_t)*chain;
	uint32_t node = 0;
	for (uint32_t i = 0; i < planter->roots->count; i++)
		node = profile_add_node(planter->planted, &planter->nodes, node,
			roots_frame_of(planter, i, sample));
	*chain = node;
	return node;
}

static uint32_t roots_plant(struct planter *planter, const struct profile_sample *sample)
{
	bool added;
	uint32_t root = roots_chain_of(planter, sample);
	uint64_t *planted = map_put(&planter->stacks, (uint64_t)sample->stack << 32 | root, &added);
	if (added) {
		struct profile_stack copy = planter->shown->stacks.data[sample->stack];
		copy.root = root;
		*planted = planter->stacks_planted.len;
		vec_push(&planter->stacks_planted, copy);
	}
	return (uint32_t)*planted;
}

static void find_files(struct planter *planter)
{
	const struct profile *shown = planter->shown;
	planter->files = mem_zalloc_array(shown->stacks.len, sizeof(*planter->files));
	for (size_t i = 0; planter->has[PART_FILE] && i < shown->stacks.len; i++) {
		struct profile_walk walk = profile_walk(shown, (uint32_t)i);
		uint32_t leaf = profile_walk_recorded(&walk);
		planter->files[i] = shown->frames.data[leaf].object;
	}
}

static void planter_init(struct planter *planter)
{
	static const int parts[ROOT_KIND_COUNT] = {
		[ROOT_LABEL] = 1 + PART_LABELS,
		[ROOT_CPU] = 1 + PART_CPU,
		[ROOT_FILE] = 1 + PART_FILE,
		[ROOT_EVENT] = 1 + PART_EVENT,
	};
	for (uint32_t i = 0; i < planter->roots->count; i++)
		if (parts[planter->roots->kinds[i]])
			planter->has[parts[planter->roots->kinds[i]] - 1] = true;
	process_names_init(&planter->names, planter->profile);
	find_files(planter);
}

static void planter_deinit(struct planter *planter)
{
	process_names_deinit(&planter->names);
	mem_free(planter->files);
	for (int part = 0; part < PARTS; part++)
		map_deinit(&planter->numbers[part]);
	map_deinit(&planter->chains);
	map_deinit(&planter->nodes);
	map_deinit(&planter->stacks);
	vec_deinit(&planter->stacks_planted);
}

static void take_stacks(struct planter *planter)
{
	struct profile *planted = planter->planted;
	planted->stacks.len = 0;
	vec_append(&planted->stacks, planter->stacks_planted.data, planter->stacks_planted.len);
	planted->has_roots = true;
}

void roots_add(struct profile *profile, const struct roots *roots)
{
	if (!roots->count)
		return;
	struct root_frames frames = {0};
	struct planter planter = {
		.profile = profile,
		.shown = profile,
		.planted = profile,
		.roots = roots,
		.frames = &frames,
	};
	planter_init(&planter);
	vec_each(&profile->samples, sample)
		sample->stack = roots_plant(&planter, sample);
	take_stacks(&planter);
	for (int kind = 0; kind < ROOT_KIND_COUNT; kind++)
		if (frames.kinds[kind].object)
			profile->objects.data[frames.kinds[kind].object].is_used = true;
	root_frames_deinit(&frames);
	planter_deinit(&planter);
}

void roots_deinit(struct roots *roots)
{
	for (uint32_t i = 0; i < roots->count; i++)
		mem_free(roots->keys[i]);
	*roots = (struct roots){0};
}

/* ---- beside a profile ---- */

struct planted *roots_plant_beside(struct profile *profile, const struct profile *shown,
	struct root_frames *frames, enum root_kind kind)
{
	struct planted *planted = mem_zalloc(sizeof(*planted));
	struct roots roots = {.kinds = {kind}, .count = 1};
	planted->kind = kind;
	planted->profile = profile_create_beside(shown);
	planted->stack_of = mem_zalloc_array(profile->samples.len + 1, sizeof(*planted->stack_of));
	struct planter planter = {
		.profile = profile,
		.shown = shown,
		.planted = planted->profile,
		.roots = &roots,
		.frames = frames,
	};
	planter_init(&planter);
	for (size_t i = 0; i < profile->samples.len; i++)
		planted->stack_of[i] = roots_plant(&planter, &profile->samples.data[i]);
	take_stacks(&planter);
	planter_deinit(&planter);
	profile_borrow_names(planted->profile, profile);
	vec_append(
		&planted->groups, frames->kinds[kind].groups.data, frames->kinds[kind].groups.len);
	return planted;
}

void planted_destroy(struct planted *planted)
{
	if (!planted)
		return;
	profile_destroy_beside(planted->profile);
	mem_free(planted->stack_of);
	vec_deinit(&planted->groups);
	mem_free(planted);
}

const struct root_group *planted_find(const struct planted *planted, uint32_t frame)
{
	for (size_t i = 0; planted && i < planted->groups.len; i++)
		if (planted->groups.data[i].frame == frame)
			return &planted->groups.data[i];
	return NULL;
}
