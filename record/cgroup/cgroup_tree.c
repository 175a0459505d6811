#include "record/cgroup/cgroup_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/mount_table.h"
#include "format/base/str.h"

enum {
	MAX_MOUNTINFO_BYTES = 4 << 20,
	MAX_VISITED = 100 * 1000,
};

/* ---- where they are mounted ---- */

static bool has_controller(const char *options, const char *wanted)
{
	size_t len = strlen(wanted);
	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, wanted, len) == 0 && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static bool is_of_controller(const struct mount *mount, const char *controller)
{
	return strcmp(mount->type, "cgroup") == 0 && has_controller(mount->options, controller);
}

/* EVENT_CGROUP_HIERARCHIES: none that is of use here. */
static enum event_cgroup_hierarchy hierarchy_of(const struct mount *mount)
{
	if (strcmp(mount->type, "cgroup2") == 0)
		return EVENT_CGROUP_UNIFIED;
	return is_of_controller(mount, "memory") ? EVENT_CGROUP_MEMORY : EVENT_CGROUP_HIERARCHIES;
}

/* The first namespace of control groups has this number; include/linux/proc_ns.h. */
static bool is_in_first_namespace(void)
{
	char target[32] = "";
	ssize_t len = readlink("/proc/self/ns/cgroup", target, sizeof(target) - 1);
	return len > 0 && strcmp(target, "cgroup:[4026531835]") == 0;
}

struct err *cgroup_tree_open(struct cgroup_tree *ret)
{
	struct mount_table mounts = {0};
	*ret = (struct cgroup_tree){.is_whole = is_in_first_namespace()};
	CLEANUP_FD int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		mount_table_read(&mounts, fd, MAX_MOUNTINFO_BYTES);
	bool is_mounted = false;
	vec_each(&mounts.mounts, mount) {
		enum event_cgroup_hierarchy hierarchy = hierarchy_of(mount);
		if (!ret->perf_point && is_of_controller(mount, "perf_event"))
			ret->perf_point = mem_strdup(mount->point);
		if (hierarchy == EVENT_CGROUP_HIERARCHIES || ret->points[hierarchy])
			continue;
		ret->points[hierarchy] = mem_strdup(mount->point);
		ret->is_whole &= strcmp(mount->root, "/") == 0;
		is_mounted = true;
	}
	mount_table_deinit(&mounts);
	return is_mounted
		       ? NULL
		       : err_new(ERR_UNSUPPORTED,
				 "no control groups can be seen here: mount those of the machine "
				 "(mount -t cgroup2 cgroup2 /sys/fs/cgroup)");
}

void cgroup_tree_deinit(struct cgroup_tree *tree)
{
	for (size_t i = 0; i < EVENT_CGROUP_HIERARCHIES; i++)
		mem_free(tree->points[i]);
	mem_free(tree->perf_point);
}

uint32_t cgroup_tree_hierarchies(const struct cgroup_tree *tree)
{
	uint32_t hierarchies = 0;
	for (uint32_t i = 0; i < EVENT_CGROUP_HIERARCHIES; i++)
		hierarchies |= tree->points[i] ? 1U << i : 0;
	return hierarchies;
}

/* ---- groups ---- */

/* How many folders a path goes down. False: it goes up as well. */
static bool find_level(const char *path, uint32_t *ret)
{
	*ret = 0;
	for (const char *at = path; *(at += strspn(at, "/")); at += strcspn(at, "/")) {
		size_t len = strcspn(at, "/");
		if (len <= 2 && strncmp(at, "..", len) == 0)
			return false;
		++*ret;
	}
	return true;
}

bool cgroup_tree_find(const struct cgroup_tree *tree, enum event_cgroup_hierarchy hierarchy,
	const char *path, struct cgroup_place *ret)
{
	struct stat stat_of;
	uint32_t level;
	CLEANUP(str_deinit) struct str whole = {0};
	if (!tree->points[hierarchy] || !find_level(path, &level) ||
		level >= EVENT_MAX_CGROUP_LEVELS)
		return false;
	str_printf(&whole, "%s/%s", tree->points[hierarchy], path);
	if (stat(str_text(&whole), &stat_of) || !S_ISDIR(stat_of.st_mode))
		return false;
	/* The number of the folder is that of the group; kernfs_ino() of fs/kernfs, 64 bits. */
	*ret = (struct cgroup_place){
		.key = {.id = stat_of.st_ino, .hierarchy = hierarchy},
		.level = level,
		.path = path,
	};
	return true;
}

struct visit {
	cgroup_place_fn *fn;
	void *context;
	struct cgroup_place place;
	struct str path;
	size_t nr_visited;
};

/* `folder` is closed. */
static void visit_below(struct visit *visit, int folder)
{
	DIR *dir = fdopendir(folder);
	if (!dir) {
		close(folder);
		return;
	}
	size_t len = visit->path.len;
	for (struct dirent *entry; visit->nr_visited < MAX_VISITED && (entry = readdir(dir));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		visit->nr_visited++;
		str_printf(&visit->path, "/%s", entry->d_name);
		visit->place.key.id = entry->d_ino;
		visit->place.path = str_text(&visit->path);
		visit->place.level++;
		if (visit->place.level < EVENT_MAX_CGROUP_LEVELS &&
			visit->fn(visit->context, &visit->place)) {
			int below = openat(folder, entry->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below >= 0)
				visit_below(visit, below);
		}
		visit->place.level--;
		str_truncate(&visit->path, len);
	}
	closedir(dir);
}

bool cgroup_tree_each(const struct cgroup_tree *tree, cgroup_place_fn *fn, void *context)
{
	struct visit visit = {.fn = fn, .context = context};
	for (uint32_t i = 0; i < EVENT_CGROUP_HIERARCHIES; i++) {
		int root = tree->points[i]
				   ? open(tree->points[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				   : -1;
		visit.place = (struct cgroup_place){.key.hierarchy = i};
		str_truncate(&visit.path, 0);
		if (root >= 0)
			visit_below(&visit, root);
	}
	str_deinit(&visit.path);
	return visit.nr_visited < MAX_VISITED;
}
