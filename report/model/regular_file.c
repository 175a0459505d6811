#include "report/model/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "format/base/caller.h"
#include "format/base/mem.h"
#include "format/base/mount_view.h"
#include "format/base/str.h"

/* Their files call themselves regular, but reading them asks the kernel. Source: linux/magic.h */
static bool is_real(const struct statfs *fs)
{
	static const unsigned magics[] = {
		0x9fa0,     /* proc */
		0x62656572, /* sysfs */
		0x64626720, /* debugfs */
		0x74726163, /* tracefs */
		0x73636673, /* securityfs */
		0xcafe4a11, /* bpf */
		0x63677270, /* cgroup2 */
		0x27e0eb,   /* cgroup */
		0x62656570, /* configfs */
		0x6165676c, /* pstore */
		0xde5e81e4, /* efivarfs */
	};
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if ((unsigned)fs->f_type == magics[i])
			return false;
	return true;
}

/* ---- rules ---- */

struct regular_file_rules {
	unsigned set; /* of regular_file_rule */
	struct caller caller;
	struct mount_table mounts;
	int root_fd;
	uint64_t root_id;
};

static bool regular_file_may_enter(void *context, uint64_t id, const struct mount *mount)
{
	const struct regular_file_rules *rules = context;
	if (id == rules->root_id)
		return true;
	if (!mount || !mount_is_remote(mount))
		return mount;
	if (rules->set & REGULAR_FILE_LOCAL_ONLY)
		return false;
	return !mount->has_owner || caller_owns(&rules->caller, mount->owner_uid);
}

struct regular_file_rules *regular_file_rules_create(unsigned set)
{
	enum {
		MAX_BYTES = 16 << 20
	};
	struct mount_file root = {0};
	if (geteuid())
		return NULL;
	struct regular_file_rules *rules = mem_zalloc(sizeof(*rules));
	rules->set = set;
	rules->caller = caller_find();
	rules->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	mount_file_of(rules->root_fd, &root);
	rules->root_id = root.mount_id;
	CLEANUP_FD int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		mount_table_read(&rules->mounts, fd, MAX_BYTES);
	return rules;
}

void regular_file_rules_destroy(struct regular_file_rules *rules)
{
	if (!rules)
		return;
	mem_close_fd(&rules->root_fd);
	mount_table_deinit(&rules->mounts);
	mem_free(rules);
}

/* ---- opening ---- */

/* Below a folder that is open, in its mount; the folder's own file for "". */
static int open_below(int folder_fd, const char *path)
{
	static const struct mount_table none = {0};
	struct mount_file folder;
	if (!*path)
		return fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
	if (!mount_file_of(folder_fd, &folder))
		return -1;
	struct regular_file_rules rules = {.root_id = folder.mount_id};
	struct mount_view view = {folder_fd, &none, regular_file_may_enter, &rules};
	return mount_view_open(&view, path);
}

static int open_by_rules(const char *path, const struct regular_file_rules *rules)
{
	static const char own[] = "/proc/self/fd/";
	if ((rules->set & REGULAR_FILE_KEPT) && strncmp(path, own, sizeof(own) - 1) == 0) {
		char *rest;
		int fd = (int)strtoul(path + sizeof(own) - 1, &rest, 10);
		return open_below(fd, rest);
	}
	CLEANUP(str_deinit) struct str full = {0};
	if (path[0] != '/') {
		CLEANUP_FREE char *folder = mem_alloc(PATH_MAX);
		str_printf(&full, "%s/", getcwd(folder, PATH_MAX) ? folder : "");
	}
	str_puts(&full, path);
	struct mount_view view = {
		rules->root_fd, &rules->mounts, regular_file_may_enter, (void *)rules};
	return mount_view_open(&view, str_text(&full));
}

int regular_file_open(const char *path, const struct regular_file_rules *rules, struct stat *st)
{
	struct statfs fs;
	struct mount_file file;
	CLEANUP_FD int path_fd =
		rules ? open_by_rules(path, rules) : open(path, O_PATH | O_CLOEXEC);
	if (path_fd < 0 || !mount_file_of(path_fd, &file))
		return -1;
	errno = EINVAL;
	if (!S_ISREG(file.mode) || fstatfs(path_fd, &fs) || !is_real(&fs))
		return -1;
	CLEANUP_FD int fd = mount_file_reopen(path_fd);
	return fd < 0 || fstat(fd, st) ? -1 : steal_fd(fd);
}
