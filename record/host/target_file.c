#include "record/host/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/base/caller.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/host/proc.h"
#include "record/host/proc_access.h"

enum {
	MAX_OWN_BYTES = 16 << 20,
	MAX_OTHER_BYTES = 1 << 20,
	/* Of other namespaces' tables in a second, which takes 40 ms: any user can have long ones.
	 */
	MAX_BYTES_PER_S = 8 << 20,
	MAX_ANCESTORS = 4,
	FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC,
};

/* The mounts that a process can reach, and whether they are as when they were read. */
struct reachable {
	uint32_t pid;
	int fd; /* of mountinfo; -1: there are none */
	struct mount_table table;
	bool is_foreign; /* the mount namespace belongs to another user namespace than ours */
};

struct target_files {
	bool is_restricted, trusts_gone;
	struct caller caller;
	int root_fd;
	struct mount_file root;
	uint64_t memory_mount; /* that of memfds, which no table has */
	struct reachable own, other;
	uint64_t second;    /* the present one, */
	size_t bytes_in_it; /* ... and what was read of tables */
};

/* ---- tables of mounts ---- */

static void target_file_forget(struct reachable *reachable)
{
	mem_close_fd(&reachable->fd);
	mount_table_deinit(&reachable->table);
	reachable->pid = 0;
}

static bool is_unchanged(const struct reachable *reachable)
{
	struct pollfd changed = {.fd = reachable->fd, .events = POLLPRI};
	return reachable->fd >= 0 && poll(&changed, 1, 0) == 0;
}

static const struct mount_table *own_mounts(struct target_files *files)
{
	if (!is_unchanged(&files->own) || !files->own.table.text)
		mount_table_read(&files->own.table, files->own.fd, MAX_OWN_BYTES);
	return &files->own.table;
}

/* Of an ancestor's user namespace, whose user has rights over us anyway, the kernel says nothing:
 * EPERM. */
static bool is_foreign(int mounts_fd)
{
	struct stat owner, own;
	CLEANUP_FD int owner_fd = ioctl(mounts_fd, NS_GET_USERNS);
	if (owner_fd < 0)
		return errno != EPERM;
	return fstat(owner_fd, &owner) || stat("/proc/self/ns/user", &own) ||
	       owner.st_dev != own.st_dev || owner.st_ino != own.st_ino;
}

/*
 * By one descriptor of the process's folder, so that it is one process. That namespace is looked at
 * last: who has left the one that root made does not get back there.
 */
static bool target_file_open_other(struct reachable *other, uint32_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%u", pid);
	CLEANUP_FD int folder = open(path, FOLDER);
	CLEANUP_FD int fd = openat(folder, "mountinfo", O_RDONLY | O_CLOEXEC);
	CLEANUP_FD int mounts_fd = openat(folder, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (folder < 0 || fd < 0 || mounts_fd < 0)
		return false;
	other->pid = pid;
	other->is_foreign = is_foreign(mounts_fd);
	other->fd = steal_fd(fd);
	return true;
}

static bool may_read_more(struct target_files *files)
{
	uint64_t second = clock_now_ns() / NS_PER_S;
	if (second != files->second)
		files->bytes_in_it = 0;
	files->second = second;
	return files->bytes_in_it < MAX_BYTES_PER_S;
}

/* NULL: it is gone, or too much was read of late. Good until the next call. */
static const struct mount_table *mounts_of(struct target_files *files, uint32_t pid)
{
	struct reachable *other = &files->other;
	if (other->pid == pid && is_unchanged(other))
		return &other->table;
	target_file_forget(other);
	if (!may_read_more(files) || !target_file_open_other(other, pid))
		return NULL;
	files->bytes_in_it += mount_table_read(&other->table, other->fd, MAX_OTHER_BYTES);
	return &other->table;
}

/* ---- which mounts are harmless ---- */

static bool is_harmless(
	const struct target_files *files, const struct mount *mount, bool is_in_foreign)
{
	const struct mount *root = mount_table_find(&files->own.table, files->root.mount_id);
	if (root && root->major_no == mount->major_no && root->minor_no == mount->minor_no)
		return true;
	return !mount_is_remote(mount) && !(is_in_foreign && strcmp(mount->type, "overlay") == 0);
}

/*
 * A process that has another root directory than its mount namespace does not see what it maps of
 * the rest; its ancestors may. Numbers are the same for all.
 */
static bool is_harmless_elsewhere(struct target_files *files, uint64_t id, uint32_t pid)
{
	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
		const struct mount_table *mounts = mounts_of(files, pid);
		const struct mount *mount = mounts ? mount_table_find(mounts, id) : NULL;
		if (mount)
			return is_harmless(files, mount, files->other.is_foreign);
		struct proc_stat stat;
		if (!mounts || !proc_read_stat(pid, &stat))
			break;
		pid = stat.parent_pid;
	}
	return false;
}

