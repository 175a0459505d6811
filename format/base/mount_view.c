#include "format/base/mount_view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/str.h"

enum {
	MAX_LINKS = 40,   /* MAXSYMLINKS of the kernel */
	MAX_ENTERED = 32, /* mounts on a path */
	/* Links are not followed: what is opened may be one. */
	HOW = O_PATH | O_NOFOLLOW | O_CLOEXEC,
};

/* As the kernel told it before Linux 5.8; 0: unknown. */
static uint64_t mount_id_by_proc(int fd)
{
	char path[40], text[256];
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	CLEANUP_FD int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	text[len < 0 ? 0 : len] = '\0';
	const char *at = strstr(text, "mnt_id:");
	return at ? strtoull(at + strlen("mnt_id:"), NULL, 10) : 0;
}

bool mount_file_of(int fd, struct mount_file *ret)
{
	struct statx st;
	/* What the kernel remembers will do: the kind of a file never changes. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		    STATX_TYPE | STATX_MODE | STATX_INO | STATX_MNT_ID, &st))
		return false;
	*ret = (struct mount_file){
		.mount_id = st.stx_mask & STATX_MNT_ID && st.stx_mnt_id ? st.stx_mnt_id
									: mount_id_by_proc(fd),
		.device = makedev(st.stx_dev_major, st.stx_dev_minor),
		.inode = st.stx_ino,
		.mode = st.stx_mode,
	};
	return true;
}

static int mount_view_fail(int error)
{
	errno = error;
	return -1;
}

/* A name of a folder; ELOOP, EXDEV: as openat2() says it. */
static int open_name(int fd, const char *name, uint64_t resolve)
{
	struct mount_file folder, file;
	if (!mount_file_of(fd, &folder))
		return -1;
	if (S_ISLNK(folder.mode))
		return mount_view_fail(ELOOP);
	CLEANUP_FD int found = openat(fd, name, HOW);
	if (found < 0 || !mount_file_of(found, &file))
		return -1;
	bool is_other =
		file.mount_id ? file.mount_id != folder.mount_id : file.device != folder.device;
	return is_other && resolve & RESOLVE_NO_XDEV ? mount_view_fail(EXDEV) : steal_fd(found);
}

/* The same as openat2() does here, one name after the other. */
static int open_by_names(int fd, const char *path, uint64_t resolve)
{
	CLEANUP_FD int found = open_name(fd, ".", resolve);
	while (found >= 0 && *path) {
		size_t len = strcspn(path, "/");
		CLEANUP_FREE char *name = mem_strndup(path, len);
		int next = open_name(found, name, resolve);
		mem_close_fd(&found);
		found = next;
		path += len + strspn(path + len, "/");
	}
	return found < 0 ? -1 : steal_fd(found);
}

static int open_within(int fd, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = HOW,
		.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int found = (int)syscall(SYS_openat2, fd, *path ? path : ".", &how, sizeof(how));
	/* ENOSYS: before Linux 5.6, or qemu-user; EPERM: a filter of a container. */
	bool is_missing = found < 0 && (errno == ENOSYS || errno == EPERM);
	return is_missing ? open_by_names(fd, path, resolve) : found;
}

/* ---- a path without links ---- */

/* Entering a mount asks nothing of its file system, since its root is always known. */
static int mount_view_enter(int fd, const char *path, const struct mount *mount)
{
	CLEANUP(str_deinit) struct str folder = {0};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct mount_file entered;
	if (slash)
		str_write(&folder, path, (size_t)(slash - path));
	CLEANUP_FD int parent = open_within(fd, str_text(&folder), RESOLVE_NO_XDEV);
	CLEANUP_FD int root = parent < 0 ? -1 : open_within(parent, name, 0);
	if (root < 0 || !mount_file_of(root, &entered))
		return -1;
	return entered.mount_id == mount->id ? steal_fd(root) : mount_view_fail(EREMOTE);
}

/* What is left of a path behind its first `len` bytes. */
static const char *mount_view_rest_of(const char *path, size_t len)
{
	path += len;
	return path + strspn(path, "/");
}

/* Whether a path has a name "." or "..". */
static bool has_dots(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/.")); at++) {
		const char *end = at + 2 + (at[2] == '.');
		if (!*end || *end == '/')
			return true;
	}
	return false;
}

