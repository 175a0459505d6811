#include "record/file_ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/path.h"
#include "format/base/safe_folder.h"

enum {
	TAKE_OVER_MS = 10 * 1000,
	LOOK_US = 1000,
	SETTLING_MS = 10 * 60 * 1000, /* of the time of day, for files of before */
};

static struct ring_moment ring_now(void)
{
	return (struct ring_moment){clock_read_ns(CLOCK_REALTIME) / NS_PER_MS,
		clock_read_ns(CLOCK_BOOTTIME) / NS_PER_MS};
}

/* ---- what there is when it is opened ---- */

/* A recorder's, whatever program it runs by now. */
static bool is_of_our_name(unsigned pid)
{
	char path[64], own[32] = "", its[32] = "";
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	FILE *files[] = {fopen("/proc/self/comm", "re"), fopen(path, "re")};
	char *const texts[] = {own, its};
	for (int i = 0; i < 2; i++) {
		if (!files[i])
			continue;
		if (!fgets(texts[i], sizeof(own), files[i]))
			texts[i][0] = '\0';
		fclose(files[i]);
	}
	return own[0] && strcmp(own, its) == 0;
}

/* "lock: 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF" for each lock by this descriptor (4.1).
 */
static bool has_flock(uint32_t pid, const char *fd)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool has_lock = false;
	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.20s", pid, fd);
	FILE *file = fopen(path, "re");
	while (file && !has_lock && getline(&line, &size, file) > 0)
		has_lock = strncmp(line, "lock:", strlen("lock:")) == 0 && strstr(line, " FLOCK ");
	free(line); /* NOLINT: it is getline()'s */
	if (file)
		fclose(file);
	return has_lock;
}

/*
 * Whether the process has locked that very folder: /proc/locks has inode numbers, which files of
 * other file systems share (roots of tmpfs are all inode 1), and its devices are not stat()'s on
 * btrfs.
 */
static bool is_holder_of(uint32_t pid, const struct stat *folder)
{
	char path[64];
	struct stat st;
	bool is_found = false;
	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	DIR *fds = opendir(path);
	for (struct dirent *entry; fds && !is_found && (entry = readdir(fds));)
		is_found = !fstatat(dirfd(fds), entry->d_name, &st, 0) &&
			   st.st_dev == folder->st_dev && st.st_ino == folder->st_ino &&
			   has_flock(pid, entry->d_name);
	if (fds)
		closedir(fds);
	return is_found;
}

/* The pidfd is opened before the look at the process, which is thus the one that is signalled. */
static bool hold_process(uint32_t pid, const struct stat *folder, struct ring_holder *ret)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* Linux 5.3; close-on-exec */
	if (fd >= 0 && is_of_our_name(pid) && is_holder_of(pid, folder)) {
		*ret = (struct ring_holder){pid, fd};
		return true;
	}
	mem_close_fd(&fd);
	return false;
}

/* The recorder that has locked the ring, of those that can be seen; the caller closes its pidfd. */
static struct ring_holder find_holder(const struct file_ring *ring)
{
	struct ring_holder holder = {0, -1};
	struct stat st;
	char *line = NULL;
	size_t size = 0;
	bool is_found = false;
	FILE *locks = fstat(ring->folder, &st) ? NULL : fopen("/proc/locks", "re");
	while (locks && !is_found && getline(&line, &size, locks) > 0) {
		unsigned pid;
		unsigned long long inode;
		/* "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF" */
		if (sscanf(line, "%*u: FLOCK %*s WRITE %u %*x:%*x:%llu", &pid, &inode) == 2 &&
			inode == st.st_ino)
			is_found = hold_process(pid, &st, &holder);
	}
	free(line); /* NOLINT: it is getline()'s */
	if (locks)
		fclose(locks);
	return holder;
}

/* False: another one has it. */
static struct err *lock_ring(const struct file_ring *ring, bool *ret)
{
	*ret = !flock(ring->folder, LOCK_EX | LOCK_NB);
	return *ret || errno == EWOULDBLOCK
		       ? NULL
		       : err_sys(errno, "%s: cannot be locked", ring->options.folder);
}