/* A descriptor on the mount is open, so that its number is not another's meanwhile. */
static bool is_harmless_mount(struct target_files *files, uint64_t id, uint32_t pid)
{
	const struct mount *mount = mount_table_find(own_mounts(files), id);
	if (mount)
		return is_harmless(files, mount, false);
	return id && (id == files->memory_mount || is_harmless_elsewhere(files, id, pid));
}

/* ---- whose files they are ---- */

/* The real user: the owner of /proc/PID is root's for processes that hide from debuggers. */
static bool is_of_own_user(const struct target_files *files, uint32_t pid)
{
	uint32_t uid;
	if (!proc_read_uid(pid, &uid))
		return files->trusts_gone;
	return caller_owns(&files->caller, uid);
}

/* Whether to do without all care: errno is of the careful attempt, and stays. */
static bool may_wait(const struct target_files *files, uint32_t pid)
{
	int error = errno;
	bool may = error == EREMOTE && is_of_own_user(files, pid);
	errno = error;
	return may;
}

static bool is_restricted(const struct target_files *files)
{
	return files && files->is_restricted;
}

struct target_files *target_files_create(bool trusts_gone)
{
	struct target_files *files = mem_zalloc(sizeof(*files));
	struct mount_file memory = {0};
	CLEANUP_FD int memory_fd = memfd_create("ebprof", MFD_CLOEXEC);
	if (memory_fd >= 0)
		mount_file_of(memory_fd, &memory);
	files->is_restricted = geteuid() == 0;
	files->trusts_gone = trusts_gone;
	files->caller = caller_find();
	files->memory_mount = memory.mount_id;
	files->root_fd = open("/", FOLDER);
	mount_file_of(files->root_fd, &files->root);
	files->own.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	files->other.fd = -1;
	return files;
}

void target_files_destroy(struct target_files *files)
{
	if (!files)
		return;
	target_file_forget(&files->own);
	target_file_forget(&files->other);
	mem_close_fd(&files->root_fd);
	mem_free(files);
}

/* ---- opening ---- */

static int target_file_fail(int error)
{
	errno = error;
	return -1;
}

static int open_for_reading(int path_fd, struct stat *st)
{
	CLEANUP_FD int fd = path_fd < 0 ? -1 : mount_file_reopen(path_fd);
	return fd < 0 || fstat(fd, st) ? -1 : steal_fd(fd);
}

/* What the first thread has no more once it has ended, others still have. */
static int open_of_process(uint32_t pid, const char *name, int flags)
{
	int fd = proc_access_open(pid, name, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	uint32_t tid = proc_living_thread(pid);
	return tid != pid ? proc_access_open(tid, name, flags) : target_file_fail(ENOENT);
}

int target_file_open_mapped(
	struct target_files *files, uint32_t pid, uint64_t start, uint64_t end, struct stat *st)
{
	char name[64];
	struct mount_file file;
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)start,
		(unsigned long long)end);
	CLEANUP_FD int fd = open_of_process(pid, name, O_PATH);
	if (fd < 0)
		return -1;
	if (!mount_file_of(fd, &file)) /* FUSE without allow_other tells other users nothing */
		return errno == EACCES ? target_file_fail(EREMOTE) : -1;
	if (is_restricted(files) && !is_harmless_mount(files, file.mount_id, pid) &&
		!is_of_own_user(files, pid))
		return target_file_fail(EREMOTE);
	return open_for_reading(fd, st);
}

int target_file_open_root(uint32_t pid, struct mount_file *ret)
{
	CLEANUP_FD int fd = open_of_process(pid, "root", FOLDER);
	return fd >= 0 && mount_file_of(fd, ret) ? steal_fd(fd) : -1;
}

