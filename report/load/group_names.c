#include "report/load/group_names.h"

#include <string.h>

#include "format/base/cgroup_path.h"
#include "format/base/str.h"
#include "report/model/label_sets.h"

enum {
	SHORT_ID = 12, /* as others show it */
};

/* What has an ID by the control group, and a name by up to three labels, "/" between them. */
struct group_kind {
	const char *(*id)(const struct profile_process *process);
	const char **(*name)(struct profile_process *process);
	/* Of two ways the first counts whose first key is there; the other keys may be missing. */
	const char *keys[2][3];
};

static const char *id_of_grouped_container(const struct profile_process *process)
{
	return process->container;
}

static const char **name_of_grouped_container(struct profile_process *process)
{
	return &process->container_name;
}

static const char *id_of_grouped_pod(const struct profile_process *process)
{
	return process->pod;
}

static const char **name_of_grouped_pod(struct profile_process *process)
{
	return &process->pod_name;
}

static const struct group_kind kinds[] = {
	{id_of_grouped_container, name_of_grouped_container,
		{{"container.name"}, {"k8s.container.name", "k8s.pod.name", "k8s.namespace.name"}}},
	{id_of_grouped_pod, name_of_grouped_pod, {{"k8s.pod.name", "k8s.namespace.name"}}},
};

/* ---- names by labels ---- */

/* Nothing, if the set lacks the first key; what a label says by a place is no name. */
static void put_group_name(
	const struct profile *profile, const struct group_kind *kind, uint32_t set, struct str *out)
{
	for (size_t way = 0; way < 2 && !out->len; way++) {
		const char *const *keys = kind->keys[way];
		if (!keys[0] || !label_sets_find(profile, set, keys[0]))
			continue;
		for (size_t i = 3; i-- > 0;) {
			uint32_t label = keys[i] ? label_sets_find(profile, set, keys[i]) : 0;
			if (!label || profile->labels.data[label].kind != LAYOUT_LABEL_TEXT)
				continue;
			str_puts(out, out->len ? "/" : "");
			label_put_value(profile, label, out);
		}
	}
}

static bool has_group_labels(const struct profile *profile, const struct group_kind *kind)
{
	vec_each(&profile->labels, label)
		for (size_t way = 0; way < 2; way++)
			if (kind->keys[way][0] && strcmp(label->key, kind->keys[way][0]) == 0)
				return true;
	return false;
}

/* ---- all of a kind ---- */

/* IDs, and for each the name that was met first: an entry of `names`, 0: none. */
struct naming_groups {
	struct strtab ids, names;
	VEC(uint32_t) names_of_ids;
	VEC(uint32_t) ids_of_names; /* how many have it */
};

/* What a set says, an entry of `names`; it is looked at once: `of_sets` has an entry plus 1 of it.
 */
static uint32_t name_of_set(struct naming_groups *groups, const struct profile *profile,
	const struct group_kind *kind, uint32_t set, uint32_t *of_sets)
{
	if (!of_sets[set]) {
		CLEANUP(str_deinit) struct str name = {0};
		put_group_name(profile, kind, set, &name);
		of_sets[set] = strtab_intern(&groups->names, str_text(&name), name.len) + 1;
	}
	return of_sets[set] - 1;
}

static void name_groups_by_samples(
	struct naming_groups *groups, const struct profile *profile, const struct group_kind *kind)
{
	CLEANUP_FREE uint32_t *ids = mem_zalloc_array(profile->processes.len, sizeof(*ids));
	CLEANUP_FREE uint32_t *of_sets = mem_zalloc_array(profile->labels.len, sizeof(*of_sets));
	for (size_t i = 0; i < profile->processes.len; i++) {
		const char *id = kind->id(&profile->processes.data[i]);
		ids[i] = strtab_intern(&groups->ids, id, strlen(id));
	}
	vec_resize(&groups->names_of_ids, groups->ids.entries.len);
	strtab_intern(&groups->names, "", 0);
	vec_push(&groups->ids_of_names, 0);
	vec_each(&profile->samples, sample) {
		uint32_t id = ids[profile->threads.data[sample->thread].process];
		if (!sample->labels || groups->names_of_ids.data[id] ||
			!groups->ids.entries.data[id].len)
			continue;
		uint32_t number = name_of_set(groups, profile, kind, sample->labels, of_sets);
		groups->names_of_ids.data[id] = number;
		if (number == groups->ids_of_names.len)
			vec_push(&groups->ids_of_names, 0);
		groups->ids_of_names.data[number]++;
	}
}

static const char *copy_group_name(struct profile *profile, const struct naming_groups *groups,
	const char *id, uint32_t number)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_puts(&text, strtab_get(&groups->names, number));
	if (groups->ids_of_names.data[number] > 1)
		str_printf(&text, " (%.*s)", SHORT_ID, id);
	return arena_strndup(&profile->arena, str_text(&text), text.len);
}

static void name_groups(struct profile *profile, const struct group_kind *kind)
{
	struct naming_groups groups = {0};
	name_groups_by_samples(&groups, profile, kind);
	CLEANUP_FREE const char **texts =
		mem_zalloc_array(groups.ids.entries.len + 1, sizeof(*texts));
	vec_each(&profile->processes, process) {
		const char *id = kind->id(process);
		uint32_t index = strtab_intern(&groups.ids, id, strlen(id));
		uint32_t number = groups.names_of_ids.data[index];
		if (number && !texts[index])
			texts[index] = copy_group_name(profile, &groups, id, number);
		*kind->name(process) = number ? texts[index] : "";
	}
	strtab_deinit(&groups.ids);
	strtab_deinit(&groups.names);
	vec_deinit(&groups.names_of_ids);
	vec_deinit(&groups.ids_of_names);
}

/* ---- names by paths ---- */

static const char *named_by_path(
	struct profile *profile, const char *path, void (*put)(const char *path, struct str *ret))
{
	CLEANUP(str_deinit) struct str name = {0};
	put(path, &name);
	return name.len ? arena_strndup(&profile->arena, str_text(&name), name.len) : "";
}

void group_names_find(struct profile *profile)
{
	vec_each(&profile->processes, process) {
		process->unit = named_by_path(profile, process->cgroup, cgroup_put_unit);
		process->pod = named_by_path(profile, process->cgroup, cgroup_put_pod);
		process->container_name = process->pod_name = "";
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (has_group_labels(profile, &kinds[i]))
			name_groups(profile, &kinds[i]);
}