static struct err *refuse_second(const struct file_ring *ring)
{
	return err_new(ERR_USAGE,
		"%s: another ebprof record writes there: stop it, give --take-over, or give each a "
		"folder of its own",
		ring->options.folder);
}

/* Nothing writes to it any more: it ended when it was written the last time. */
static void end_cut_file(struct file_ring *ring, struct ring_file *file)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct ring_name is = file->is;
	is.lasted_ms = ring_file_end_ms(file) - is.begun_ms;
	is.is_ended = true;
	ring_name_put(&is, &name);
	if (renameat2(ring->folder, file->name, ring->folder, str_text(&name), RENAME_NOREPLACE))
		return; /* it stays without an end, and is read as such */
	mem_free(file->name);
	file->name = str_steal(&name);
	file->is = is;
}

/* What there is but for a file of our own. */
static struct err *list_ring(struct file_ring *ring, const char *own_name)
{
	struct ring_files files = {0};
	try(ring_folder_list(ring->folder, ring->options.folder, &files));
	vec_each(&files, file) {
		if (own_name && strcmp(file->name, own_name) == 0) {
			ring_file_deinit(file);
			continue;
		}
		if (!file->is.is_ended)
			end_cut_file(ring, file);
		ring->ended_bytes += file->bytes;
		vec_push(&ring->ended, (struct ended_file){.file = *file});
	}
	vec_deinit(&files);
	return NULL;
}

static struct err *open_locked(struct file_ring *ring, const struct caller *owner)
{
	bool is_locked;
	try(safe_folder_make(ring->options.folder, 0700, owner, &ring->folder, NULL));
	try(lock_ring(ring, &is_locked));
	if (is_locked)
		return list_ring(ring, NULL);
	if (!ring->options.takes_over)
		return refuse_second(ring);
	ring->holder = find_holder(ring);
	return ring->holder.pid
		       ? NULL
		       : err_new(ERR_USAGE,
				 "%s: it is locked, and no recorder is seen that has it (of "
				 "another container, or without CAP_SYS_PTRACE): stop it there",
				 ring->options.folder);
}

static bool has_holder_ended(const struct ring_holder *holder)
{
	struct pollfd it = {.fd = holder->fd, .events = POLLIN};
	return poll(&it, 1, 0) > 0;
}

static struct err *end_holder(struct file_ring *ring)
{
	const struct ring_holder *holder = &ring->holder;
	bool is_locked = false;
	uint64_t until_ns = clock_now_ns() + (uint64_t)ring->patience_ms * NS_PER_MS;
	/* ESRCH: it has ended meanwhile. */
	if (syscall(SYS_pidfd_send_signal, holder->fd, SIGTERM, NULL, 0) && errno != ESRCH)
		return err_sys(errno, "%s: process %u writes there and cannot be ended",
			ring->options.folder, holder->pid);
	for (;;) {
		bool is_late = clock_now_ns() >= until_ns;
		try(lock_ring(ring, &is_locked));
		if (is_locked)
			return NULL;
		if (is_late)
			break;
		usleep(LOOK_US);
	}
	if (has_holder_ended(holder))
		return refuse_second(ring);
	return err_new(ERR_UNSUPPORTED,
		"%s: process %u writes there and does not end within %g s of SIGTERM",
		ring->options.folder, holder->pid, ring->patience_ms / 1e3);
}

struct err *file_ring_take_over(struct file_ring *ring, const char *own_path)
{
	if (!ring->holder.pid)
		return NULL;
	try(end_holder(ring));
	ring->holder.pid = 0;
	mem_close_fd(&ring->holder.fd);
	return list_ring(ring, path_last_part(own_path));
}

void file_ring_release(struct file_ring *ring)
{
	if (ring->folder >= 0 && !ring->holder.pid)
		flock(ring->folder, LOCK_UN);
}

struct err *file_ring_open(
	const struct session_ring *options, const struct caller *owner, struct file_ring *ret)
{
	struct file_ring ring = {.options = *options,
		.folder = -1,
		.holder = {0, -1},
		.patience_ms = TAKE_OVER_MS,
		.opened_at = ring_now().boot_ms,
		.least_wall_ms = UINT64_MAX};
	struct err *err = open_locked(&ring, owner);
	if (err)
		file_ring_deinit(&ring);
	else
		*ret = ring;
	return err;
}

