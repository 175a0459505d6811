#include "report/write/export/roots.h"

#include "format/base/str.h"
#include "report/analyse/scope.h"
#include "report/model/label_sets.h"
#include "report/write/export/labels.h"

struct planter {
	struct profile *profile;
	const struct roots *roots;
	struct labels labels;
	uint32_t objects[ROOT_KIND_COUNT]; /* 0: none yet */
	struct strtab names;               /* the kind, and behind it what is shown */
	VEC(uint32_t) frames;              /* of each name */
	struct map nodes;                  /* of profile_add_node() */
	struct map tasks;  /* thread << 32 | labels -> a number; without labels the thread is it */
	struct map chains; /* that << 32 | cpu -> innermost node of the roots */
	bool has_labels;   /* among the roots */
	struct map stacks; /* old stack << 32 | that node -> new stack */
	VEC(struct profile_stack) planted;
};

static const char *word_of(enum root_kind kind)
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

static void roots_put_name(const struct planter *planter, uint32_t root,
	const struct profile_sample *sample, struct str *out)
{
	const struct profile *profile = planter->profile;
	const struct profile_thread *thread = &profile->threads.data[sample->thread];
	const struct profile_process *process = &profile->processes.data[thread->process];
	switch (planter->roots->kinds[root]) {
	case ROOT_PROCESS:
		labels_put_comm(&planter->labels, thread, out);
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
		str_puts(out, process->pod);
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
	case ROOT_KIND_COUNT:
		break;
	}
}

/* ---- frames ---- */

/* What stands where others have the file of a function: "[process]". */
static uint32_t roots_object_of(struct planter *planter, enum root_kind kind)
{
	struct profile *profile = planter->profile;
	if (planter->objects[kind])
		return planter->objects[kind];
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "[%s]", word_of(kind));
	const char *path = arena_strndup(&profile->arena, str_text(&name), name.len);
	struct profile_object object = {
		.info.kind = LAYOUT_OBJECT_ANONYMOUS, .path = path, .name = path, .is_used = true};
	vec_push(&profile->objects, object);
	return planter->objects[kind] = (uint32_t)profile->objects.len - 1;
}

static uint32_t roots_add_frame(struct planter *planter, enum root_kind kind, const char *name)
{
	struct profile *profile = planter->profile;
	const char *kept = arena_strndup(&profile->arena, name, strlen(name));
	struct profile_function function = {
		.name = kept,
		.system_name = kept,
		.object = roots_object_of(planter, kind),
		.is_known = true,
	};
	struct profile_frame frame = {
		.object = function.object,
		.function = (uint32_t)profile->functions.len,
		.offset = planter->frames.len, /* no two have one address */
	};
	vec_push(&profile->functions, function);
	vec_push(&profile->frames, frame);
	return (uint32_t)profile->frames.len - 1;
}

static uint32_t roots_frame_of(
	struct planter *planter, uint32_t root, const struct profile_sample *sample)
{
	enum root_kind kind = planter->roots->kinds[root];
	const char *key = planter->roots->keys[root];
	CLEANUP(str_deinit) struct str name = {0};
	str_putc(&name, (char)('A' + kind));
	roots_put_name(planter, root, sample, &name);
	if (name.len == 1)
		str_printf(&name, "[no %s]", key ? key : word_of(kind));
	uint32_t id = strtab_intern(&planter->names, name.data, name.len);
	if (id == planter->frames.len)
		vec_push(&planter->frames, roots_add_frame(planter, kind, name.data + 1));
	return planter->frames.data[id];
}

/* ---- samples ---- */

static uint32_t roots_task_of(struct planter *planter, const struct profile_sample *sample)
{
	if (!planter->has_labels)
		return sample->thread;
	bool added;
	uint64_t key = (uint64_t)sample->thread << 32 | sample->labels;
	uint64_t *task = map_put(&planter->tasks, key, &added);
	if (added)
		*task = planter->tasks.len - 1;
	return (uint32_t)*task;
}

static uint32_t roots_chain_of(struct planter *planter, const struct profile_sample *sample)
{
	bool added;
	uint64_t key = (uint64_t)roots_task_of(planter, sample) << 32 | sample->cpu;
	uint64_t *chain = map_put(&planter->chains, key, &added);
	if (!added)
		return (uint32_t)*chain;
	uint32_t node = 0;
	for (uint32_t i = 0; i < planter->roots->count; i++)
		node = profile_add_node(planter->profile, &planter->nodes, node,
			roots_frame_of(planter, i, sample));
	*chain = node;
	return node;
}

static uint32_t roots_plant(struct planter *planter, uint32_t stack, uint32_t root)
{
	bool added;
	uint64_t *planted = map_put(&planter->stacks, (uint64_t)stack << 32 | root, &added);
	if (added) {
		struct profile_stack copy = planter->profile->stacks.data[stack];
		copy.root = root;
		*planted = planter->planted.len;
		vec_push(&planter->planted, copy);
	}
	return (uint32_t)*planted;
}

void roots_add(struct profile *profile, const struct roots *roots)
{
	if (!roots->count)
		return;
	struct planter planter = {.profile = profile, .roots = roots};
	for (uint32_t i = 0; i < roots->count; i++)
		planter.has_labels |= roots->kinds[i] == ROOT_LABEL;
	labels_init(&planter.labels, profile);
	vec_each(&profile->samples, sample)
		sample->stack =
			roots_plant(&planter, sample->stack, roots_chain_of(&planter, sample));
	profile->stacks.len = 0;
	vec_append(&profile->stacks, planter.planted.data, planter.planted.len);
	profile->has_roots = true;
	labels_deinit(&planter.labels);
	strtab_deinit(&planter.names);
	vec_deinit(&planter.frames);
	map_deinit(&planter.nodes);
	map_deinit(&planter.tasks);
	map_deinit(&planter.chains);
	map_deinit(&planter.stacks);
	vec_deinit(&planter.planted);
}

void roots_deinit(struct roots *roots)
{
	for (uint32_t i = 0; i < roots->count; i++)
		mem_free(roots->keys[i]);
	*roots = (struct roots){0};
}
