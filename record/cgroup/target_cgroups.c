#include "record/cgroup/target_cgroups.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

#include "format/base/cgroup_path.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/str.h"

enum {
	ID_DIGITS = 64,    /* of a container */
	SHOWN_DIGITS = 12, /* of them, as its runtime shows it */
	MAX_SHOWN = 8,
};

static const struct {
	const char *option, *noun;
} kinds[] = {
	[CGROUP_NAME_PATH] = {"--cgroup", "control group"},
	[CGROUP_NAME_UNIT] = {"--unit", "unit"},
	[CGROUP_NAME_CONTAINER] = {"--container", "container"},
	[CGROUP_NAME_ID] = {"--labels", "container"},
};

/* What was seen while names were looked for. */
struct search {
	struct target_cgroups *targets;
	VEC(struct found_name {
		size_t nr_groups;
		struct nearest nearest;
		char *id; /* of the container that it is the begin of; NULL: of none */
		char *other_id;
	}) names;
	struct strtab candidates[sizeof(kinds) / sizeof(*kinds)];
};

/* With one slash ahead of each folder, and no other. */
static char *copy_path(const char *path)
{
	struct str copy = {0};
	for (const char *at = path; *(at += strspn(at, "/")); at += strcspn(at, "/"))
		str_printf(&copy, "/%.*s", (int)strcspn(at, "/"), at);
	return copy.len ? str_steal(&copy) : mem_strdup("");
}

static void target_cgroups_clear(struct target_cgroups *targets)
{
	vec_each(&targets->paths, path)
		mem_free(*path);
	targets->groups.len = targets->paths.len = targets->nr_left_out = 0;
}

static void target_cgroups_add(struct target_cgroups *targets, const struct cgroup_place *place)
{
	uint32_t level = place->level;
	bool is_first = !targets->groups.len;
	if (is_first || level < targets->first_level)
		targets->first_level = level;
	if (is_first || level > targets->last_level)
		targets->last_level = level;
	if (targets->groups.len == EVENT_MAX_CGROUPS) {
		targets->nr_left_out++;
		return;
	}
	vec_push(&targets->groups, place->key);
	vec_push(&targets->paths, copy_path(place->path));
}

/* ---- names ---- */

/* "nginx" is "nginx.service", too. */
static bool is_unit_named(const char *unit, const char *name)
{
	size_t len = strlen(name);
	if (strncmp(unit, name, len) != 0)
		return false;
	return !unit[len] || strcmp(unit + len, ".service") == 0 ||
	       strcmp(unit + len, ".scope") == 0;
}

static bool is_container_id(const char *text)
{
	return strlen(text) == ID_DIGITS && !text[strspn(text, "0123456789abcdef")];
}

static bool text_begins(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

/* One that could be meant, as short as one would give it. */
static void note_candidate(struct search *search, enum cgroup_name_kind kind, const char *text)
{
	static const char suffix[] = ".service";
	const size_t suffix_len = sizeof(suffix) - 1;
	size_t len = strlen(text);
	if (kind == CGROUP_NAME_CONTAINER && is_container_id(text))
		len = SHOWN_DIGITS;
	if (kind == CGROUP_NAME_UNIT && len > suffix_len &&
		strcmp(text + len - suffix_len, suffix) == 0)
		len -= suffix_len;
	if (len)
		strtab_intern(&search->candidates[kind], text, len);
}

/* One that begins with the same digits as another container's ID is noted. */
static void note_id(struct found_name *found, const char *id)
{
	if (!found->id)
		found->id = mem_strdup(id);
	else if (!found->other_id && strcmp(found->id, id) != 0)
		found->other_id = mem_strdup(id);
}

/* "web" of docker's and podman's, "nginx" or "POD" of Kubernetes'. */
static bool is_container_named(struct search *search, const char *container, const char *name)
{
	const struct container_name *known =
		container_names_find(&search->targets->containers, container, clock_now_ns());
	const char *const all[] = {known->name, known->k8s_container, known->pod};
	bool is_named = false;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!all[i])
			continue;
		note_candidate(search, CGROUP_NAME_CONTAINER, all[i]);
		is_named |= strcmp(all[i], name) == 0;
	}
	return is_named;
}

