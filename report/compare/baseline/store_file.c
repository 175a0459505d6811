#include "report/compare/baseline/store_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/map.h"
#include "format/base/str.h"

enum {
	LOCK_TRIES = 1200,
	LOCK_PAUSE_NS = 50000000,
};

static const char unfinished[] = "new-";

bool store_file_is_unfinished(const char *name)
{
	return strncmp(name, unfinished, strlen(unfinished)) == 0;
}

static void give(const struct store_folder *folder, int fd)
{
	if (folder->has_owner && fchown(fd, folder->uid, folder->gid))
		err_destroy(err_sys(errno, "fchown")); /* it can be read all the same */
}

/* ---- writing ---- */

static struct err *make_folder(const struct store_folder *folder, const char *name)
{
	if (mkdirat(folder->fd, name, 0777)) /* the umask takes away what it has to */
		return errno == EEXIST ? NULL
				       : err_sys(errno, "cannot create %s/%s", folder->path, name);
	CLEANUP_FD int fd =
		openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		give(folder, fd);
	return NULL;
}

static struct err *store_file_make_folders(const struct store_folder *folder, const char *name)
{
	CLEANUP_FREE char *copy = mem_strdup(name);
	for (char *slash = copy; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		try(make_folder(folder, copy));
	}
	return NULL;
}

static struct err *write_synced(int fd, const void *bytes, size_t len)
{
	try(fd_write_all(fd, bytes, len));
	return fsync(fd) ? err_sys(errno, "fsync") : NULL;
}

/* The names of a folder are on the disk once it is synced, too. */
static void sync_parent(const struct store_folder *folder, const char *name)
{
	CLEANUP_FREE char *parent = mem_strdup(name);
	char *slash = strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	CLEANUP_FD int fd =
		openat(folder->fd, slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd))
		err_destroy(err_sys(errno, "fsync")); /* not every file system can */
}

struct err *store_file_write(
	const struct store_folder *folder, const char *name, const void *bytes, size_t len)
{
	CLEANUP(str_deinit) struct str temporary = {0};
	str_printf(&temporary, "%s%llx", unfinished, (unsigned long long)map_random_seed());
	try(store_file_make_folders(folder, name));
	CLEANUP_FD int fd = openat(folder->fd, str_text(&temporary),
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_sys(errno, "cannot create a file in %s", folder->path);
	give(folder, fd);
	struct err *err = write_synced(fd, bytes, len);
	if (!err && renameat(folder->fd, str_text(&temporary), folder->fd, name))
		err = err_sys(errno, "cannot rename");
	if (err)
		unlinkat(folder->fd, str_text(&temporary), 0);
	else
		sync_parent(folder, name);
	return err_wrap(err, "%s/%s", folder->path, name);
}

struct err *store_file_remove(const struct store_folder *folder, const char *name)
{
	if (!unlinkat(folder->fd, name, 0) || errno == ENOENT)
		return NULL;
	if (errno == EISDIR && (!unlinkat(folder->fd, name, AT_REMOVEDIR) || errno == ENOTEMPTY ||
				       errno == EEXIST || errno == ENOENT))
		return NULL;
	return err_sys(errno, "cannot remove %s/%s", folder->path, name);
}

/* ---- reading ---- */

static struct err *store_file_read_all(int fd, size_t max_bytes, struct bytes_buf *ret)
{
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_new(ERR_FORMAT, "it is no regular file");
	if ((uint64_t)st.st_size > max_bytes)
		return err_new(ERR_FORMAT, "it has %llu bytes, more than %zu",
			(unsigned long long)st.st_size, max_bytes);
	char piece[64 << 10];
	while (ret->len <= max_bytes) {
		ssize_t got = fd_read(fd, piece, sizeof(piece));
		if (got < 0)
			return err_sys(errno, "cannot read");
		if (!got)
			return NULL;
		bytes_put(ret, piece, (size_t)got);
	}
	return err_new(ERR_FORMAT, "it grows while it is read");
}

struct err *store_file_read(const struct store_folder *folder, const char *name, size_t max_bytes,
	bool *found, struct bytes_buf *ret)
{
	CLEANUP_FD int fd =
		openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	*found = fd >= 0;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return NULL;
	if (fd < 0)
		return err_sys(errno, "cannot open %s/%s", folder->path, name);
	struct bytes_buf bytes = {0};
	struct err *err = store_file_read_all(fd, max_bytes, &bytes);
	if (err)
		bytes_buf_deinit(&bytes);
	else
		*ret = bytes;
	return err_wrap(err, "%s/%s", folder->path, name);
}

bool store_file_look(
	const struct store_folder *folder, const char *name, struct store_file_facts *ret)
{
	struct stat st;
	if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	*ret = (struct store_file_facts){(uint64_t)st.st_size, st.st_mtime};
	return true;
}

static int store_file_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What stands where a folder of baselines may, and is none. A link is an error: taken for
 * an empty folder, what it leads to would be removed as unused. */
static struct err *explain_no_folder(
	const struct store_folder *folder, const char *name, int errnum)
{
	struct stat st;
	bool is_there = !fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW);
	if (is_there && S_ISLNK(st.st_mode))
		return err_new(ERR_IO, "%s/%s is a symbolic link, which is not followed here",
			folder->path, name);
	bool is_none = errnum == ENOENT || errnum == ENOTDIR;
	return is_none ? NULL : err_sys(errnum, "cannot read %s/%s", folder->path, name);
}

struct err *store_file_list(
	const struct store_folder *folder, const char *name, struct store_names *ret)
{
	struct store_names names = {0};
	int fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	*ret = names;
	if (!dir) {
		int errnum = errno;
		mem_close_fd(&fd);
		return explain_no_folder(folder, name, errnum);
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			vec_push(&names, mem_strdup(entry->d_name));
	closedir(dir);
	if (names.len)
		qsort(names.data, names.len, sizeof(*names.data), store_file_compare_names);
	*ret = names;
	return NULL;
}

void store_names_deinit(struct store_names *names)
{
	vec_each(names, name)
		mem_free(*name);
	vec_deinit(names);
}

/* ---- the lock ---- */

struct err *store_file_lock(const struct store_folder *folder, int *ret)
{
	CLEANUP_FD int fd = openat(
		folder->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_sys(errno, "%s/lock", folder->path);
	give(folder, fd);
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(errno, "%s/lock", folder->path);
		if (i == LOCK_TRIES)
			return err_new(
				ERR_UNAVAILABLE, "%s is in use by another process", folder->path);
		nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
	}
	*ret = steal_fd(fd);
	return NULL;
}
