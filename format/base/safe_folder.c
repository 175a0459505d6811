#include "format/base/safe_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"

enum {
	MAX_LINKS = 40, /* MAXSYMLINKS of the kernel */
	FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC,
};

/* ---- a path with links ---- */

struct walk {
	const char *path; /* all of it, for messages */
	const struct caller *caller;
	int fd; /* of the folder that was reached */
	int nr_links;
};

static struct err *walk_path(struct walk *walk, const char *path);

static void walk_to(struct walk *walk, int fd)
{
	mem_close_fd(&walk->fd);
	walk->fd = fd;
}

static struct err *safe_folder_follow(struct walk *walk, int link_fd, const struct stat *st)
{
	char target[PATH_MAX];
	if (st->st_uid && !caller_owns(walk->caller, st->st_uid))
		return err_new(ERR_PERMISSION,
			"%s leads through a symbolic link of user %u; name the folder itself",
			walk->path, (unsigned)st->st_uid);
	if (++walk->nr_links > MAX_LINKS)
		return err_sys(ELOOP, "%s", walk->path);
	ssize_t len = readlinkat(link_fd, "", target, sizeof(target));
	if (len < 0 || (size_t)len == sizeof(target))
		return err_sys(len < 0 ? errno : ENAMETOOLONG, "%s", walk->path);
	target[len] = '\0';
	return walk_path(walk, target);
}

static struct err *safe_folder_step(struct walk *walk, const char *name)
{
	struct stat st;
	CLEANUP_FD int fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return err_sys(errno, "%s", walk->path);
	if (S_ISLNK(st.st_mode))
		return safe_folder_follow(walk, fd, &st);
	walk_to(walk, steal_fd(fd));
	return NULL;
}

static struct err *walk_path(struct walk *walk, const char *path)
{
	CLEANUP_FREE char *copy = mem_strdup(path);
	char *rest = NULL;
	if (path[0] == '/')
		walk_to(walk, open("/", FOLDER));
	for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest))
		try(safe_folder_step(walk, name));
	return NULL;
}

/* Link by link, each of which is looked at. */
static struct err *safe_folder_open_by_walk(const char *path, const struct caller *caller, int *ret)
{
	struct stat st;
	struct walk walk = {.path = path, .caller = caller, .fd = open(".", FOLDER)};
	struct err *err = walk_path(&walk, path);
	if (!err && fstat(walk.fd, &st))
		err = err_sys(errno, "%s", path);
	if (!err && !S_ISDIR(st.st_mode))
		err = err_sys(ENOTDIR, "%s", path);
	if (err)
		mem_close_fd(&walk.fd);
	else
		*ret = walk.fd;
	return err;
}

struct err *safe_folder_open(const char *path, const struct caller *caller, int *ret)
{
	struct open_how how = {.flags = FOLDER, .resolve = RESOLVE_NO_SYMLINKS};
	const char *shown = path[0] ? path : ".";
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, shown, &how, sizeof(how));
	if (fd >= 0) {
		*ret = fd;
		return NULL;
	}
	/* The usual case has no links. ENOSYS: before Linux 5.6; EPERM: a filter of a container. */
	if (errno != ELOOP && errno != ENOSYS && errno != EPERM)
		return err_sys(errno, "%s", shown);
	return safe_folder_open_by_walk(shown, caller, ret);
}

struct err *safe_folder_open_parent(
	const char *path, const struct caller *caller, int *ret, const char **name)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	if (!last[0] || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return err_new(ERR_USAGE, "%s is no name of a file", path);
	/* "/x" stands in "/" */
	size_t len = slash ? (size_t)(slash - path) + (slash == path) : 0;
	CLEANUP_FREE char *folder = mem_strndup(path, len);
	try(safe_folder_open(folder, caller, ret));
	*name = last;
	return NULL;
}

/* ---- new ones ---- */

/* Another user may have put something else into its place meanwhile. */
static struct err *give_new(int fd, const char *path, const struct caller *caller)
{
	struct stat st;
	if (fstat(fd, &st))
		return err_sys(errno, "%s", path);
	if (st.st_uid != geteuid())
		return err_new(
			ERR_PERMISSION, "%s was replaced by user %u", path, (unsigned)st.st_uid);
	if (caller->is_set && fchown(fd, caller->uid, caller->gid))
		return err_sys(errno, "cannot give %s to user %u", path, caller->uid);
	return NULL;
}

static struct err *make_new(const char *path, unsigned mode, const struct caller *caller, int *ret)
{
	const char *name;
	CLEANUP_FD int parent = -1;
	try(safe_folder_open_parent(path, caller, &parent, &name));
	if (mkdirat(parent, name, mode))
		return errno == EEXIST ? NULL : err_sys(errno, "cannot create %s", path);
	CLEANUP_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "%s", path);
	try(give_new(fd, path, caller));
	*ret = steal_fd(fd);
	return NULL;
}

static struct err *open_there(const char *path, const struct caller *caller, int *ret)
{
	CLEANUP_FD int folder = -1;
	try(safe_folder_open(path, caller, &folder));
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "%s", path);
	*ret = fd;
	return NULL;
}

struct err *safe_folder_make(
	const char *path, unsigned mode, const struct caller *caller, int *ret, bool *is_made)
{
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	CLEANUP_FREE char *plain = mem_strndup(path, len);
	const char *last = strrchr(plain, '/') ? strrchr(plain, '/') + 1 : plain;
	bool has_name = last[0] && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
	int fd = -1;
	if (has_name)
		try(make_new(plain, mode, caller, &fd));
	if (is_made)
		*is_made = fd >= 0;
	if (fd < 0)
		return open_there(path, caller, ret);
	*ret = fd;
	return NULL;
}