static bool is_named_so(struct search *search, size_t i, const char *unit, const char *container)
{
	const struct cgroup_name *name = &search->targets->names[i];
	struct found_name *found = &search->names.data[i];
	switch (name->kind) {
	case CGROUP_NAME_PATH:
		return false; /* is looked for by itself */
	case CGROUP_NAME_UNIT:
		return *unit && is_unit_named(unit, name->text);
	case CGROUP_NAME_ID:
		return strcmp(container, name->text) == 0;
	case CGROUP_NAME_CONTAINER:
		if (!*container)
			return false;
		if (strcmp(container, name->text) == 0 ||
			is_container_named(search, container, name->text))
			return true;
		if (!is_container_id(container) || !*name->text ||
			!text_begins(container, name->text))
			return false;
		note_id(found, container);
		return true;
	}
	return false;
}

/* A group below one of the same name is in that. */
static bool look_at_group(void *context, const struct cgroup_place *place)
{
	struct search *search = context;
	CLEANUP(str_deinit) struct str unit = {0}, container = {0};
	cgroup_put_unit(place->path, &unit);
	cgroup_put_container(place->path, &container);
	note_candidate(search, CGROUP_NAME_PATH, place->path);
	note_candidate(search, CGROUP_NAME_UNIT, str_text(&unit));
	note_candidate(search, CGROUP_NAME_CONTAINER, str_text(&container));
	bool is_target = false;
	for (size_t i = 0; i < search->targets->nr_names; i++) {
		bool is_named = is_named_so(search, i, str_text(&unit), str_text(&container));
		search->names.data[i].nr_groups += is_named;
		is_target |= is_named;
	}
	if (is_target)
		target_cgroups_add(search->targets, place);
	return !is_target;
}

/* ---- paths ---- */

/* What is left of a path without where the hierarchy is mounted. */
static const char *cut_mount_point(const struct cgroup_tree *tree, const char *path, size_t i)
{
	const char *point = tree->points[i];
	size_t len = point ? strlen(point) : 0;
	bool is_below = len && strncmp(path, point, len) == 0 && (!path[len] || path[len] == '/');
	return is_below ? path + len : path;
}

static void look_for_path(struct search *search, size_t name)
{
	struct target_cgroups *targets = search->targets;
	const char *path = targets->names[name].text;
	for (uint32_t i = 0; i < EVENT_CGROUP_HIERARCHIES; i++) {
		struct cgroup_place place;
		if (!cgroup_tree_find(
			    &targets->tree, i, cut_mount_point(&targets->tree, path, i), &place))
			continue;
		target_cgroups_add(targets, &place);
		search->names.data[name].nr_groups++;
	}
}

/* ---- all of them ---- */

static void search_deinit(struct search *search)
{
	vec_each(&search->names, found) {
		mem_free(found->id);
		mem_free(found->other_id);
	}
	vec_deinit(&search->names);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		strtab_deinit(&search->candidates[i]);
}

static void search_names(struct search *search)
{
	struct target_cgroups *targets = search->targets;
	target_cgroups_clear(targets);
	container_names_renew(&targets->containers, clock_now_ns());
	vec_resize(&search->names, targets->nr_names);
	for (size_t i = 0; i < targets->nr_names; i++)
		if (targets->names[i].kind == CGROUP_NAME_PATH)
			look_for_path(search, i);
	cgroup_tree_each(&targets->tree, look_at_group, search);
	if (targets->tree.is_whole)
		return;
	targets->first_level = 0;
	targets->last_level = EVENT_MAX_CGROUP_LEVELS - 1;
}

static bool is_missing(const struct search *search, size_t i)
{
	return !search->names.data[i].nr_groups && search->targets->names[i].kind != CGROUP_NAME_ID;
}

/* ', nor unit "db"' for each of the names from `first` on that stand for nothing. */
static void put_others_missing(const struct search *search, size_t first, struct str *ret)
{
	for (size_t i = first; i < search->targets->nr_names; i++)
		if (is_missing(search, i))
			str_printf(ret, ", nor %s \"%s\"",
				kinds[search->targets->names[i].kind].noun,
				search->targets->names[i].text);
}