int mount_view_open_canonical(const struct mount_view *view, const char *path)
{
	struct mount_file root;
	if (path[0] != '/' || has_dots(path)) /* ".." would lead out of the root folder */
		return mount_view_fail(ENOENT);
	if (!mount_file_of(view->root_fd, &root))
		return -1;
	CLEANUP_FD int entered = -1;
	int fd = view->root_fd;
	size_t begun = 0, nr_entered = 0;
	uint64_t id = root.mount_id;
	for (const struct mount *mount = mount_table_find(view->mounts, id), *next;; mount = next) {
		if (nr_entered++ > MAX_ENTERED || !view->may_enter(view->context, id, mount))
			return mount_view_fail(EREMOTE);
		next = mount_table_next(view->mounts, id, path, begun);
		if (!next)
			break;
		int next_fd = mount_view_enter(fd, mount_view_rest_of(next->point, begun), next);
		if (next_fd < 0)
			return -1;
		mem_close_fd(&entered);
		fd = entered = next_fd;
		id = next->id;
		begun = strlen(next->point);
	}
	int found = open_within(fd, mount_view_rest_of(path, begun), RESOLVE_NO_XDEV);
	return found < 0 && errno == EXDEV ? mount_view_fail(EREMOTE) : found;
}

/* ---- links ---- */

/* A path on its way: what is known to have no links, and what is left. */
struct walk {
	struct str done, rest;
	int nr_links;
	int fd; /* of `done`; -1: it is the root folder, and not open */
};

static void walk_deinit(struct walk *walk)
{
	str_deinit(&walk->done);
	str_deinit(&walk->rest);
	mem_close_fd(&walk->fd);
}

static void go_up(struct walk *walk)
{
	const char *slash = walk->done.len ? strrchr(walk->done.data, '/') : NULL;
	str_truncate(&walk->done, slash ? (size_t)(slash - walk->done.data) : 0);
	mem_close_fd(&walk->fd);
}

/* Puts what a link of `done` holds ahead of what is left. */
static bool mount_view_follow(struct walk *walk, int link_fd)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(link_fd, "", target, sizeof(target));
	if (len < 0 || ++walk->nr_links > MAX_LINKS || walk->rest.len > PATH_MAX) {
		errno = len < 0 ? errno : ELOOP;
		return false;
	}
	struct str rest = {0};
	str_write(&rest, target, (size_t)len);
	str_printf(&rest, "/%s", str_text(&walk->rest));
	str_deinit(&walk->rest);
	walk->rest = rest;
	if (target[0] == '/')
		str_truncate(&walk->done, 0);
	else
		go_up(walk);
	mem_close_fd(&walk->fd);
	return true;
}

/* Takes the next name of what is left. False: errno says why. */
static bool mount_view_step(const struct mount_view *view, struct walk *walk, const char *name)
{
	struct mount_file file;
	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		go_up(walk);
		return true;
	}
	str_printf(&walk->done, "/%s", name);
	mem_close_fd(&walk->fd);
	walk->fd = mount_view_open_canonical(view, str_text(&walk->done));
	if (walk->fd < 0 || !mount_file_of(walk->fd, &file))
		return false;
	return !S_ISLNK(file.mode) || mount_view_follow(walk, walk->fd);
}

static int mount_view_open_by_walk(const struct mount_view *view, const char *path)
{
	CLEANUP(walk_deinit) struct walk walk = {.fd = -1};
	str_puts(&walk.rest, path);
	for (;;) {
		const char *at = mount_view_rest_of(str_text(&walk.rest), 0);
		size_t len = strcspn(at, "/");
		if (!len)
			break;
		CLEANUP_FREE char *name = mem_strndup(at, len);
		struct str rest = {0};
		str_puts(&rest, at + len);
		str_deinit(&walk.rest);
		walk.rest = rest;
		if (!mount_view_step(view, &walk, name))
			return -1;
	}
	if (walk.fd < 0)
		return mount_view_open_canonical(view, walk.done.len ? str_text(&walk.done) : "/");
	return steal_fd(walk.fd);
}

int mount_view_open(const struct mount_view *view, const char *path)
{
	struct mount_file file;
	if (!has_dots(path)) {
		CLEANUP_FD int fd = mount_view_open_canonical(view, path);
		if (fd < 0 && errno != ELOOP)
			return -1;
		if (fd >= 0 && !mount_file_of(fd, &file))
			return -1;
		if (fd >= 0 && !S_ISLNK(file.mode))
			return steal_fd(fd);
	}
	return mount_view_open_by_walk(view, path);
}

int mount_file_reopen(int path_fd)
{
	char path[32];
	struct mount_file file;
	if (!mount_file_of(path_fd, &file))
		return -1;
	if (!S_ISREG(file.mode))
		return mount_view_fail(EINVAL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
