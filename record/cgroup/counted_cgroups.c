#include "record/cgroup/counted_cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Both as struct target_cgroups has them. */
static bool is_in_group(const char *path, const char *group)
{
	size_t len = strlen(group);
	return strncmp(path, group, len) == 0 && (!path[len] || path[len] == '/');
}

/* NULL: its hierarchy does not count. */
static const char *counting_point(const struct cgroup_tree *tree, const struct event_cgroup *group)
{
	if (tree->perf_point)
		return tree->perf_point;
	return group->hierarchy == EVENT_CGROUP_UNIFIED ? tree->points[EVENT_CGROUP_UNIFIED] : NULL;
}

struct counted_folder {
	const char *path; /* borrowed from its target */
	int fd;
};

struct counted_folders {
	struct counted_folder *data;
	size_t len, cap;
};

static bool has_folder_above(const struct counted_folders *folders, const char *path)
{
	vec_each(folders, folder)
		if (is_in_group(path, folder->path))
			return true;
	return false;
}

static void close_folders_below(struct counted_folders *folders, const char *path)
{
	size_t nr_kept = 0;
	vec_each(folders, folder) {
		if (is_in_group(folder->path, path))
			close(folder->fd);
		else
			folders->data[nr_kept++] = *folder;
	}
	folders->len = nr_kept;
}

static struct err *open_counted_folder(
	const struct target_cgroups *targets, size_t number, struct counted_folders *folders)
{
	CLEANUP(str_deinit) struct str whole = {0};
	const char *path = targets->paths.data[number];
	const char *point = counting_point(&targets->tree, &targets->groups.data[number]);
	if (!point || has_folder_above(folders, path))
		return NULL;
	str_printf(&whole, "%s%s", point, path);
	int fd = open(str_text(&whole), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0)
		return err_sys(errno, "cannot open %s", str_text(&whole));
	close_folders_below(folders, path);
	vec_push(folders, (struct counted_folder){path, fd});
	return NULL;
}

static struct err *open_counted_folders(
	const struct target_cgroups *targets, struct counted_folders *folders)
{
	for (size_t i = 0; i < targets->groups.len; i++)
		try(open_counted_folder(targets, i, folders));
	vec_each(&targets->paths, path)
		if (!has_folder_above(folders, *path))
			return err_new(ERR_UNAVAILABLE,
				"the control group %s cannot be counted: it is not in the "
				"hierarchy of the controller perf_event, %s",
				*path,
				targets->tree.perf_point ? targets->tree.perf_point
							 : "which is that of version 2");
	return NULL;
}

struct err *counted_cgroups_open(
	const struct cgroup_name *names, size_t nr_names, struct counted_cgroups *ret)
{
	struct target_cgroups targets = {0};
	struct counted_folders folders = {0};
	*ret = (struct counted_cgroups){0};
	if (!nr_names)
		return NULL;
	struct err *err = target_cgroups_open(names, nr_names, &targets);
	if (!err)
		err = open_counted_folders(&targets, &folders);
	vec_each(&folders, folder)
		vec_push(&ret->fds, folder->fd);
	vec_deinit(&folders);
	target_cgroups_deinit(&targets);
	return err;
}

void counted_cgroups_deinit(struct counted_cgroups *counted)
{
	vec_each(&counted->fds, fd)
		close(*fd);
	vec_deinit(&counted->fds);
}