void file_ring_deinit(struct file_ring *ring)
{
	mem_close_fd(&ring->folder);
	mem_close_fd(&ring->holder.fd);
	vec_each(&ring->ended, ended)
		ring_file_deinit(&ended->file);
	vec_deinit(&ring->ended);
}

/* ---- one file after the other ---- */

/* Two files may begin within a millisecond, or the time of day have been set back. */
char *file_ring_new_path(const struct file_ring *ring)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct str path = {0};
	struct stat st;
	for (struct ring_name is = {.begun_ms = ring_now().wall_ms};; is.begun_ms++) {
		str_truncate(&name, 0);
		ring_name_put(&is, &name);
		if (fstatat(ring->folder, str_text(&name), &st, AT_SYMLINK_NOFOLLOW))
			break;
	}
	str_printf(&path, "%s/%s", ring->options.folder, str_text(&name));
	return str_steal(&path);
}

char *file_ring_end_name(const char *path, uint64_t lasted_ns)
{
	struct str name = {0};
	struct ring_name is = {0};
	ring_name_parse(path_last_part(path), &is);
	is.lasted_ms = lasted_ns / NS_PER_MS;
	is.is_ended = true;
	ring_name_put(&is, &name);
	return str_steal(&name);
}

void file_ring_add_ended(struct file_ring *ring, const char *name)
{
	struct ring_file file = {0};
	struct stat st;
	if (!ring_name_parse(name, &file.is) ||
		fstatat(ring->folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return; /* another process took it away: it belongs to that one */
	file.name = mem_strdup(name);
	file.bytes = (uint64_t)st.st_size;
	file.written_ms = clock_from_timespec(st.st_mtim) / NS_PER_MS;
	ring->ended_bytes += file.bytes;
	vec_push(&ring->ended, (struct ended_file){file, ring_now().boot_ms});
}

/* ---- removing ---- */

/* Others may have removed it, or put something else into its place, which stays. */
static void remove_oldest(struct file_ring *ring)
{
	struct ended_file *oldest = ring->ended.data;
	const char *name = oldest->file.name;
	struct stat st;
	if (!fstatat(ring->folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		!unlinkat(ring->folder, name, 0))
		ring->removed++;
	ring->ended_bytes -= oldest->file.bytes;
	ring_file_deinit(&oldest->file);
	memmove(oldest, oldest + 1, --ring->ended.len * sizeof(*oldest));
}

static bool is_too_old(const struct file_ring *ring, const struct ring_moment *now)
{
	uint64_t keep_ms = ring->options.keep_ns / NS_PER_MS;
	const struct ended_file *oldest = ring->ended.data;
	if (!keep_ms)
		return false;
	if (oldest->ended_boot_ms)
		return oldest->ended_boot_ms + keep_ms < now->boot_ms;
	return now->boot_ms >= ring->opened_at + SETTLING_MS &&
	       ring_file_end_ms(&oldest->file) + keep_ms < ring->least_wall_ms + now->boot_ms;
}

static bool is_too_much(const struct file_ring *ring, uint64_t current_bytes)
{
	uint64_t keep = ring->options.keep_bytes;
	return keep && ring->ended_bytes + current_bytes > keep;
}

void file_ring_prune_at(
	struct file_ring *ring, uint64_t current_bytes, const struct ring_moment *now)
{
	uint64_t at_boot_ms = now->wall_ms > now->boot_ms ? now->wall_ms - now->boot_ms : 0;
	if (at_boot_ms < ring->least_wall_ms)
		ring->least_wall_ms = at_boot_ms;
	while (ring->ended.len && (is_too_much(ring, current_bytes) || is_too_old(ring, now)))
		remove_oldest(ring);
}

void file_ring_prune(struct file_ring *ring, uint64_t current_bytes)
{
	struct ring_moment now = ring_now();
	file_ring_prune_at(ring, current_bytes, &now);
}

bool file_ring_make_room(struct file_ring *ring)
{
	if (!ring->ended.len)
		return false;
	remove_oldest(ring);
	ring->removed_for_room++;
	return true;
}