struct entering {
	const struct target_files *files;
	uint64_t root_id; /* of a mount that was judged before */
	bool is_foreign;
};

static bool target_file_may_enter(void *context, uint64_t id, const struct mount *mount)
{
	const struct entering *entering = context;
	return id == entering->root_id ||
	       (mount && is_harmless(entering->files, mount, entering->is_foreign));
}

typedef int open_fn(const struct mount_view *view, const char *path);

static int open_here(struct target_files *files, open_fn *fn, const char *path)
{
	struct entering entering = {files, files->root.mount_id, false};
	struct mount_view view = {
		files->root_fd, own_mounts(files), target_file_may_enter, &entering};
	return fn(&view, path);
}

static bool is_own_root(const struct target_files *files, const struct mount_file *root)
{
	return root->mount_id && root->mount_id == files->root.mount_id &&
	       root->inode == files->root.inode;
}

static int open_in_root(struct target_files *files, uint32_t pid, open_fn *fn, const char *path)
{
	struct mount_file root;
	CLEANUP_FD int root_fd = target_file_open_root(pid, &root);
	if (root_fd < 0)
		return -1;
	if (is_own_root(files, &root))
		return open_here(files, fn, path);
	/* Judging the root's mount may need other tables than the process's own. */
	if (!is_harmless_mount(files, root.mount_id, pid))
		return target_file_fail(EREMOTE);
	const struct mount_table *mounts = mounts_of(files, pid);
	if (!mounts)
		return target_file_fail(EREMOTE);
	struct entering entering = {files, root.mount_id, files->other.is_foreign};
	struct mount_view view = {root_fd, mounts, target_file_may_enter, &entering};
	return fn(&view, path);
}

static int open_in_root_anyway(uint32_t pid, const char *path)
{
	char full[4200];
	snprintf(full, sizeof(full), "/proc/%u/root%.4096s", pid, path);
	return open(full, O_PATH | O_CLOEXEC);
}

int target_file_open_in_root(
	struct target_files *files, uint32_t pid, const char *path, struct stat *st)
{
	CLEANUP_FD int fd = -1;
	if (is_restricted(files))
		fd = open_in_root(files, pid, mount_view_open_canonical, path);
	if (!is_restricted(files) || (fd < 0 && may_wait(files, pid)))
		fd = open_in_root_anyway(pid, path);
	return open_for_reading(fd, st);
}

int target_file_open_here(
	struct target_files *files, uint32_t pid, const char *path, struct stat *st)
{
	CLEANUP_FD int fd = -1;
	if (is_restricted(files))
		fd = open_here(files, mount_view_open_canonical, path);
	if (!is_restricted(files) || (fd < 0 && may_wait(files, pid)))
		fd = open(path, O_PATH | O_CLOEXEC);
	return open_for_reading(fd, st);
}

int target_file_open_below(
	const struct target_files *files, int folder_fd, const char *name, struct stat *st)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	CLEANUP_FD int fd = -1;
	if (is_restricted(files))
		fd = (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof(how));
	else
		fd = openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return open_for_reading(fd, st);
}

/* Absolute links do not lead out of the process's root. */
static int open_folder_anyway(uint32_t pid, const char *path)
{
	struct open_how how = {
		.flags = FOLDER,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	struct mount_file root;
	CLEANUP_FD int root_fd = target_file_open_root(pid, &root);
	return root_fd < 0 ? -1 : (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

int target_file_open_folder(
	struct target_files *files, uint32_t pid, bool is_here, const char *path)
{
	int fd = -1;
	if (is_restricted(files))
		fd = is_here ? open_here(files, mount_view_open, path)
			     : open_in_root(files, pid, mount_view_open, path);
	if (!is_restricted(files) || (fd < 0 && may_wait(files, pid)))
		fd = is_here ? open(path, FOLDER) : open_folder_anyway(pid, path);
	return fd;
}

bool target_file_find(struct target_files *files, const char *path, struct mount_file *ret)
{
	CLEANUP_FD int fd = is_restricted(files) ? open_here(files, mount_view_open, path)
						 : open(path, O_PATH | O_CLOEXEC);
	return fd >= 0 && mount_file_of(fd, ret);
}