/* A folder of a hierarchy that is not looked at. */
static bool is_elsewhere(const struct cgroup_name *name)
{
	struct statfs found;
	return name->kind == CGROUP_NAME_PATH && statfs(name->text, &found) == 0 &&
	       found.f_type == CGROUP_SUPER_MAGIC;
}

/* `i`: the first name that stands for nothing. */
static struct err *explain_missing(const struct search *search, size_t i)
{
	const struct cgroup_name *name = &search->targets->names[i];
	if (is_elsewhere(name))
		return err_new(ERR_USAGE,
			"%s: %s is of another hierarchy of version 1: groups of version 2 are "
			"followed, and of version 1 those with the controller \"memory\"",
			kinds[name->kind].option, name->text);
	const struct strtab *candidates = &search->candidates[name->kind];
	struct nearest nearest = nearest_to(name->text);
	CLEANUP(str_deinit) struct str others = {0}, hint = {0};
	if (name->kind == CGROUP_NAME_PATH)
		str_puts(&others, " below /sys/fs/cgroup");
	put_others_missing(search, i + 1, &others);
	for (uint32_t j = 0; j < candidates->entries.len; j++)
		nearest_offer(&nearest, strtab_get(candidates, j));
	if (nearest.word)
		str_printf(&hint, ": is \"%s\" meant?", nearest.word);
	bool is_listed = !nearest.word && name->kind != CGROUP_NAME_PATH;
	for (uint32_t j = 0; is_listed && j < candidates->entries.len && j < MAX_SHOWN; j++)
		str_printf(&hint, "%s%s", j ? ", " : "; there are ", strtab_get(candidates, j));
	if (is_listed && !candidates->entries.len)
		str_printf(&hint, "; there is no %s at all", kinds[name->kind].noun);
	return err_new(ERR_USAGE, "%s: no %s \"%s\" runs here%s%s", kinds[name->kind].option,
		kinds[name->kind].noun, name->text, str_text(&others), str_text(&hint));
}

static struct err *check_found(struct search *search)
{
	const struct target_cgroups *targets = search->targets;
	for (size_t i = 0; i < targets->nr_names; i++) {
		const struct found_name *found = &search->names.data[i];
		if (is_missing(search, i))
			return explain_missing(search, i);
		if (found->other_id)
			return err_new(ERR_USAGE,
				"--container: \"%s\" begins the IDs of several containers: %.12s, "
				"%.12s",
				targets->names[i].text, found->id, found->other_id);
	}
	if (targets->groups.len == EVENT_MAX_CGROUPS)
		return err_new(ERR_USAGE,
			"more than %d control groups have these names: record all "
			"with -a",
			EVENT_MAX_CGROUPS - 1);
	return NULL;
}

struct err *target_cgroups_open(
	const struct cgroup_name *names, size_t nr_names, struct target_cgroups *ret)
{
	*ret = (struct target_cgroups){.names = names, .nr_names = nr_names};
	try(cgroup_tree_open(&ret->tree));
	CLEANUP(search_deinit) struct search search = {.targets = ret};
	search_names(&search);
	return check_found(&search);
}

bool target_cgroups_renew(struct target_cgroups *targets)
{
	CLEANUP(search_deinit) struct search search = {.targets = targets};
	VEC(struct event_cgroup) before = {0};
	vec_append(&before, targets->groups.data, targets->groups.len);
	search_names(&search);
	bool is_other = before.len != targets->groups.len ||
			(before.len && memcmp(before.data, targets->groups.data,
					       before.len * sizeof(*before.data)) != 0);
	vec_deinit(&before);
	return is_other;
}

void target_cgroups_deinit(struct target_cgroups *targets)
{
	cgroup_tree_deinit(&targets->tree);
	container_names_deinit(&targets->containers);
	target_cgroups_clear(targets);
	vec_deinit(&targets->groups);
	vec_deinit(&targets->paths);
}

void target_cgroups_describe(const struct cgroup_name *names, size_t nr_names, struct str *ret)
{
	for (size_t i = 0; i < nr_names; i++)
		str_printf(ret, "%s%s %s", i ? ", " : "",
			names[i].kind == CGROUP_NAME_PATH ? "cgroup" : kinds[names[i].kind].noun,
			names[i].text);
}
