#include "format/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/safe_folder.h"
#include "format/base/str.h"

enum {
	MAX_TRIES = 100,
	NAME_PREFIX_BYTES = 200, /* of NAME_MAX, with room for what makes it random */
	FD_PATH_BYTES = 32,
	MAX_SPARED_BYTES = 16,
};

struct output_file {
	struct output_file_options options;
	char *path;
	const char *name; /* in the folder; points into `path` */
	int folder, fd;
	char *temporary; /* the name in the folder until it is published; NULL: it has none */
	bool is_published;
	dev_t device;
	ino_t inode;
};

/* ---- names in a folder ---- */

static char *random_name(const char *name)
{
	struct str random = {0};
	str_printf(&random, "%.*s.%016llx", NAME_PREFIX_BYTES, name,
		(unsigned long long)map_random_seed());
	return str_steal(&random);
}

static void put_fd_path(char ret[FD_PATH_BYTES], int fd)
{
	snprintf(ret, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* What the file system cannot do: NFS, FUSE and FAT have no flags of renameat2(). */
static bool is_lacking(int errnum)
{
	return errnum == EINVAL || errnum == ENOSYS || errnum == EOPNOTSUPP;
}

/*
 * Renames, but replaces nothing; errno is EEXIST then. A file system without links has no way to do
 * that in one step: another user who makes the name in that moment loses.
 */
static int move_to_free_name(int folder, const char *from, const char *to)
{
	struct stat st;
	if (!renameat2(folder, from, folder, to, RENAME_NOREPLACE))
		return 0;
	if (!is_lacking(errno))
		return -1;
	if (!linkat(folder, from, folder, to, 0))
		return unlinkat(folder, from, 0);
	if (errno == EEXIST || errno == ENOENT)
		return -1;
	if (!fstatat(folder, to, &st, AT_SYMLINK_NOFOLLOW)) {
		errno = EEXIST;
		return -1;
	}
	return errno == ENOENT ? renameat(folder, from, folder, to) : -1;
}

/* `b` is away for a moment. */
static int exchange_by_steps(int folder, const char *a, const char *b)
{
	CLEANUP_FREE char *aside = random_name(b);
	if (move_to_free_name(folder, b, aside))
		return -1;
	if (!move_to_free_name(folder, a, b))
		return move_to_free_name(folder, aside, a);
	int errnum = errno;
	if (move_to_free_name(folder, aside, b))
		errnum = errno;
	errno = errnum;
	return -1;
}

static int exchange(int folder, const char *a, const char *b)
{
	if (!renameat2(folder, a, folder, b, RENAME_EXCHANGE))
		return 0;
	return is_lacking(errno) ? exchange_by_steps(folder, a, b) : -1;
}

/* ---- what may be replaced ---- */

static bool is_input(const struct output_file_options *options, const struct stat *st)
{
	struct stat input;
	for (size_t i = 0; i < options->nr_inputs; i++)
		if (!stat(options->inputs[i], &input) && input.st_dev == st->st_dev &&
			input.st_ino == st->st_ino)
			return true;
	return false;
}

static struct err *check_kind(const struct output_file_options *options, const struct stat *st)
{
	if (strcmp(options->path, "/dev/stdout") == 0)
		return err_new(ERR_USAGE, "%s: for standard output use -o -", options->path);
	if (S_ISLNK(st->st_mode))
		return err_new(
			ERR_USAGE, "%s is a symbolic link; name the file itself", options->path);
	if (!S_ISREG(st->st_mode))
		return err_new(ERR_USAGE,
			"%s is not a regular file; for anything else use -o - and redirect it",
			options->path);
	if (is_input(options, st))
		return err_new(ERR_USAGE, "%s is the recording itself", options->path);
	return NULL;
}

static struct err *check_owner(const struct output_file *file, const char *ending, uint32_t uid)
{
	if (caller_owns(&file->options.owner, uid))
		return NULL;
	return err_new(ERR_PERMISSION, "%s%s belongs to user %u; remove it or choose another name",
		file->path, ending, (unsigned)uid);
}

/* What cannot be read is no such file as far as is known. */
static struct err *check_head(
	const struct output_file_options *options, int folder, const char *name)
{
	char head[MAX_SPARED_BYTES];
	size_t len = options->spared_bytes;
	CLEANUP_FD int fd = len ? openat(folder, name,
					  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
				: -1;
	if (fd < 0 || pread(fd, head, len, 0) != (ssize_t)len ||
		memcmp(head, options->spared_head, len) != 0)
		return NULL;
	return err_new(ERR_USAGE, "%s is %s; remove it or choose another name", options->path,
		options->spared_as);
}

static struct err *check_replaced(const struct output_file *file, const char *name, struct stat st)
{
	if (file->options.is_new)
		return err_sys(EEXIST, "%s", file->path);
	try(check_kind(&file->options, &st));
	try(check_owner(file, "", st.st_uid));
	return check_head(&file->options, file->folder, name);
}

/* A link may go: nothing but the link is lost. */
static struct err *check_replaced_old(
	const struct output_file *file, const char *name, struct stat st)
{
	(void)name;
	if (S_ISDIR(st.st_mode))
		return err_new(ERR_USAGE,
			"%s.old is a directory, but %s is to be kept under that name", file->path,
			file->path);
	return check_owner(file, ".old", st.st_uid);
}

typedef struct err *check_fn(const struct output_file *file, const char *name, struct stat st);

/* `fn` of what has this name in the folder; nothing has it: nothing to be refused. */
static struct err *check_name(const struct output_file *file, const char *name, check_fn *fn)
{
	struct stat st;
	if (fstatat(file->folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? NULL : err_sys(errno, "%s", file->path);
	return fn(file, name, st);
}

static struct err *check_early(const struct output_file *file)
{
	CLEANUP(str_deinit) struct str old = {0};
	try(check_name(file, file->name, check_replaced));
	if (!file->options.keeps_old || faccessat(file->folder, file->name, F_OK, 0))
		return NULL;
	str_printf(&old, "%s.old", file->name);
	return check_name(file, str_text(&old), check_replaced_old);
}

/* ---- creating ---- */

/* False without /proc, by which a file without a name gets one. */
static bool can_link(int fd)
{
	char path[FD_PATH_BYTES];
	put_fd_path(path, fd);
	return !access(path, F_OK);
}

static int open_unnamed(int folder)
{
	int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 && !can_link(fd))
		mem_close_fd(&fd);
	return fd;
}

static struct err *open_new(struct output_file *file)
{
	struct stat st;
	file->fd = open_unnamed(file->folder);
	if (file->fd < 0) {
		CLEANUP_FREE char *name = random_name(file->name);
		file->fd = openat(file->folder, name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file->fd < 0)
			return err_sys(errno, "cannot create %s", file->path);
		file->temporary = steal_ptr(name);
	}
	const struct caller *owner = &file->options.owner;
	if (owner->is_set && fchown(file->fd, owner->uid, owner->gid))
		return err_sys(errno, "cannot give %s to user %u", file->path, owner->uid);
	if (fstat(file->fd, &st))
		return err_sys(errno, "%s", file->path);
	file->device = st.st_dev;
	file->inode = st.st_ino;
	return NULL;
}

static struct err *output_file_create_at(struct output_file *file)
{
	try(err_wrap(safe_folder_open_parent(
			     file->path, &file->options.owner, &file->folder, &file->name),
		"cannot create %s", file->path));
	if (!file->options.is_checked_late)
		try(check_early(file));
	return open_new(file);
}

struct err *output_file_create(const struct output_file_options *options, struct output_file **ret)
{
	struct output_file *file = mem_zalloc(sizeof(*file));
	file->options = *options;
	file->options.path = file->path = mem_strdup(options->path);
	file->folder = file->fd = -1;
	struct err *err = output_file_create_at(file);
	if (err)
		output_file_destroy(file);
	else
		*ret = file;
	return err;
}

int output_file_fd(const struct output_file *file)
{
	return file->fd;
}

struct err *output_file_close(struct output_file *file)
{
	int fd = steal_fd(file->fd);
	if (fd >= 0 && close(fd))
		return err_sys(errno, "%s: close", file->path);
	return NULL;
}

void output_file_destroy(struct output_file *file)
{
	if (!file)
		return;
	if (file->temporary)
		unlinkat(file->folder, file->temporary, 0);
	mem_free(file->temporary);
	mem_close_fd(&file->fd);
	mem_close_fd(&file->folder);
	mem_free(file->path);
	mem_free(file);
}

/* ---- publishing ---- */

static int link_as(const struct output_file *file, const char *name)
{
	char path[FD_PATH_BYTES];
	put_fd_path(path, file->fd);
	return linkat(AT_FDCWD, path, file->folder, name, AT_SYMLINK_FOLLOW);
}

/* Where nothing has the name. EEXIST: something has. */
static int publish_as_new(const struct output_file *file)
{
	return file->temporary ? move_to_free_name(file->folder, file->temporary, file->name)
			       : link_as(file, file->name);
}

/* What was exchanged out has the temporary name now: it becomes NAME.old. */
static struct err *keep_old(struct output_file *file)
{
	CLEANUP(str_deinit) struct str old = {0};
	str_printf(&old, "%s.old", file->name);
	if (!move_to_free_name(file->folder, file->temporary, str_text(&old)))
		return NULL;
	if (errno != EEXIST || exchange(file->folder, file->temporary, str_text(&old)))
		return err_sys(errno, "cannot rename %s to %s", file->path, str_text(&old));
	struct err *err = check_name(file, file->temporary, check_replaced_old);
	if (!err && unlinkat(file->folder, file->temporary, 0) && errno != ENOENT)
		err = err_sys(errno, "cannot remove %s.old", file->path);
	if (err && exchange(file->folder, file->temporary, str_text(&old)))
		err = err_wrap(err, "%s.old is %s now", file->path, file->temporary);
	return err;
}

static struct err *dispose_of_old(struct output_file *file)
{
	try(check_name(file, file->temporary, check_replaced));
	if (file->options.keeps_old)
		return keep_old(file);
	if (unlinkat(file->folder, file->temporary, 0) && errno != ENOENT)
		return err_sys(errno, "cannot remove the older %s", file->path);
	return NULL;
}

/* Something has the name. *is_gone: not any more. */
static struct err *replace(struct output_file *file, bool *is_gone)
{
	try(check_name(file, file->name, check_replaced));
	if (exchange(file->folder, file->temporary, file->name)) {
		*is_gone = errno == ENOENT;
		return *is_gone ? NULL : err_sys(errno, "cannot create %s", file->path);
	}
	struct err *err = dispose_of_old(file);
	if (err && exchange(file->folder, file->temporary, file->name)) {
		/* Neither of the two is removed. */
		err = err_wrap(err, "what was %s is %s now", file->path, file->temporary);
		mem_free(steal_ptr(file->temporary));
	}
	return err;
}

static struct err *name_temporarily(struct output_file *file)
{
	CLEANUP_FREE char *name = file->temporary ? NULL : random_name(file->name);
	if (!name)
		return NULL;
	if (link_as(file, name))
		return err_sys(errno, "cannot create %s", file->path);
	file->temporary = steal_ptr(name);
	return NULL;
}

static struct err *give_name(struct output_file *file)
{
	for (int i = 0; i < MAX_TRIES; i++) {
		bool is_gone = false;
		if (!publish_as_new(file))
			return NULL;
		if (errno != EEXIST)
			return err_sys(errno, "cannot create %s", file->path);
		if (file->options.is_new)
			return err_sys(EEXIST, "%s", file->path);
		try(name_temporarily(file));
		try(replace(file, &is_gone));
		if (!is_gone)
			return NULL;
	}
	return err_new(ERR_UNAVAILABLE, "%s comes and goes", file->path);
}

struct err *output_file_publish(struct output_file *file)
{
	mode_t mask = umask(0);
	umask(mask);
	if (file->is_published)
		return NULL;
	if (file->options.is_for_all && fchmod(file->fd, 0644 & ~mask))
		return err_sys(errno, "%s: cannot set its mode", file->path);
	try(give_name(file));
	mem_free(steal_ptr(file->temporary));
	file->is_published = true;
	return NULL;
}

/* ---- what was published ---- */

static bool is_there(const struct output_file *file)
{
	struct stat st;
	return !fstatat(file->folder, file->name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_dev == file->device && st.st_ino == file->inode;
}

struct err *output_file_set_aside(struct output_file *file, const char *name, bool *is_moved)
{
	*is_moved = is_there(file);
	if (!*is_moved || !move_to_free_name(file->folder, file->name, name))
		return NULL;
	*is_moved = false;
	return errno == ENOENT ? NULL : err_sys(errno, "cannot rename %s to %s", file->path, name);
}

void output_file_remove_aside(const struct output_file *file, const char *name)
{
	unlinkat(file->folder, name, 0);
}

/* ---- appending ---- */

static struct err *check_appended(
	const struct output_file_options *options, int folder, const char *name)
{
	struct stat st;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? NULL : err_sys(errno, "%s", options->path);
	try(check_kind(options, &st));
	return check_head(options, folder, name);
}

static struct err *open_appended(
	const struct output_file_options *options, int folder, const char *name, int *ret)
{
	enum {
		HOW = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
	};
	const struct caller *owner = &options->owner;
	CLEANUP_FD int fd = openat(folder, name, HOW | O_CREAT | O_EXCL, 0644);
	if (fd >= 0 && owner->is_set && fchown(fd, owner->uid, owner->gid))
		return err_sys(errno, "cannot give %s to user %u", options->path, owner->uid);
	if (fd < 0 && errno == EEXIST)
		fd = openat(folder, name, HOW);
	if (fd < 0)
		return err_sys(errno, "cannot append to %s", options->path);
	*ret = steal_fd(fd);
	return NULL;
}

struct err *output_file_open_append(const struct output_file_options *options, int *ret)
{
	const char *name;
	struct stat st;
	CLEANUP_FD int folder = -1, fd = -1;
	try(safe_folder_open_parent(options->path, &options->owner, &folder, &name));
	try(check_appended(options, folder, name));
	try(open_appended(options, folder, name, &fd));
	if (fstat(fd, &st))
		return err_sys(errno, "%s", options->path);
	try(check_kind(options, &st));
	if (st.st_nlink > 1 && !caller_owns(&options->owner, st.st_uid))
		return err_new(ERR_PERMISSION, "%s is another name of a file of user %u",
			options->path, (unsigned)st.st_uid);
	*ret = steal_fd(fd);
	return NULL;
}
